"""A formula in TeX as MathML, the part of it that browsers draw; what can't be read is said to be so."""
import re
from contextlib import suppress
from functools import lru_cache
from html import escape, unescape
from unicodedata import category, lookup, name
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

LONGEST = 1_500  # characters of a formula
DEEPEST = 60  # elements in one another, some 25 fractions
WIDE = 16  # signs that may need more than a phone's line
MACRO = re.compile(r"\\(?:newcommand|def|newenvironment|DeclareMathOperator)(?![a-zA-Z])")  # one may grow without end
TEXT_WITH_FORMULA = re.compile(r"\\(?:text|mbox)\s*(?=\{[^{}]*(?<!\\)\$)")
ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}]*)\}")
READ = ("matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "array", "cases", "split",
        "align*")
# Those that would number their lines, or that the converter does not know, go by the name of another.
ENVIRONMENTS = dict(zip(READ, READ, strict=True)) | {
    "align": "align*", "aligned": "align*", "gather": "matrix", "gather*": "matrix", "gathered": "matrix"}
ALONE = {"equation", "equation*", "displaymath", "math"}  # say only that what they hold is a formula

LEAVES = {"mi", "mn", "mo", "mtext", "mspace"}
TAGS = LEAVES | {"math", "mrow", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover",
                 "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom"}
ATTRIBUTES = {
    "math": {"display", "tabindex"}, "mi": {"mathvariant"}, "mfrac": {"linethickness"}, "mover": {"accent"},
    "mo": {"stretchy", "fence", "form", "lspace", "rspace", "minsize", "maxsize", "movablelimits", "separator"},
    "mspace": {"width"}, "mpadded": {"width", "height", "depth", "voffset", "lspace"},
    "mstyle": {"displaystyle", "scriptlevel"}, "mtable": {"displaystyle"}, "mtd": {"columnalign"},
    "mrow": {"class"},
}
PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
LARGE = {*"∑∏∐⋀⋁⋂⋃⨀⨁⨂⨄⨆", "lim", "max", "min", "sup", "inf", "det", "gcd", "Pr", "arg\u2009max", "arg\u2009min",
         "lim\u2006sup", "lim\u2006inf"}
FENCES = "|‖⟨⟩⌊⌋⌈⌉"
NO_OPERATORS = "∞∅∠⊤⊥"  # signs of sets and numbers: no space around them
LINES = {"mover": "overlined", "munder": "underlined"}  # drawn by the site's style, like boxes and strokes
STYLES = {"bold": "BOLD", "italic": "ITALIC", "bold-italic": "BOLD ITALIC", "double-struck": "DOUBLE-STRUCK",
          "script": "SCRIPT", "fraktur": "FRAKTUR", "sans-serif": "SANS-SERIF", "monospace": "MONOSPACE"}
THIN = "0.167em"  # TeX's space around a function's name
LETTER = re.compile(r"(?:LATIN|GREEK) (SMALL|CAPITAL) LETTER ([A-Z]+)|(DIGIT [A-Z]+)")
OLDER = {"FRAKTUR": "BLACK-LETTER"}  # what Unicode calls those of a style that were there before the others


class Unread(ValueError):
    """The formula holds what can't be shown."""


@lru_cache(maxsize=2048)
def mathml(tex: str, display: bool) -> str:
    """The element of a formula, of TAGS and ATTRIBUTES alone but for their values; empty where it can't be read or is
    longer or deeper than LONGEST and DEEPEST."""
    if len(tex) > LONGEST or MACRO.search(tex):
        return ""
    try:
        tex = TEXT_WITH_FORMULA.sub(r"\\hbox", ENVIRONMENT.sub(environment, tex))
        tree = element_of(tex, display)
        if tree.find(".//mspace[@linebreak]") is not None:
            tree = element_of(rf"\displaylines{{{tex}}}", display)
        tree.attrib = {"display": "block"} if display else {}
        html = said(tree, 1)
    except Exception:  # the converter raises whatever it stumbles over, all of which says that it can't read this
        return ""
    is_wide = len(re.sub(r"<[^>]*>", "", html)) > WIDE or re.search(r'width="\d\d', html)  # \hspace{99em}
    return html.replace("<math", '<math tabindex="0"', 1) if is_wide else html  # what scrolls is reached by keys


