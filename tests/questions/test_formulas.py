"""Where a text holds formulas: four kinds of marks, none in code or in sums of money, and no text that takes long."""
import pytest

from questions import formulas


def tex(text: str) -> list[tuple[str, bool]]:
    return [(formula.tex, formula.display) for formula in formulas.found(text)]


@pytest.mark.parametrize(("text", "held"), [
    (r"so \(x^2\) is", [("x^2", False)]), ("so $x^2$ is", [("x^2", False)]), ("$x$ is 5", [("x", False)]),
    (r"\[x\]", [("x", True)]), ("$$x$$", [("x", True)]), ("$$\nx\n- y\n$$", [("x\n- y", True)]),
    ("$a$ and $b$", [("a", False), ("b", False)]), ("$a$$b$", [("a", False), ("b", False)]),
    (r"\(a\)\(b\)", [("a", False), ("b", False)]), (r"$\$5$", [(r"\$5", False)]),
    (r"\(a \\ b\)", [(r"a \\ b", False)]), ("若$x$是", [("x", False)]), ("the $n$th", [("n", False)]),
    ("**$x$**", [("x", False)]), ("> $x$", [("x", False)]), ("| $|x|$ |", [("|x|", False)]),
    ("[see $x$](https://a.b)", [("x", False)]), ("a`b$c$", [("c", False)]),
])
def test_what_stands_between_the_marks_is_a_formula(text: str, held: list[tuple[str, bool]]):
    assert tex(text) == held


@pytest.mark.parametrize("text", [
    "$5 and $10", "from $5 to $10.50", "$5-$10", "5$ and 10$", "US$5, A$6", "costs $ 5 $ here", "$", "$$", "$$$$",
    "$ $", r"\$x\$", r"\$5 and 6$", r"\\(x\\)", r"\(x", r"x\)", r"\(\)", "$$ $$", r"\[a", "a $x\n\ny$ b",
    "$$\n\nx\n\n$$", "**$5** to **6$**", "**US$** or A$",
])
def test_money_and_marks_that_do_not_pair_are_none(text: str):
    assert tex(text) == []
    assert formulas.unmarked(text) == text


@pytest.mark.parametrize("text", [
    "`$x$`", "``a ` $x$``", r"`\(x\)`", "```\n$x$\n```", "~~~ tex\n\\[x\\]\n~~~", "```\n$x$", "> ```\n> $x$\n> ```",
    "[a](https://b.c/$d$)", "<https://b.c/$d$>",
])
def test_code_and_addresses_hold_none(text: str):
    assert tex(text) == []


def test_marks_in_code_end_no_formula():
    assert tex("`a$` $b$ `$c`") == [("b", False)]


def test_a_text_is_cut_and_put_together_again():
    text = r"a $b$ \[c\] `$d$` $5"
    bare, held = formulas.cut(text)
    assert "b" not in bare and len(held) == 2
    assert formulas.as_written(bare, held) == text
    assert formulas.without(text) == "a 0 0 `$d$` $5"


def test_a_text_that_holds_the_sign_of_a_cut_has_no_formula_by_it():
    assert formulas.cut("\ue0000\ue001 $x$") == ("0 \ue0000\ue001", list(formulas.found("0 $x$")))


@pytest.mark.parametrize(("text", "line"), [
    ("$$\n\\frac{a}{b}\n  = c\n$$", r"\frac{a}{b} = c"), (r"\(\text{if $x$}\)", r"\text{if x}"),
    (r"pay \(\$5\)", r"pay \$5"), (r"\(x = {[…]}^2\)", "x = […]^2"),
])
def test_a_formula_in_a_line_has_no_marks(text: str, line: str):
    assert formulas.unmarked(text) == line


def test_dollars_and_tex_marks_say_the_same():
    assert [formulas.in_tex_marks(one) for one in formulas.found(r"$a$ $$b$$ \(c\) \[d\]")] == [
        r"\(a\)", r"\[b\]", r"\(c\)", r"\[d\]"]
