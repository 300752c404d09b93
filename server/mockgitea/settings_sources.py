"""From flags, environment and config file to `Settings`: flag over environment over file over default.

Every value passes the same checks wherever it came from; an error names the setting, its source and the fix.
Only `cli` hands in the real environment.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from mockgitea.settings import ENV_PREFIX, Kind, SettingError, Settings, Spec, env_name, flag_name, table

CONFIG_ENV: Final = ENV_PREFIX + "CONFIG"
CONFIG_BYTES_MAX: Final = 1024 * 1024
GITEA_TOKEN_ENV: Final = "GITEA_RUNNER_REGISTRATION_TOKEN"
"""Gitea's own variable for a preset registration token; it wants at least 32 characters. `…_FILE` names a file."""
GITEA_TOKEN_LENGTH_MIN: Final = 32

_SECONDS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES: Final = {"": 1, "b": 1, "kib": 1024, "mib": 1024**2, "gib": 1024**3}
_WITH_UNIT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")


def effective(flags: Mapping[str, str], environ: Mapping[str, str], config: str = "") -> Settings:
    """Return the settings in force.

    Args:
        flags: given on the command line, by setting name.
        environ: the environment; only our variables are looked at.
        config: path of a TOML or YAML file; empty means what the environment names, if anything.

    Raises:
        SettingError: a value is wrong, a key is unknown, or two settings contradict each other.
    """
    path = config or environ.get(CONFIG_ENV, "")
    values = from_file(Path(path)) if path else {}
    values |= from_environment(environ)
    for name, text in flags.items():
        values[name] = parse(name, text, flag_name(name))
    settings = Settings(**values)
    check(settings)
    return settings


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that the environment holds; a misspelt variable of ours is an error."""
    known = {env_name(name): name for name in table()}
    values: dict[str, Any] = {}
    preset = _gitea_token(environ)
    if preset:
        values["registration_token"] = preset
    for variable, text in environ.items():
        name = known.get(variable)
        if name is not None:
            values[name] = parse(name, text, variable)
        elif variable.startswith(ENV_PREFIX):
            _refuse_misspelling(variable, known)
    return values


def from_file(path: Path) -> dict[str, Any]:
    """Return the settings of a config file; its format follows from the suffix."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SettingError(f"config: cannot read {path} ({error.strerror}); check the path") from error
    if len(raw) > CONFIG_BYTES_MAX:
        raise SettingError(f"config: {path} is larger than {CONFIG_BYTES_MAX} bytes; it is no config file")
    try:
        content = _parsed_file(path.suffix, raw.decode("utf-8"))
    except (ValueError, yaml.YAMLError) as error:
        raise SettingError(f"config: {path} cannot be parsed ({error}); correct it there") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SettingError(f"config: {path} must hold a table of settings, one `name: value` each")
    return {str(name): _from_file_value(str(name), value, path) for name, value in content.items()}


def parse(name: str, value: Any, source: str) -> Any:
    """Return ``value`` as the setting's type.

    Args:
        name: the setting.
        value: text from a flag or variable, or a value from a file.
        source: where it was written, for the error.

    Raises:
        SettingError: it does not fit.
    """
    spec = table()[name][1]
    where = f"{name} ({source})"
    if spec.is_optional and value in ("", None):
        return None
    parsed = _PARSERS[spec.kind](value, where)
    _check_limits(parsed, spec, where)
    return parsed


