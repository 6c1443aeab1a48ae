"""Markdown to safe HTML: figures and source marks are cut out before and put back, escaped, after."""
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from itertools import pairwise
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from questions.figures import FIGURE, Ran, resolve, show

Link = Callable[[str], str]  # safe HTML to safe HTML
MARK = re.compile(r"\[\^(?P<id>[A-Za-z0-9_-]+)\]")
LINES = re.compile(r"^[ ]*\[\[(?P<path>[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*\.lines)\]\][ ]*$", re.MULTILINE)
CUT = re.compile("\ue000([0-9]+)\ue001")  # private-use characters: Markdown leaves them alone
TAGS = {"p", "br", "hr", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "h3", "h4", "a"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
LONGEST_UNBROKEN = 28  # characters of code that fit a line of a phone; a flag is not to break after its hyphens
ATTRIBUTES = {"a": {"href"}, "code": {"class"}, "table": {"class"}, "th": {"class"}, "td": {"class"}, "ol": {"start"}}


def style_by_class(state: StateCore) -> None:
    """Tables in the site's face; a column aligned right is one of numbers (style attributes are not allowed); a flag
    in running text in one piece."""
    for before, token in pairwise([None, *state.tokens]):
        if token.type == "inline" and (before is None or before.type not in ("th_open", "td_open")):
            for child in token.children:
                if child.type == "code_inline" and len(child.content) <= LONGEST_UNBROKEN:
                    child.attrSet("class", "nowrap")
        if token.type == "table_open":
            token.attrSet("class", "table")
        if token.type in ("th_open", "td_open") and "right" in str(token.attrs.pop("style", "")):
            token.attrSet("class", "num")


def leave_formula(state: StateInline, silent: bool) -> bool:
    """A formula in TeX's marks, \\(…\\), as it is written: its backslashes and its stars are its own."""
    end = state.src.find("\\)", state.pos + 2) if state.src.startswith("\\(", state.pos) else -1
    if not state.pos < end <= state.posMax - 2:
        return False
    if not silent:
        state.pending += state.src[state.pos:end + 2]
    state.pos = end + 2
    return True


MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
MARKDOWN.core.ruler.push("style_by_class", style_by_class)
MARKDOWN.inline.ruler.before("escape", "formula", leave_formula)
READER = MarkdownIt("commonmark", {"html": True}).enable("table")
READER.validateLink = lambda url: True  # here every link is to be seen; unsafe() judges it


def render(
    text: str, ran: Mapping[str, Ran], sources: Sequence[str] = (), inline: bool = False, link: Link | None = None
) -> str:
    """Safe HTML of a text with its figures filled in; `sources` are the ids that a mark [^id] may name, in order, and
    `link` puts in further links, before the figures are there.

    Raises BadFigure.
    """
    cut: list[str] = []

    def keep(html: str) -> str:
        cut.append(html)
        return f"\ue000{len(cut) - 1}\ue001"

    text = text.replace("\ue000", "").replace("\ue001", "")
    text = FIGURE.sub(lambda found: keep(escape(show(found[0], ran))), text)
    text = MARK.sub(lambda found: keep(source_mark(found["id"], sources)), text)
    html = safe_html(text, inline)
    return CUT.sub(lambda found: cut[int(found[1])], link(html) if link else html).strip()


@lru_cache(maxsize=8192)
def safe_html(text: str, inline: bool) -> str:
    """Safe HTML of a text whose figures and marks are cut out: the same for every draw of a question, so remembered."""
    html = MARKDOWN.renderInline(text) if inline else MARKDOWN.render(text)
    return nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https"})


def source_mark(name: str, sources: Sequence[str]) -> str:
    """The small link from a number to the source it was read in, in brackets: a bare "14⁵" reads as a power."""
    if name not in sources:
        return ""
    return f'<sup><a class="source-mark" href="#source-{escape(name)}">[{sources.index(name) + 1}]</a></sup>'


def parts(
    text: str, ran: Mapping[str, Ran], sources: Sequence[str] = (), link: Link | None = None
) -> list[str | tuple[Any, ...]]:
    """A derivation in pieces: HTML, and the lines of a run where `[[run.lines]]` stands alone in a paragraph."""
    pieces: list[str | tuple[Any, ...]] = []
    at = 0
    for found in LINES.finditer(text):
        if before := text[at:found.start()].strip():
            pieces.append(render(before, ran, sources, link=link))
        pieces.append(tuple(resolve(found["path"], ran)))
        at = found.end()
    if after := text[at:].strip():
        pieces.append(render(after, ran, sources, link=link))
    return pieces


def tokens_of(text: str) -> Iterator[Token]:
    """Every Markdown token of a text, raw HTML and unsafe links included; figures are left out."""
    for token in READER.parse(FIGURE.sub("0", text)):
        yield token
        yield from token.children or ()


def links(text: str) -> list[str]:
    """Where the links of a text lead."""
    return [str(token.attrs["href"]) for token in tokens_of(text) if token.type == "link_open"]


def unsafe(text: str) -> list[str]:
    """A sentence for each thing in a text that would not be shown: raw HTML, a picture, a link of another kind."""
    faults = []
    for token in tokens_of(text):
        if token.type in ("html_block", "html_inline"):
            faults.append(f"Raw HTML is shown as text: {token.content.strip()[:60]}")
        elif token.type == "image":
            faults.append(f"Pictures are not shown: {token.attrs.get('src')}")
        elif token.type == "link_open":
            href = str(token.attrs["href"])
            if not re.match(r"https?://[^/]|/(?!/)", href):
                faults.append(f"A link leads to https://… or to a page of this site (/labs/…), not to {href}")
    if re.search(r"\]\([^)\s]*\[\[", text):
        faults.append("A figure can't stand in a link's address.")
    return faults
