import dataclasses
from pathlib import Path

import pytest

from mockgitea.settings import MASK, SettingError, Settings, masked, table
from mockgitea.settings_sources import effective, from_environment, from_file, parse

DOCS = Path(__file__).resolve().parents[3] / "docs" / "settings.md"


def test_defaults_are_valid_and_loopback_only() -> None:
    settings = effective({}, {})
    assert settings == Settings()
    assert settings.host == "127.0.0.1"


def test_flag_wins_over_environment_over_file_over_default(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('port = 1\ncontrol_port = 2\nseed = 3\nprofile = "gitea-1.25"\n')
    environ = {"MOCKGITEA_CONTROL_PORT": "12", "MOCKGITEA_SEED": "13", "MOCKGITEA_CONFIG": "not read"}
    settings = effective({"seed": "23"}, environ, str(file))
    assert (settings.port, settings.control_port, settings.seed) == (1, 12, 23)
    assert (settings.profile, settings.host) == ("gitea-1.25", "127.0.0.1")


def test_the_environment_may_name_the_config_file(tmp_path: Path) -> None:
    file = tmp_path / "config.yml"
    file.write_text("repositories: [a/b, c/d]\nkeep_alive_s: 2m\n")
    settings = effective({}, {"MOCKGITEA_CONFIG": str(file)})
    assert settings.repositories == ("a/b", "c/d")
    assert settings.keep_alive_s == 120.0


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("port", "0", 0), ("grpc_port", "", None), ("seed", "-5", -5), ("zombie_timeout_s", "10m", 600.0),
        ("zombie_timeout_s", "1.5h", 5400.0), ("body_bytes_max", "2MiB", 2 * 1024 * 1024),
        ("repositories", "a/b, c/d", ("a/b", "c/d")), ("profile", "forgejo-15", "forgejo-15"),
    ],
)  # fmt: skip
def test_parse_reads_units_and_lists(name: str, text: str, value: object) -> None:
    assert parse(name, text, "--flag") == value


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"port": "http"}, "port (--port)"),
        ({"port": "65536"}, "port (--port)"),
        ({"port": "-1"}, "port (--port)"),
        ({"profile": "gitea-9"}, "profile (--profile)"),
        ({"zombie_timeout_s": "10 parsecs"}, "zombie_timeout_s (--zombie-timeout-s)"),
        ({"zombie_timeout_s": "nan"}, "zombie_timeout_s"),
        ({"body_bytes_max": "1.5b"}, "body_bytes_max"),
        ({"tls_cert": "c.pem"}, "tls_key"),
        ({"tls_key": "k.pem"}, "tls_cert"),
        ({"port": "5000", "control_port": "5000"}, "control_port"),
        ({"grpc_port": "3000"}, "grpc_port"),
        ({"app_url": "example.org"}, "app_url"),
        ({"app_url": "http://h/?q=1"}, "app_url"),
        ({"repositories": "demo"}, "repositories"),
        ({"api_token": "with space"}, "api_token"),
        ({"database": ""}, "database"),
        ({"database": "/no/such/folder/x.db"}, "database"),
        ({"database": "file:x?mode=memory"}, "database"),
        ({"repositories": "o/" + "n" * 101}, "repositories"),
    ],
)
def test_wrong_and_contradictory_settings_are_named(flags: dict[str, str], named: str) -> None:
    with pytest.raises(SettingError) as caught:
        effective(flags, {})
    assert str(caught.value).startswith(named)


def test_two_free_ports_are_no_contradiction() -> None:
    assert effective({"port": "0", "control_port": "0", "grpc_port": "0"}, {}).grpc_port == 0


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("c.toml", "prot = 1", "prot: unknown setting"),
        ("c.toml", "port = true", "port ("),
        ("c.toml", 'port = "x"', "port ("),
        ("c.toml", "port = ", "config:"),
        ("c.yaml", "- 1", "config:"),
        ("c.yaml", "a: [", "config:"),
        ("c.yaml", "host: 5", "host ("),
        ("c.ini", "port=1", "config:"),
    ],
)
def test_a_wrong_config_file_is_named_with_its_key(tmp_path: Path, name: str, content: str, named: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(SettingError) as caught:
        from_file(file)
    assert str(caught.value).startswith(named)


def test_an_unknown_key_suggests_the_near_one(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("prot = 1")
    with pytest.raises(SettingError, match="did you mean port"):
        from_file(file)


def test_a_missing_config_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot read"):
        from_file(tmp_path / "nowhere.toml")


def test_an_empty_yaml_file_sets_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("# nothing\n")
    assert from_file(file) == {}


def test_a_misspelt_variable_is_refused_and_a_foreign_one_ignored() -> None:
    with pytest.raises(SettingError, match="MOCKGITEA_PROFILE"):
        from_environment({"MOCKGITEA_PROFIL": "gitea-1.27"})
    assert from_environment({"MOCKGITEA_CONTROL_URL_OF_TEST": "x", "MOCKGITEA_SERVICE_HOST": "x", "PATH": "x"}) == {}


def test_giteas_own_variable_presets_the_registration_token(tmp_path: Path) -> None:
    token = "t" * 32
    file = tmp_path / "token"
    file.write_text(token + "\n")
    for environ in (
        {"GITEA_RUNNER_REGISTRATION_TOKEN": token},
        {"GITEA_RUNNER_REGISTRATION_TOKEN_FILE": str(file)},
    ):
        assert from_environment(environ) == {"registration_token": token}
    both = {"GITEA_RUNNER_REGISTRATION_TOKEN": token, "MOCKGITEA_REGISTRATION_TOKEN": "ours"}
    assert from_environment(both) == {"registration_token": "ours"}
    with pytest.raises(SettingError, match="32 characters"):
        from_environment({"GITEA_RUNNER_REGISTRATION_TOKEN": "short"})
    with pytest.raises(SettingError, match="cannot read"):
        from_environment({"GITEA_RUNNER_REGISTRATION_TOKEN_FILE": str(tmp_path / "nowhere")})


def test_masked_shows_no_secret_and_keeps_every_name() -> None:
    shown = masked(Settings(api_token="hunter2", registration_token="hunter2"))
    assert set(shown) == {field.name for field in dataclasses.fields(Settings)}
    assert (shown["api_token"], shown["control_token"]) == (MASK, "")
    assert "hunter2" not in str(shown)


def test_every_number_has_limits() -> None:
    unbounded = [
        name for name, (_, spec) in table().items()
        if spec.kind.value in ("number", "seconds", "bytes") and spec.maximum is None and name != "seed"
    ]  # fmt: skip
    assert unbounded == []


def test_docs_name_every_setting_once() -> None:
    rows = [line.split("`")[1] for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    assert rows == list(table())
