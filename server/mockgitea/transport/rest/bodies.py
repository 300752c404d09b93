"""Request bodies of REST v1: JSON or a form, unknown fields ignored, wrong types refused with 422 as Gitea does."""

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from mockgitea.transport.bounded import read_checked
from mockgitea.transport.rest.errors import RestRefusal, unprocessable

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
_FORM: Final = "application/x-www-form-urlencoded"
_FORM_FIELDS_MAX: Final = 1000


class Body:
    """A parsed body whose fields are read by type.

    Args:
        fields: the top-level fields.
        is_form: every value is text, and `inputs[name]` stands for a map.
    """

    def __init__(self, fields: Mapping[str, Any], *, is_form: bool = False) -> None:
        self._fields = fields
        self._is_form = is_form

    def text(self, name: str, *, is_required: bool = False) -> str:
        """Return a text field; empty when absent. Raises 422 naming the field."""
        value = self._fields.get(name)
        if value is None or value == "":
            if is_required:
                raise unprocessable(f"[{name.capitalize()}]: Required")
            return ""
        if not isinstance(value, str):
            raise unprocessable(f"[{name.capitalize()}]: must be a string")
        return _checked(name, value)

    def flag(self, name: str) -> bool | None:
        """Return a boolean field, None when absent. Raises 422 naming the field."""
        value = self._fields.get(name)
        if self._is_form and isinstance(value, str):
            return value.lower() in ("1", "t", "true", "on")
        if value is None or isinstance(value, bool):
            return value
        raise unprocessable(f"[{name.capitalize()}]: must be true or false")

    def texts(self, name: str) -> dict[str, str]:
        """Return a map of texts, empty when absent; numbers and booleans become text. Raises 422 naming the field."""
        if self._is_form:
            head = f"{name}["
            return {
                key[len(head) : -1]: value
                for key, value in self._fields.items()
                if key.startswith(head) and key.endswith("]")
            }
        value = self._fields.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise unprocessable(f"[{name.capitalize()}]: must be an object of strings")
        return {_checked(name, key): _checked(name, _scalar(name, held)) for key, held in value.items()}


async def read_body(request: Request) -> Body:
    """Read and parse the body; an empty one has no fields.

    Raises:
        RestRefusal: 413 past `BODY_BYTES_MAX`, 422 for what is neither a JSON object nor a form.
    """
    raw = await read_checked(request, _check_size)
    if not raw:
        return Body({})
    if request.headers.get("content-type", "").split(";")[0].strip().lower() == _FORM:
        try:
            pairs = parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=_FORM_FIELDS_MAX)
        except ValueError as error:
            raise unprocessable("the body is not a valid form") from error
        return Body(dict(pairs), is_form=True)
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise unprocessable("the body is not valid JSON") from error
    if not isinstance(fields, dict):
        raise unprocessable("the body must be a JSON object")
    return Body(fields)


def _check_size(size: int) -> None:
    if size > BODY_BYTES_MAX:
        raise RestRefusal(413, f"request body is larger than {BODY_BYTES_MAX} bytes")


def _checked(name: str, text: str) -> str:
    """Refuse half of a surrogate pair, which JSON can spell and no file or database can hold."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise unprocessable(f"[{name.capitalize()}]: must be valid Unicode")
    return text


def _scalar(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise unprocessable(f"[{name.capitalize()}]: values must be strings")
