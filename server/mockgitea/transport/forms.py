"""Reading an HTML form's body without a framework: URL-encoded or multipart, bounded, text fields only."""

from email import policy
from email.parser import BytesParser
from typing import Final
from urllib.parse import parse_qsl

from mockgitea.core.errors import InvalidInput

FIELDS_MAX: Final = 1000


def parse_form(content_type: str, body: bytes) -> dict[str, str]:
    """Return the form's fields; of a repeated field the first counts, as on the real servers.

    Raises:
        InvalidInput: another content type, too many fields, or bytes that are no form.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if not body:
        return {}
    if kind == "application/x-www-form-urlencoded":
        return _first_values(_urlencoded(body))
    if kind == "multipart/form-data":
        return _first_values(_multipart(content_type, body))
    raise InvalidInput(
        f"content-type: {kind or 'missing'}; send application/x-www-form-urlencoded or multipart/form-data",
        field="content-type",
    )


def _urlencoded(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise InvalidInput(f"form: cannot be read ({error})", field="body") from error


def _multipart(content_type: str, body: bytes) -> list[tuple[str, str]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", errors="replace")
    message = BytesParser(policy=policy.HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise InvalidInput("form: no parts found; is the boundary right?", field="body")
    fields = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise InvalidInput("form: a part has no name", field="body")
        fields.append((name, content.decode("utf-8", errors="replace")))
        if len(fields) > FIELDS_MAX:
            raise InvalidInput(f"form: more than {FIELDS_MAX} fields", field="body")
    return fields


def _first_values(pairs: list[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        values.setdefault(name, value)
    return values
