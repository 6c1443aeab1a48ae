"""A person who presses whatever the pages offer, sends it again and comes back later: the log stays sound."""
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from random import Random

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from flashcards import own_cards, services, soundness
from flashcards.models import Card, Review
from flashcards.transfer import everything
from questions.models import Note
from tests.flashcards.conftest import write_questions
from tests.flashcards.test_export import comparable
from tests.flashcards.test_numbers import write_notes

ACTS = 70
OURS = ("/cards/", "/undo/", "/history/undo/", "/more/", "/catch-up/", "/drill/")
TYPED = {
    "typed": ("12 KiB", "2 MiB", "a few", ""), "outline": ("Decodes first.", ""), "count": ("2", "0"),
    "due": ("in 5 days", "in 40 days", "soon"),
}
PAGES = ("/", "/review/", "/review/", "/review/", "/review/?only=numbers", "/history/", "/catch-up/",
         "/drill/?kind=explain")
PASSES = (2, 30, 300, 700, 1500, 3000, 14_000)  # minutes between two acts


class Forms(HTMLParser):
    """The forms of a page that post: what each button of theirs would send, as (address, fields)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[dict] = []
        self.by_id: dict[str, dict] = {}
        self.loose: list[tuple[str, dict]] = []  # a field or button outside of the form that it names
        self.now: dict | None = None
        self.feed(page)
        for name, attrs in self.loose:
            if attrs["form"] in self.by_id:
                self.put(self.by_id[attrs["form"]], name, attrs)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        attrs = {key: value or "" for key, value in attributes}
        if name == "form":
            posts = attrs.get("method") == "post"
            self.now = {"action": attrs.get("action", ""), "posts": posts, "fields": [], "buttons": []}
            self.forms.append(self.now)
            self.by_id[attrs.get("id", "")] = self.now
        elif name in ("input", "textarea", "button", "select"):
            if "form" in attrs:
                self.loose.append((name, attrs))
            elif self.now is not None:
                self.put(self.now, name, attrs)

    def handle_endtag(self, name: str) -> None:
        if name == "form":
            self.now = None

    @staticmethod
    def put(form: dict, name: str, attrs: dict[str, str]) -> None:
        form["buttons" if name == "button" else "fields"].append(attrs)

    def offers(self, draw: Random) -> Iterator[tuple[str, dict[str, str]]]:
        """What each button would send, with something typed into the fields."""
        for form in self.forms:
            if not form["posts"]:
                continue
            for button in form["buttons"] or [{}]:
                address = button.get("formaction") or form["action"]
                if not address.startswith(OURS):
                    continue
                sent: dict[str, str] = {}
                for field in form["fields"]:
                    name, kind = field.get("name"), field.get("type", "text")
                    if not name or (kind in ("checkbox", "radio") and draw.random() < 0.5):
                        continue
                    hidden = kind in ("hidden", "checkbox", "radio")
                    sent[name] = field.get("value", "") if hidden else draw.choice(TYPED.get(name, ("",)))
                if button.get("name"):
                    sent[button["name"]] = button.get("value", "")
                yield address, sent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[datetime]]:
    """What the site takes for now: the only entry."""
    now = [datetime(2026, 3, 20, 9, tzinfo=UTC)]
    monkeypatch.setattr(timezone, "now", lambda: now[0])
    return now


@pytest.mark.parametrize("seed", [1])
def test_whatever_is_pressed_the_log_is_whole_and_each_card_is_what_it_says(
    ada: User, eve: User, clock: list[datetime], seed: int
):
    draw, client = Random(seed), Client()
    write_questions(5)
    write_notes(4)
    for fields in (own_cards.fields_of_words(Note.Kind.BASIC, "Front", "Back", [], True),
                   own_cards.fields_of_words(Note.Kind.CLOZE, "A {{c1::gap}} and {{c2::another}}.", "", [])):
        own_cards.save(ada, fields, clock[0])
    ada.profile.new_numbers_per_day, ada.profile.reviews_per_day, ada.profile.leech_lapses = 3, 4, 2
    ada.profile.save()
    client.force_login(ada)
    services.ensure_cards(ada)
    own_pages = [f"/questions/q{at}/" for at in (1, 2, 3)] + [f"/numbers/n{at}/" for at in (1, 2)]
    page, rows, sent_before, kinds = "", {}, [], set()
    for _ in range(ACTS):
        if draw.random() < 0.2:
            clock[0] += timedelta(minutes=draw.choice(PASSES))
            client.force_login(ada)
        if draw.random() < 0.05:
            type(ada.profile).objects.filter(user=ada).update(
                zone=draw.choice(("Asia/Tokyo", "America/New_York")), desired_retention=draw.choice((0.85, 0.93)))
        if not page or draw.random() < 0.4:
            page = seen(client.get(draw.choice((*PAGES, *own_pages))))
        again = sent_before and draw.random() < 0.15
        offers = list(Forms(page).offers(draw))
        if not again and not offers:
            page = ""
            continue
        address, sent = draw.choice(sent_before) if again else draw.choice(offers)
        page = seen(client.post(address, sent, follow=True), address, sent)
        there = {row["id"]: row for row in Review.objects.values()}
        assert {pk: there.get(pk) for pk in rows} == rows, "a row was changed or is gone"
        if there.keys() != rows.keys():
            assert not again, f"sent again, it was done again: {address} {sent}"
            sent_before.append((address, sent))
        new = [row for pk, row in there.items() if pk not in rows]
        kinds |= {row["kind"] for row in new}
        for card in Card.objects.filter(pk__in={row["card_id"] for row in new}):
            assert services.rebuild_card(card, write=False) == "", f"{address} {sent}"
        rows = there

    assert {"answer", "undo", "bury", "suspend", "set_due", "amend", "remove", "reset"} <= kinds
    assert list(soundness.faults(repair=False)) == []
    everything.put(eve, dict(everything.read(everything.written(ada, clock[0]))), clock[0])
    assert comparable(eve) == comparable(ada)
    assert list(soundness.faults(repair=False)) == []


def seen(response: object, *sent: object) -> str:
    assert response.status_code == 200, sent
    return response.content.decode()
