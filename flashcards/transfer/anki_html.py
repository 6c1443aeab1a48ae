"""The HTML of a field of Anki's as Markdown: what it says stays, formulas as they are written, how it looks mostly
goes, media are left out."""
import re
from html import unescape
from html.parser import HTMLParser

from questions.formulas import CUT, cut

SOUND = re.compile(r"\[sound:[^\]]*\]|\[anki:(?:play|tts)[^\]]*\](?:.*?\[/anki:tts\])?", re.DOTALL)
# Of two brackets the first: the second then means nothing, and both would be the marks of a formula.
SPECIAL = re.compile(r"([\\`*_\[<>~|])|(?<![^\n])(#{1,6}\s|[-+]\s|\d+[.)]\s|=+\s*$|&(?=\w+;))", re.MULTILINE)
FORMULA_BEGUN = re.compile(r"\\\(|\\\[|\[\$\$?\]")
FORMULA_ENDS = {r"\(": r"\)", r"\[": r"\]", "[$]": "[/$]", "[$$]": "[/$$]"}
WITHIN_FORMULA = re.compile(r"</?(?:b|i|u|em|strong|span|font|wbr)\b[^<>]*>", re.IGNORECASE)
KEPT = re.compile("\ue004([0-9]+)\ue005")  # private-use characters: a formula, put back when all is Markdown
DEEPEST = 5  # a list in a list; what lies deeper stands beside it
MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
BLOCKS = {"div", "p", "tr", "table", "blockquote", "section", "article", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt",
          "dd", "center"}
SILENT = {"style", "script", "head", "title", "template", "noscript", "svg"}
MEDIA = {"img", "audio", "video", "object", "embed", "iframe", "source"}


