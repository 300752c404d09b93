"""Which names and values secrets and variables may have.

Source: docs/protocol.md, "Secrets and variables".
"""

import re
from typing import Final

from mockgitea.core.errors import InvalidInput
from mockgitea.core.profiles import Family, Profile

VALUE_BYTES_MAX: Final = 65_536
NAME_CHARS_MAX: Final = 255
DESCRIPTION_CHARS_MAX: Final = 4096

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIXES: Final = ("GITHUB_", "GITEA_")


def checked_name(name: str, *, profile: Profile, field: str = "name") -> str:
    """Return a secret's or variable's name in upper case.

    Raises:
        InvalidInput: other characters than letters, digits and ``_``, a leading digit, or a reserved prefix.
    Source: docs/protocol.md, "Secrets and variables".
    """
    if not _NAME.fullmatch(name) or len(name) > NAME_CHARS_MAX:
        raise InvalidInput(
            f"{field}: invalid secret or variable name {name[:NAME_CHARS_MAX]!r}; "
            "use letters, digits and _, not starting with a digit",
            field=field,
        )
    upper = name.upper()
    prefixes = (*_PREFIXES, "FORGEJO_") if profile.family is Family.FORGEJO else _PREFIXES
    for prefix in prefixes:
        if upper.startswith(prefix):
            raise InvalidInput(
                f"{field}: invalid secret or variable name {name!r}; {prefix} is reserved, choose another", field=field
            )
    return upper


def checked_variable_name(name: str, *, profile: Profile, field: str = "name") -> str:
    """Return a variable's name in upper case; ``CI`` belongs to the runner.

    Raises:
        InvalidInput: as `checked_name`, or ``CI``.
    """
    upper = checked_name(name, profile=profile, field=field)
    if upper == "CI":
        raise InvalidInput(f"{field}: variable name CI is reserved for the runner, choose another", field=field)
    return upper


def checked_value(value: str, *, field: str = "value") -> str:
    """Return a value with Unix line ends.

    Raises:
        InvalidInput: longer than VALUE_BYTES_MAX, or no UTF-8.
    """
    text = value.replace("\r\n", "\n")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{field}: holds half of a surrogate pair, which is no character", field=field) from error
    if size > VALUE_BYTES_MAX:
        raise InvalidInput(f"{field}: has {size} bytes, more than {VALUE_BYTES_MAX}; shorten it", field=field)
    return text
