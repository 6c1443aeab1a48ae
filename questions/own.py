"""A person's own cards as words and formulas: the sides of a cloze, and the line that a card is known by."""
import re
from collections.abc import Callable
from html import escape, unescape

import nh3

from questions.formulas import CUT, Formula, as_written, cut, in_line, is_whole
from questions.markup import ATTRIBUTES, MARKDOWN, TAGS
from questions.mathml import ATTRIBUTES as MATH_ATTRIBUTES
from questions.mathml import TAGS as MATH_TAGS
from questions.mathml import mathml

LONGEST_LINE = 160
# A gap and its hint are of limited length, so that no text takes long to look through.
CLOZE = re.compile(
    r"\{\{c(\d{1,3})::((?:(?!\{\{|\}\}).){0,4000}?)(?:::((?:(?!\{\{|\}\}).){0,400}?))?\}\}", re.DOTALL)
INLINE_TAG = re.compile(r"</?(?:em|strong|code|a)\b[^>]*>")
TAG = re.compile(r"<[^>]*>")
MOST_MATH = 8_000  # characters of formulas that one text shows as such, each formula counted as 20 more
GAP = {0xE002: "[", 0xE003: "]"}  # private-use characters: a bracket would mean something to Markdown, or in a formula


def cloze_numbers(text: str) -> list[int]:
    """The numbers of a text's clozes, 1 to 999, each once, in order: there is a card for each."""
    numbers = set()

    def said(gap: re.Match[str], is_math: bool) -> str:
        numbers.add(int(gap[1]))
        return gap[2]

    with_gaps(text, said)
    return sorted(numbers - {0})


def cloze_sides(text: str, number: int) -> tuple[str, str]:
    """The front and the back of the card of one cloze, in Markdown: it left out or by its hint, and it in bold; what
    other clozes hold is said. In a formula nothing is bold."""
    def front(gap: re.Match[str], is_math: bool) -> str:
        if int(gap[1]) != number:
            return gap[2]
        left_out = f"[{(gap[3] or '…').strip()}]"
        return f"{{{left_out}}}" if is_math else f"**{left_out}**"

    def back(gap: re.Match[str], is_math: bool) -> str:
        return gap[2] if is_math or int(gap[1]) != number else f"**{gap[2].strip()}**"

    return with_gaps(text, front), with_gaps(text, back)


def filled(text: str) -> str:
    """A text with its clozes filled in."""
    return with_gaps(text, lambda gap, is_math: gap[2])


def with_gaps(text: str, said: Callable[[re.Match[str], bool], str]) -> str:
    """A text with `said` in place of each gap, the innermost first; it is told whether the gap stands in a formula.

    Braces of a formula in a gap don't end the gap.
    """
    def replaced(piece: str, is_math: bool) -> str:
        while CLOZE.search(piece):
            piece = CLOZE.sub(lambda gap: said(gap, is_math), piece)
        return piece

    bare, formulas = cut(text)
    bare = CUT.sub(lambda sign: sign[0] if is_whole(one := formulas[int(sign[1])]) else one.written, bare)
    written = [replaced(formula.written, True) for formula in formulas]
    return CUT.sub(lambda sign: written[int(sign[1])], replaced(bare, False))


def asked_line(text: str) -> str:
    """A text in one plain line as line_of() has it, but with each of its gaps left open."""
    return line_of(with_gaps(text, lambda gap, is_math: f"\ue002{(gap[3] or '…').strip()}\ue003"))


def line_of(text: str) -> str:
    """A text in one plain line of at most 160 characters, its clozes filled in and its formulas by their source, safe
    wherever a note's `ask` stands."""
    html, formulas = _rendered(filled(text))
    plain = unescape(TAG.sub(" ", INLINE_TAG.sub("", html)))
    plain = " ".join(CUT.sub(lambda sign: in_line(formulas[int(sign[1])]), plain).split())
    plain = plain.translate(GAP).replace("[[", "[").replace("[^", "[")
    return plain if len(plain) <= LONGEST_LINE else f"{plain[:LONGEST_LINE - 1]}…"


def html_of(text: str, inline: bool = False) -> str:
    """Safe HTML of a side, its formulas in MathML, or in code where they can't be read; no figures are filled in."""
    left = MOST_MATH

    def shown(formula: Formula) -> str:
        nonlocal left
        left -= len(formula.tex) + 20
        return left >= 0 and mathml(formula.tex, formula.display) or f"<code>{escape(formula.written)}</code>"

    return html_with(text, shown, inline)


def html_with(text: str, shown: Callable[[Formula], str], inline: bool = False) -> str:
    """Safe HTML of a side, with `shown` of each formula in its place."""
    html, formulas = _rendered(text, inline)
    html = CUT.sub(lambda sign: shown(formulas[int(sign[1])]), html)
    return nh3.clean(
        html, tags=TAGS | MATH_TAGS, attributes=ATTRIBUTES | MATH_ATTRIBUTES, url_schemes={"http", "https"}).strip()


def _rendered(text: str, inline: bool = False) -> tuple[str, list[Formula]]:
    """The HTML of a text with a sign in place of each formula, which is none within code, and these."""
    bare, formulas = cut(text)
    tokens = MARKDOWN.parseInline(bare) if inline else MARKDOWN.parse(bare)
    for token in (one for block in tokens for one in (block, *(block.children or ()))):
        if token.type in ("code_inline", "code_block", "fence"):
            token.content, token.info = as_written(token.content, formulas), as_written(token.info, formulas)
        token.attrs = {name: as_written(str(value), formulas) for name, value in token.attrs.items()}
    return MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}), formulas
