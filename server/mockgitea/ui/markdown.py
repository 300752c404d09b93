"""Markdown of a job as HTML that may stand in a page: raw HTML is escaped, and links lead nowhere dangerous."""

import functools
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import escape

RENDERED_BYTES_MAX: Final = 64 * 1024
"""A longer text is shown as it is: rendering takes a second for a megabyte, and everybody waits."""
REMEMBERED_MAX: Final = 128

_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@functools.lru_cache(maxsize=REMEMBERED_MAX)
def rendered(body: bytes) -> str:
    """Return the HTML of a Markdown text; bytes that are no text become replacement characters."""
    text = body.decode("utf-8", errors="replace")
    if len(body) > RENDERED_BYTES_MAX:
        return f"<pre>{escape(text)}</pre>"
    html: str = _MARKDOWN.render(text)
    return html