class Reader(HTMLParser):
    """Collects Markdown while it reads; `media` counts what was left out."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._kept = kept
        self.out: list[str] = []
        self.media = 0
        self._silent = 0
        self._code: str = ""
        self._lists: list[list] = []
        self._links: list[str] = []
        self._marks: list[tuple[str, int]] = []  # open ones, and where in `out` they began
        self._depth = dict.fromkeys(MARKS.values(), 0)

    def _line(self, lines: int = 1) -> None:
        """End the line that is begun, if one is; two lines end a paragraph."""
        text = "".join(self.out[-3:])
        self.out.append("\n" * max(lines - (len(text) - len(text.rstrip("\n"))), 0))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in MEDIA:
            self.media += tag != "source"
        elif tag in SILENT:
            self._silent += 1
        elif self._silent:
            return
        elif tag == "br":
            self.out.append("\n")
        elif tag == "hr":
            self.out.append("\n\n---\n\n")
        elif tag in ("code", "kbd", "samp", "tt") and not self._code:
            self._code = tag
            self.out.append("`")
        elif tag == "pre":
            self._code = "pre"
            self.out.append("\n\n```\n")
        elif tag in MARKS:
            self._depth[MARKS[tag]] += 1
            if self._depth[MARKS[tag]] == 1:  # bold in bold is bold
                self._marks.append((MARKS[tag], len(self.out)))
        elif tag in ("ul", "ol"):
            self._lists.append([tag, 0])
            self._line(1 if len(self._lists) > 1 else 2)
        elif tag == "li":
            kind = self._lists[-1] if self._lists else ["ul", 0]
            kind[1] += 1
            mark = f"{kind[1]}. " if kind[0] == "ol" else "- "
            self._line()
            self.out.append(f"{'   ' * min(max(len(self._lists) - 1, 0), DEEPEST)}{mark}")
        elif tag == "a":
            href = dict(attrs).get("href") or ""
            good = bool(re.match(r"https?://[^\s()<>]+$", href))
            self._links.append(href if good else "")
            self.out.append("[" if good else "")
        elif tag in ("td", "th"):
            self.out.append(" ")
        elif tag in BLOCKS:
            self._line(2 if tag in ("p", "table", "blockquote") else 1)

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent = max(self._silent - 1, 0)
        elif self._silent:
            return
        elif self._code and tag == self._code:
            self.out.append("\n```\n\n" if tag == "pre" else "`")
            self._code = ""
        elif tag in MARKS:
            self._close(MARKS[tag])
        elif tag in ("ul", "ol"):
            if self._lists:
                self._lists.pop()
            self._line(1 if self._lists else 2)
        elif tag == "a" and self._links:
            href = self._links.pop()
            self.out.append(f"]({href})" if href else "")
        elif tag in BLOCKS:
            self._line(2 if tag in ("p", "table", "blockquote") else 1)

    def _close(self, mark: str) -> None:
        """Put the mark around what was said since it was opened, where that is words of one paragraph."""
        self._depth[mark] = max(self._depth[mark] - 1, 0)
        while self._marks and not self._depth[mark]:
            opened, at = self._marks.pop()
            self._depth[opened] = 0
            if opened == mark:
                text = "".join(self.out[at:])
                inner = text.strip()
                if inner and "\n\n" not in inner and inner.strip("*"):
                    before, _, after = text.partition(inner)
                    self.out[at:] = [before, f"{mark}{inner}{mark}", after]
                return

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        data = data.replace("\xa0", " ")
        if self._code == "pre":
            self.out.append(data)
        elif self._code:
            self.out.append(data.replace("`", "'"))
        else:
            text = escaped_words(" ".join(re.split(r"[ \t\r\n]+", data)), self._kept)
            self.out.append(text.replace("]", "&#93;") if any(self._links) else text)


def escaped(text: str) -> str:
    """A text whose signs mean nothing to Markdown; the braces of a gap stay as they are."""
    return SPECIAL.sub(lambda found: "\\" + found[0], text)


def escaped_words(text: str, kept: list[str]) -> str:
    """The same but for its formulas, which are `kept`."""
    bare, formulas = cut(text)
    return CUT.sub(lambda sign: keep(formulas[int(sign[1])].written, kept), escaped(bare))


def keep(formula: str, kept: list[str]) -> str:
    """Keep a formula; what stands for it until it is put back."""
    kept.append(put_back(formula, kept))
    return f"\ue004{len(kept) - 1}\ue005"


def put_back(text: str, kept: list[str]) -> str:
    return KEPT.sub(lambda sign: kept[int(sign[1])], text)


def without_formulas(html: str, kept: list[str]) -> str:
    """The field with its formulas in TeX's marks, or in Anki's older ones, taken out and `kept`."""
    pieces, at, unended = [], 0, set()
    html = html.replace("\ue004", "").replace("\ue005", "")
    for begun in FORMULA_BEGUN.finditer(html):
        mark = begun[0]
        if begun.start() < at or mark in unended:
            continue
        if (end := html.find(FORMULA_ENDS[mark], begun.end())) < 0:
            unended.add(mark)
        elif tex := tex_of(html[begun.end():end]):
            inline = mark in (r"\(", "[$]")
            pieces += [html[at:begun.start()], keep(rf"\({tex}\)" if inline else rf"\[{tex}\]", kept)]
            at = end + len(FORMULA_ENDS[mark])
    return "".join([*pieces, html[at:]])


def tex_of(html: str) -> str:
    """The source of a formula out of a field; empty where other things stand in it."""
    bare = WITHIN_FORMULA.sub("", re.sub(r"<br\s*/?>", "\n", html, flags=re.IGNORECASE))
    if re.search(r"<[a-zA-Z/!]", bare):
        return ""
    return re.sub(r"\n\s*\n", "\n", unescape(bare).replace("\xa0", " ").replace("\r\n", "\n")).strip()


def markdown_of(html: str) -> tuple[str, int]:
    """The field as Markdown, and how many pictures and sounds were left out of it."""
    bare, sounds = SOUND.subn("", html)
    kept: list[str] = []
    bare, media = without_formulas(bare, kept), 0
    if "<" not in bare and "&" not in bare:
        text = escaped_words(bare.replace("\xa0", " "), kept)
    else:
        reader = Reader(kept)
        reader.feed(bare)
        reader.close()
        text, media = "".join(reader.out), reader.media
    return put_back(tidy(text), kept), sounds + media


def tidy(text: str) -> str:
    """The same without idle lines; a line that ended in the field ends here too."""
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text.replace("\0", ""))).strip()
    pieces = re.split(r"(```\n.*?\n```)", text, flags=re.DOTALL)
    return "".join(
        piece if at % 2 else re.sub(r"(?<=[^\n])\n(?=[^\n])(?! *(?:[-+]|\d+\.) )", "\\\\\n", piece)
        for at, piece in enumerate(pieces))
