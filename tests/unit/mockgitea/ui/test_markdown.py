"""Markdown of a job becomes HTML that is safe to stand in a page."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from mockgitea.ui.markdown import RENDERED_BYTES_MAX, rendered

TAGS = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"href", "src", "alt", "title", "class", "start", "style"}
PIECES = st.sampled_from(
    ["<script>", "</p>", "<img src=x onerror=y>", "[a](", "javascript:x", "data:text/html,x", ")", "![", "](", "`",
     "```", "|", "\n", "---", "# ", "> ", "- ", "1. ", "*", "~~", "&lt;", '"', "'", "\\", "<http://x>", "<!--", "\0",
     "]]>", ":--:"]
)  # fmt: skip


class Reader(HTMLParser):
    """Refuses what a summary must never hold."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        for name, value in attrs:
            assert name in ATTRIBUTES
            if name in ("href", "src"):
                assert not (value or "").strip().lower().startswith(("javascript:", "vbscript:", "file:", "data:text"))
            if name == "style":
                assert (value or "").startswith("text-align:")


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30).map("".join))
def test_no_text_makes_other_tags_than_markdowns_own(text: str) -> None:
    Reader().feed(rendered(text.encode("utf-8", errors="replace")))


def test_tables_are_drawn() -> None:
    assert "<td>2</td>" in rendered(b"| a | b |\n|---|---|\n| 1 | 2 |\n")


def test_long_text_is_shown_as_it_is_and_escaped() -> None:
    html = rendered(b"<b>" + b"# x\n" * (RENDERED_BYTES_MAX // 4))
    assert html.startswith("<pre>&lt;b&gt;# x\n# x")