def check(settings: Settings) -> None:
    """Refuse contradictions between settings; raises `SettingError`."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        missing, given = ("tls_key", "tls_cert") if settings.tls_cert else ("tls_cert", "tls_key")
        raise SettingError(f"{missing}: missing, but {given} is set; give both or neither")
    ports = [("port", settings.port), ("control_port", settings.control_port), ("grpc_port", settings.grpc_port)]
    taken: dict[int, str] = {}
    for name, port in ports:
        if port and port in taken:
            raise SettingError(f"{name}: {port} is also {taken[port]}; every listener needs a port of its own")
        if port:
            taken[port] = name
    if settings.app_url and not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", settings.app_url):
        raise SettingError(f"app_url: {settings.app_url!r} is not an http:// or https:// URL without query")
    for repository in settings.repositories:
        if not _REPOSITORY.fullmatch(repository):
            raise SettingError(
                f"repositories: {repository[:80]!r} is not `owner/name` of letters, digits, dots, - and _, "
                "each at most 100"
            )
    for name in ("registration_token", "api_token", "control_token"):
        if re.search(r"[^\x21-\x7e]", getattr(settings, name)):
            raise SettingError(f"{name}: use printable ASCII without spaces; it travels in a header")
    _check_database(settings.database)


def _check_database(database: str) -> None:
    if not database:
        raise SettingError("database: empty; give a file name, or :memory:")
    if database.startswith("file:"):
        raise SettingError(f"database: {database!r} is an SQLite URI; give a plain file name, or :memory:")
    if database != ":memory:" and not Path(database).absolute().parent.is_dir():
        raise SettingError(f"database: the folder of {database!r} does not exist; create it first")


def _parsed_file(suffix: str, text: str) -> Any:
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix in (".yaml", ".yml"):
        return yaml.safe_load(text)
    raise ValueError(f"unknown suffix {suffix!r}: name it .toml, .yaml or .yml")


def _from_file_value(name: str, value: Any, path: Path) -> Any:
    if name not in table():
        raise SettingError(f"{name}: unknown setting in {path}{_suggestion(name, list(table()))}")
    return parse(name, value, str(path))


def _refuse_misspelling(variable: str, known: Mapping[str, str]) -> None:
    # Variables of other commands, of container links and of Kubernetes share our prefix, so only a near miss is
    # taken for a typing error.
    if difflib.get_close_matches(variable, list(known), n=1, cutoff=0.9):
        raise SettingError(f"{variable}: unknown variable{_suggestion(variable, list(known))}")


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else "; docs/settings.md lists them"


def _gitea_token(environ: Mapping[str, str]) -> str:
    token = environ.get(GITEA_TOKEN_ENV, "")
    path = environ.get(f"{GITEA_TOKEN_ENV}_FILE", "")
    if not token and path:
        try:
            token = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise SettingError(f"registration_token ({GITEA_TOKEN_ENV}_FILE): cannot read {path}; check it") from error
    if token and len(token) < GITEA_TOKEN_LENGTH_MIN:
        raise SettingError(
            f"registration_token ({GITEA_TOKEN_ENV}): shorter than {GITEA_TOKEN_LENGTH_MIN} characters, as Gitea "
            f"demands; use {env_name('registration_token')} for a shorter one"
        )
    return token


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise SettingError(f"{where}: {value!r} is not text; put it in quotes")
    return value


def _number(value: Any, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value.strip()):
        return int(value)
    raise SettingError(f"{where}: {value!r} is not a whole number")


def _seconds(value: Any, where: str) -> float:
    return _with_unit(value, where, _SECONDS, "seconds, or with a unit s, m, h or d")


def _bytes(value: Any, where: str) -> int:
    number = _with_unit(value, where, _BYTES, "bytes, or with a unit KiB, MiB or GiB")
    if number != int(number):
        raise SettingError(f"{where}: {value!r} is not a whole number of bytes")
    return int(number)


def _with_unit(value: Any, where: str, units: Mapping[str, float], hint: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = _WITH_UNIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[2].lower() not in units:
        raise SettingError(f"{where}: {value!r} is not a number of {hint}")
    return float(found[1]) * units[found[2].lower()]


def _names(value: Any, where: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise SettingError(f"{where}: {value!r} is not a list of names; separate them with commas")
    return tuple(part.strip() for part in parts if part.strip())


_PARSERS: Final[Mapping[Kind, Callable[[Any, str], Any]]] = {
    Kind.TEXT: _text,
    Kind.NUMBER: _number,
    Kind.SECONDS: _seconds,
    Kind.BYTES: _bytes,
    Kind.NAMES: _names,
}


def _check_limits(value: Any, spec: Spec, where: str) -> None:
    if spec.choices and value not in spec.choices:
        raise SettingError(f"{where}: {value!r} is none of {', '.join(spec.choices)}")
    if spec.minimum is not None and not value >= spec.minimum:
        raise SettingError(f"{where}: {value!r} is below {spec.minimum:g}")
    if spec.maximum is not None and not value <= spec.maximum:
        raise SettingError(f"{where}: {value!r} is above {spec.maximum:g}")
