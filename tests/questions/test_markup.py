"""Markdown with figures and source marks: what is shown, and that nothing in it can act."""
from html.parser import HTMLParser

import pytest

from questions import markup
from questions.figures import BadFigure
from questions.runs import play
from tests.questions.bakery import run_lab

RAN = play({"oven": {"lab": "bakery", "values": {"flour_g": 3000}}}, {}, run_lab)


def test_figures_stand_in_bold_code_and_tables():
    text = "**[[oven.flour_g]]** `--flour [[oven.flour_g|0]]`\n\n| g |\n| --: |\n| [[oven.loaves|0.0]] |"
    html = markup.render(text, RAN)
    assert '<strong>3,000</strong> <code class="nowrap">--flour 3000</code>' in html
    assert '<th class="num">g</th>' in html
    assert '<td class="num">6.0</td>' in html


def test_a_flag_in_running_text_stays_in_one_piece_and_a_long_command_may_break():
    command = "vllm serve meta-llama/Llama-3.1-8B"
    html = markup.render(f"`--max-num-seqs`, `{command}`\n\n| `--max-num-seqs` |\n| --- |", {})
    assert f'<p><code class="nowrap">--max-num-seqs</code>, <code>{command}</code></p>' in html
    assert "<th><code>--max-num-seqs</code></th>" in html


def test_a_source_mark_is_a_small_link_to_its_entry():
    html = markup.render("0.92[^util] of it.", {}, ["other", "util"], inline=True)
    assert html == '0.92<sup><a class="source-mark" href="#source-util">[2]</a></sup> of it.'


def test_lines_stand_between_the_prose():
    before, lines, after = markup.parts("First.\n\n[[oven.lines]]\n\nThen.", RAN)
    assert (before, after) == ("<p>First.</p>", "<p>Then.</p>")
    assert [line.value for line in lines] == [6]


def test_a_figure_with_markup_in_it_is_shown_and_not_run():
    assert markup.render("[[oven.remark]]", RAN, inline=True) == "&lt;script&gt;alert(1)&lt;/script&gt;"


class Elements(HTMLParser):
    """The elements that a browser would make of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


INERT = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](https://example.org/spy.png)",
    "<a href='javascript:alert(1)'>x</a>",
    "<javascript:alert(1)>",
    "`</code><script>alert(1)</script>`",
    "<style>body{display:none}</style>",
    "**<b style=\"color:red\">x</b>**",
    "| a |\n| :-: |\n| <i onclick=alert(1)>x</i> |",
]


@pytest.mark.parametrize("text", INERT)
@pytest.mark.parametrize("inline", [True, False])
def test_nothing_that_is_written_can_act_or_load_from_afar(text: str, inline: bool):
    found = Elements()
    found.feed(markup.render(text, RAN, inline=inline))
    for tag, attributes in found.elements:
        assert tag in markup.TAGS
        assert set(attributes) <= {"href", "rel", "class"}
        assert attributes.get("href", "https://").startswith("https://")


def test_the_marks_that_stand_for_figures_cannot_be_forged():
    assert markup.render("\ue0000\ue001 [[oven.flour_g]]", RAN, inline=True) == "0 3,000"


def test_a_figure_that_cannot_be_shown_stops_the_text():
    with pytest.raises(BadFigure):
        markup.render("[[oven.rolls]]", RAN)