def environment(mark: re.Match[str]) -> str:
    """The beginning or end of an environment, as the converter knows it. Raises KeyError for one that it does not."""
    return "" if mark[2] in ALONE else f"\\{mark[1]}{{{ENVIRONMENTS[mark[2]]}}}"


def element_of(tex: str, display: bool) -> Element:
    return convert_to_element(tex, display="block" if display else "inline")


def said(element: Element, depth: int) -> str:
    """The element in HTML. Raises Unread."""
    mend(element)
    if depth > DEEPEST or element.tag not in TAGS or "linebreak" in element.attrib:
        raise Unread
    tag, text = element.tag, element.text or ""
    if (len(element) if tag in LEAVES else text) or len(element) != PARTS.get(tag, len(element)):
        raise Unread
    mend_row(element)
    held = "".join(f' {key}="{escape(value)}"' for key, value in element.attrib.items())
    return f"<{tag}{held}>{escape(text)}{''.join(said(one, depth + 1) for one in element)}</{tag}>"


def mend(element: Element) -> None:
    """Put right what the converter leaves to the browser and browsers don't do. Raises Unread for signs left over."""
    text = element.text or ""
    if element.tag in ("mi", "mo") and (text in ("&", "{", "}") or re.match(r"\\.", text)):
        raise Unread
    element.text = text = unescape(text)
    element.attrib.pop("class", None)
    if element.tag == "menclose":
        element.tag, element.attrib = "mrow", {"class": "boxed" if element.get("notation") == "box" else "struck"}
    if element.tag in LINES and len(element) == 2 and unescape(element[1].text or "") == "―":
        element.attrib = {"class": LINES[element.tag]}
        element.tag = "mrow"
        del element[1]
    if element.tag == "mi" and len(text) == 1 and category(text) in ("Sm", "Ps", "Pe"):
        element.tag, element.text = "mo", "∼" if text == "~" else text
    if element.tag == "mo" and text in NO_OPERATORS:
        element.tag = "mi"
    if element.tag in UNDER and len(element) and unescape(element[0].text or "") in LARGE:
        element.tag = UNDER[element.tag]
        element[0].set("movablelimits", "true")
    if style := STYLES.get(element.get("mathvariant", "")):
        del element.attrib["mathvariant"]
        element.text = "".join(styled(sign, style) for sign in element.text or "")


def mend_row(element: Element) -> None:
    """Let a function's name (log, softmax) stand apart from what is beside it, but for a bracket after it, and let
    bars and brackets grow only where a table stands in them."""
    has_table = element.find("mtable") is not None
    for at, one in enumerate(element):
        if one.tag in ("mi", "mo") and unescape(one.text or "-") in FENCES and not has_table:
            one.tag = "mo"
            one.attrib = {"stretchy": "false"} | one.attrib
        if one.tag in ("mi", "mo") and len(one.text or "") > 1 and (one.text or "").isalpha() and one.text != "mod":
            after = unescape(element[at + 1].text or "") if at + 1 < len(element) else "("
            one.tag = "mo"
            one.attrib |= {"lspace": THIN if at else "0", "rspace": "0" if after in ("(", "[") else THIN}


def styled(sign: str, style: str) -> str:
    """A letter or digit in a style, as Unicode has it; any other sign as it is."""
    if not (found := LETTER.fullmatch(name(sign, ""))):
        return sign
    words = " ".join(filter(None, found.groups()))
    for kind in (f"MATHEMATICAL {style}", OLDER.get(style, style)):
        with suppress(KeyError):
            return lookup(f"{kind} {words}")
    return sign
