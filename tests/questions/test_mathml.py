"""A formula as MathML: of the structure that its standard says, and nothing in it acts, loads or goes on and on."""
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from questions import own
from questions.mathml import DEEPEST, LONGEST, mathml


def inside(tex: str, display: bool = False) -> str:
    """What stands in the row of the formula."""
    found = re.fullmatch(r'<math(?: tabindex="0")?(?: display="block")?><mrow>(.*)</mrow></math>', mathml(tex, display))
    return found[1] if found else ""


# By hand, as MathML Core describes the elements.
@pytest.mark.parametrize(("tex", "row"), [
    ("x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
    ("a_1^2", "<msubsup><mi>a</mi><mn>1</mn><mn>2</mn></msubsup>"),
    (r"\frac{1}{2}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"),
    (r"\sqrt[3]{x}", "<mroot><mrow><mi>x</mi></mrow><mn>3</mn></mroot>"),
    ("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
    (r"x \sim p", "<mi>x</mi><mo>∼</mo><mi>p</mi>"),
    (r"n \to \infty", "<mi>n</mi><mo>→</mo><mi>∞</mi>"),
    (r"\mathbb{R}", "<mi>ℝ</mi>"), (r"\mathbf{ab}", "<mrow><mi>𝐚</mi><mi>𝐛</mi></mrow>"),
    (r"\mathcal{BP}", "<mrow><mi>ℬ</mi><mi>𝒫</mi></mrow>"), (r"\boldsymbol{\theta}", "<mrow><mi>𝜽</mi></mrow>"),
    (r"\log p", '<mo lspace="0" rspace="0.167em">log</mo><mi>p</mi>'),
    (r"\log(p)", '<mo lspace="0" rspace="0">log</mo><mo stretchy="false">(</mo><mi>p</mi><mo stretchy="false">)</mo>'),
    (r"\overline{x}", '<mrow class="overlined"><mrow><mi>x</mi></mrow></mrow>'),
    (r"\boxed{x}", '<mrow class="boxed"><mrow><mi>x</mi></mrow></mrow>'),
    (r"\class{boxed}{x}", "<mrow><mi>x</mi></mrow>"),
    (r"\text{a b}", "<mtext>a\u00a0b</mtext>"),
    (r"\begin{equation}x\end{equation}", "<mi>x</mi>"),
])
def test_the_structure_of_a_small_formula(tex: str, row: str):
    assert re.sub(r' (?:accent|stretchy)="true"', "", inside(tex)) == row


def test_limits_stand_under_their_operator():
    assert inside(r"\sum_{i}^n", True) == "<munderover><mo>∑</mo><mrow><mi>i</mi></mrow><mi>n</mi></munderover>"
    assert inside(r"\lim_n").startswith('<munder><mo movablelimits="true"')  # where there is no room it is put beside


def test_brackets_grow_with_what_they_hold_where_that_is_asked():
    bar = '<mo stretchy="false">‖</mo>'
    assert inside(r"\lVert x\rVert") == f"{bar}<mi>x</mi>{bar}"
    assert 'stretchy="true" fence="true" form="prefix">‖' in inside(r"\left\lVert x\right\rVert")
    assert inside(r"\begin{Vmatrix}x\end{Vmatrix}").startswith("<mo>‖</mo><mtable>")


ROWS = "<mtr>.*?<mi>a</mi>.*?</mtr><mtr>.*?<mi>c</mi>.*?</mtr>"


@pytest.mark.parametrize("tex", [
    r"\begin{aligned}a&=b\\c&=d\end{aligned}", r"\begin{align}a&=b\\c&=d\end{align}", r"a=b \\ c=d",
    r"\begin{gathered}a\\c\end{gathered}", r"\begin{pmatrix}a&b\\c&d\end{pmatrix}",
])
def test_lines_stand_under_one_another(tex: str):
    assert re.search(ROWS, mathml(tex, True))
    assert "(1)" not in mathml(tex, True)  # as in Anki, lines are not numbered


@pytest.mark.parametrize("tex", [
    r"\foo", r"\foo{x}", r"\ce{H2O}", r"\begin{tikzpicture}x\end{tikzpicture}", "{", "}", "a & b", r"\frac{1}", "x^",
    "x^a^b", r"\left( x", r"\begin{matrix} x", r"\end{matrix}", r"\sqrt", "%", r"\verb", r"\begin{", r"\unknown",
    r"\def\a{x}\a", r"\newcommand{\a}{x}\a", r"\DeclareMathOperator{\a}{x}\a", r"\newenvironment{a}{b}{c}",
])
def test_what_can_not_be_read_is_shown_as_it_is_written(tex: str):
    assert mathml(tex, False) == mathml(tex, True) == ""
    assert own.html_of(rf"so \({tex}\).") == rf"<p>so <code>\({tex}\)</code>.</p>".replace("& ", "&amp; ")


# Each of eight macros is ten of the next: a hundred million signs.
NESTED = [rf"\def\{one}{{" + rf"\{other} " * 10 + "}" for one, other in pairwise("abcdefghi")]
LAUGHS = "".join(NESTED) + r"\def\i{x}\a"


@pytest.mark.parametrize("tex", [
    "x" * (LONGEST + 1), "{" * 400 + "x" + "}" * 400, r"\frac{1}{" * 100 + "x" + "}" * 100, r"\sqrt" * 200 + "x",
    "x^{" * 200 + "x" + "}" * 200, r"\left(" * 100 + r"\right)" * 100, LAUGHS,
])
def test_too_long_or_too_deep_is_shown_as_it_is_written(tex: str):
    assert mathml(tex, False) == ""


def test_as_deep_as_it_may_be_is_drawn():
    most = (DEEPEST - 3) // 2
    assert mathml(r"\sqrt{" * most + "x" + "}" * most, False).count("<msqrt>") == most
    assert mathml(r"\sqrt{" * (most + 1) + "x" + "}" * (most + 1), False) == ""


def test_a_side_draws_so_much_and_shows_the_rest_as_it_is_written():
    html = own.html_of("$x$ " * 5_000)
    assert html.count("<math>") == 380  # 8,000 / (1 + 20)
    assert html.count("<code>$x$</code>") == 5_000 - 380


class Elements(HTMLParser):
    """The elements and attributes that a browser would make of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("text", [
    r"$\href{javascript:alert(1)}{x}$", r"$\href{https://evil.example}{x}$", r"$\style{position:fixed}{x}$",
    r"$\class{button}{x}$", r"$\color{red}{x}$", r"$\colorbox{url(//evil.example)}{x}$",
    r"$\fcolorbox{red}{url(//evil.example)}{x}$", r"$\text{<script>alert(1)</script>}$",
    r"$\text{<img src=x onerror=y>}$", r"$\verb|<img src=x onerror=alert(1)>|$", r"$<script>alert(1)</script>$",
    r"$\mbox{</math><script>alert(1)</script>}$",
    r'$\href{x" onclick="alert(1)}{x}$', r'$\hspace{1em" onload="alert(1)}$', r"$\unicode{x3c}script\unicode{x3e}$",
    r"$\text{&lt;script&gt;alert(1)&lt;/script&gt;}$", r"$\text{&#x3c;script&#x3e;}$", r"$\text{--><script>}$",
    r"$\text{<annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml>}$",
    r"$\text{<mglyph><style><img src=x onerror=alert(1)>}$", r"$\rule{100em}{100em}$", r"$\foo{<img src=x onerror=y>}$",
    r"<math><maction actiontype='statusline'>x</maction></math>", r"$\mathop{<script>}$",
    r"<math xlink:href='javascript:alert(1)'><mtext><img src=x onerror=alert(1)></mtext></math>",
])
def test_nothing_in_a_formula_acts_or_loads(text: str):
    seen = Elements()
    seen.feed(own.html_of(text))
    assert seen.names <= {"p", "code", "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mpadded"}
    assert seen.attributes <= {"tabindex", "mathvariant", "stretchy", "width", "class", "displaystyle", "scriptlevel"}


def test_a_wide_formula_is_reached_by_keys_and_a_narrow_one_is_no_stop():
    assert mathml("+".join("abcdefghij"), True).startswith('<math tabindex="0" display="block">')
    assert mathml("a+b", True).startswith('<math display="block">')
