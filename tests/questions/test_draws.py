"""Draws of every question: each reads right, is judged as it should be and can be.

DRAWS=20 tries more of each than the suite does, and `manage.py check_bank` ten times as many as that.
"""
import os
import re

import pytest

from calculators.pictures import Drawing, Text
from questions import loading
from questions.models import Question, Topic
from questions.posing import absurd, misjudged, shown_figures
from questions.runs import draw, play
from questions.services import Posed, gist_of, posed_with, run_lab
from tests.calculators.drawings import assert_within

DRAWS = int(os.environ.get("DRAWS", "8"))  # of each question
FILES = {path.stem: path for path in sorted(loading.FOLDER.glob("*/*.md"))}
SAID = (0.2, 0.9, 1.6, 40)  # times the answer
LETTER = {"end": 9.5, "name": 8, "strong": 7, "pen-text": 7}  # widths, about; any other look's is 6.5
WITH_PICTURE = {
    "prefill-damage", "three-ceilings", "recompute-or-move", "budget-dial", "overload-queueing", "long-replies",
}


@pytest.mark.parametrize("slug", FILES)
def test_every_draw_reads_right_is_judged_right_and_keeps_inside_its_picture(slug: str):
    file, _ = loading.read_file(FILES[slug])
    row = Question(slug=slug)
    loading.write_row(row, file, Topic(slug=file.topic))
    varies = any(run.get("vary") for run in file.runs.values())
    own, figures = play(file.runs, {}, run_lab), shown_figures(file)
    for seed in range(DRAWS if varies else 1):
        drawn, ran, _ = draw(file.runs, file.keep, seed, run_lab) if varies else ({}, own, 0)
        assert bool(drawn) == varies  # else nothing that can be drawn keeps what the prose relies on
        posed = posed_with(row, drawn, ran)
        assert not [*absurd(figures, ran, own), *(misjudged(posed.check, posed.slips) if posed.check else ())], drawn
        assert not re.search(r"\[\[|\]\]|\ue000|\bnan\b|\binf\b", all_text(posed)), drawn
        number = posed.check and posed.check.kind == "number"
        for said in (None, SAID[seed % len(SAID)] * posed.check.expected if number else None):
            gist = gist_of(posed, said)
            assert gist or slug not in WITH_PICTURE
            for drawing in gist or ():
                assert_within(drawing, drawing.width)
                assert_words_within(drawing)


def all_text(posed: Posed) -> str:
    """Every text of a question, as HTML."""
    answer = [posed.said_aloud_html, *map(str, posed.derivation), posed.catch_html, posed.measure_html]
    parts = [posed.ask_html, *answer, *posed.hints]
    for entries in (posed.rubric, posed.traps, posed.follow_ups):
        parts += [text for entry in entries for text in entry.values()]
    return " ".join(parts)


def assert_words_within(drawing: Drawing) -> None:
    """Every text begins and ends inside the drawing, as far as letters can be counted."""
    for shape in drawing.shapes:
        if isinstance(shape, Text):
            width = LETTER.get(shape.css.split()[0], 6.5) * len(shape.text)
            start = shape.x - {"start": 0, "middle": width / 2, "end": width}[shape.anchor]
            assert start >= -2 and start + width <= drawing.width + 2, shape
