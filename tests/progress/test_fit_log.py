"""A log in a file is read, scored and fitted as one's own is."""
import json
from datetime import date, time, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from progress import fit
from progress.management.commands.fit_log import read
from tests.progress import test_fit
from tests.progress.test_fit import REVLOG, learner


def written(folder: Path, answers: list[fit.Answer]) -> Path:
    """A log file with these answers, at noon UTC of their days."""
    lines = [f"{one.card},{date.fromordinal(one.day)}T12:00:00.000Z,{one.rating},900" for one in answers]
    path = folder / "log.csv"
    path.write_text("\n".join(["card_id,review_time,rating,duration_ms", *lines]) + "\n")
    return path


def said(*arguments: object) -> str:
    out = StringIO()
    call_command("fit_log", *map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(("name", "zone"), [
    ("real_two_button.csv", "America/Los_Angeles"), ("simulated_four_button.csv", "America/New_York")])
def test_days_are_those_of_the_zone_from_its_day_start(name: str, zone: str) -> None:
    """Against the reader that the published figures are reproduced with."""
    by_card: dict[int, int] = {}
    expected = [fit.Answer(by_card.setdefault(one.card, len(by_card)), one.day, one.rating)
                for one in test_fit.read(name, zone)]
    found = read(REVLOG / name, zone, time(4))
    assert [(one.day, one.rating) for one in found] == [(one.day, one.rating) for one in expected]
    recall = [fit.predictions(fit.log_of(answers), fit.DEFAULTS)[0].sum() for answers in (found, expected)]
    assert recall[0] == pytest.approx(recall[1], rel=1e-12)


def test_a_small_log_is_fitted_and_not_judged(tmp_path: Path) -> None:
    answers = learner(fit.DEFAULTS, cards=30, reviews=8, seed=3)
    recall, remembered, _ = fit.predictions(fit.log_of(answers), fit.DEFAULTS)
    loss = fit.log_losses(recall, remembered).mean()
    given = tmp_path / "w.json"
    given.write_text(json.dumps({"name": "w", "true_parameters": list(fit.DEFAULTS)}))
    text = said(written(tmp_path, answers), "--parameters", given)
    row = f"{240:>8,}{loss:>10.4f}{fit.rmse_bins(recall, remembered):>12.3f}"
    assert f"{'defaults':32}{row}" in text
    assert f"{'given':32}{row}" in text
    assert "240 reviews are too few to judge a fit: 400 are needed." in text


def test_the_figures_are_there_as_json_too(tmp_path: Path) -> None:
    found = json.loads(said(written(tmp_path, learner(fit.DEFAULTS, cards=5, reviews=4, seed=4)), "--json"))
    assert found["defaults"][0] == found["fitted"][0] == 20
    assert len(found["parameters"]) == 21
    assert found["verdict"]["worth_it"] is False


@pytest.mark.parametrize(("text", "words"), [
    ("card_id,rating\n1,3\n", "it has no column review_time"),
    ("card_id,review_time,rating\n1,2026-01-01T12:00:00Z,5\n", "line 2: 5 is no rating from 1 to 4"),
    ("card_id,review_time,rating\n1,yesterday,3\n", "Invalid isoformat string: 'yesterday'"),
    ("card_id,review_time,rating\n1,2026-01-01T12:00:00Z,3\n", "No review in it is a study day or more after"),
])
def test_what_is_no_log_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(CommandError, match=words):
        said(tmp_path / "log.csv")


def test_a_zone_that_is_none_and_a_file_that_is_not_there_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, [fit.Answer(1, date(2026, 1, 1).toordinal() + day, 3) for day in (0, 3)])
    with pytest.raises(CommandError, match="Mars/Base"):
        said(path, "--zone", "Mars/Base")
    with pytest.raises(CommandError, match="can’t be read"):
        said(tmp_path / "missing.csv")


def test_a_review_after_midnight_is_of_the_day_before(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("card_id,review_time,rating\n7,2026-03-02T03:30:00,3\n7,2026-03-02T04:30:00,4\n")
    first, second = read(path, "UTC", time(4))
    assert timedelta(days=second.day - first.day) == timedelta(days=1)
