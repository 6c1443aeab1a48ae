"""Anki's own backend on the same cards, run by its own Python: a line of JSON asks, a line of JSON answers.

    ANKI_PYTHON bench/anki_side.py DRILL.sqlite3 COLLECTION.anki2
"""
import json
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from time import perf_counter
from typing import Any

from anki.collection import Collection
from anki.scheduler.v3 import CardAnswer

DAYS_BEFORE = 1_000  # that the collection was made: its days count from there
RATINGS = {1: CardAnswer.AGAIN, 2: CardAnswer.HARD, 3: CardAnswer.GOOD, 4: CardAnswer.EASY}
STATES = {"learning": 0, "review": 1, "relearning": 2, "new": 0}
LOWEST_RECALL_FIRST = 7


class Side:
    """A collection with FSRS on, and what is timed on it; all times are in seconds."""

    def __init__(self, drill: str, path: str) -> None:
        self.col = Collection(path)
        self.col.set_config("fsrs", True)
        self.elsewhere = self.col.decks.id("Elsewhere")
        model, crt = self.col.models.by_name("Basic")["id"], self.col.crt - DAYS_BEFORE * 86_400
        self.col.close()
        with closing(sqlite3.connect(path)) as collection, closing(sqlite3.connect(drill)) as source:
            source.row_factory = sqlite3.Row
            copy(source, collection, model, crt)
        self.col = Collection(path)

    def set_up(self, new: int, reviews: int) -> dict[str, Any]:
        """Limits as the drill's, reviews by lowest predicted recall."""
        config = self.col.decks.config_dict_for_deck_id(1)
        config["new"]["perDay"], config["rev"]["perDay"] = new, reviews
        config["reviewOrder"] = LOWEST_RECALL_FIRST
        self.col.decks.update_config(config)
        self.col.set_config("newCardsIgnoreReviewLimit", True)
        self.col.decks.select(1)
        queued = self.col.sched.get_queued_cards(fetch_limit=1)
        pragmas = {name: self.col.db.scalar(f"pragma {name}") for name in ("journal_mode", "synchronous")}
        return {"queued": [queued.new_count, queued.learning_count, queued.review_count], **pragmas,
                "reviews": self.col.db.scalar("select count() from revlog")}

    def answer(self, ratings: list[int]) -> list[float]:
        """Fetch the next card and answer it, once for each rating."""
        return [timed(lambda: self.fetch_and_answer(rating)) for rating in ratings]  # noqa: B023

    def fetch_and_answer(self, rating: int) -> None:
        queued = self.col.sched.get_queued_cards(fetch_limit=1).cards[0]
        card = self.col.get_card(queued.card.id)
        card.start_timer()
        self.col.sched.answer_card(self.col.sched.build_answer(
            card=card, states=queued.states, rating=RATINGS[rating]))

    def queue(self, times: int) -> list[float]:
        """Build the queue of a deck that was just opened."""
        taken = []
        for _ in range(times):
            self.col.decks.select(self.elsewhere)
            self.col.sched.get_queued_cards(fetch_limit=1)
            self.col.decks.select(1)
            taken.append(timed(lambda: self.col.sched.get_queued_cards(fetch_limit=1)))
        return taken

    def due(self, times: int) -> list[float]:
        return [timed(self.col.sched.deck_due_tree) for _ in range(times)]

    def graphs(self, times: int) -> list[float]:
        return [timed(lambda: self.col._backend.graphs(search="deck:current", days=365)) for _ in range(times)]

    def undo(self, times: int) -> list[float]:
        return [timed(self.col.undo) for _ in range(times)]


def copy(drill: sqlite3.Connection, collection: sqlite3.Connection, model: int, crt: int) -> None:
    """The drill's cards and logs, row for row, into a collection that was made at `crt` and is closed."""
    made = datetime.fromtimestamp(crt, UTC).date().isoformat()
    cards = drill.execute("SELECT * FROM flashcards_card ORDER BY id").fetchall()
    collection.execute("UPDATE col SET crt = ?", [crt])
    collection.executemany("INSERT INTO notes VALUES (?, ?, ?, 0, -1, '', ?, ?, ?, 0, '')", (
        (card["id"], f"bench{card['id']}", model, f"What is number {card['id']}?\x1f{card['id']}",
         f"What is number {card['id']}?", card["id"]) for card in cards))
    collection.executemany("INSERT INTO cards VALUES (?, ?, 1, 0, 0, -1, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?)", (
        standing(card, place, made) for place, card in enumerate(cards)))
    log = drill.execute("SELECT * FROM flashcards_review ORDER BY at, id")
    collection.executemany("INSERT INTO revlog VALUES (?, ?, -1, ?, ?, ?, ?, ?, ?)", answers(log))
    collection.commit()


def standing(card: sqlite3.Row, place: int, made: str) -> tuple:
    """A card as Anki keeps it from its note's key on; days count from `made`."""
    if card["state"] == "new":
        return card["id"], card["id"], 0, 0, place, 0, 0, 0, 0, "{}"
    memory = {"s": round(card["stability"], 4), "d": round(card["difficulty"], 3), "dr": 0.9, "decay": 0.1542,
              "lrt": int(stamp(card["last_at"]))}
    return (card["id"], card["id"], 2, 2, days(card["due_day"], made), days(card["due_day"], card["last_day"]), 2500,
            card["answers"], card["lapses"], json.dumps(memory, separators=(",", ":")))


def answers(log: Iterable[sqlite3.Row]) -> Iterator[tuple]:
    """The log's rows as Anki keeps them, each known by its millisecond."""
    taken, last = 0, {}
    for row in log:
        taken = max(taken + 1, int(stamp(row["at"]) * 1000))
        interval = (days(row["due_day"], row["study_day"]) if row["due_day"]
                    else round(stamp(row["at"]) - stamp(row["due_at"])))  # inside learning steps: seconds, negative
        yield (taken, row["card_id"], row["rating"], interval, last.get(row["card_id"], 0),
               round((row["difficulty"] - 1) / 9 * 1000) + 100, 5_000 + 3_000 * row["rating"], STATES[row["was"]])
        last[row["card_id"]] = interval


def timed(act: Callable[[], object]) -> float:
    started = perf_counter()
    act()
    return perf_counter() - started


def stamp(text: str) -> float:
    return datetime.fromisoformat(text + "+00:00").timestamp()


def days(last: str, first: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


if __name__ == "__main__":
    told, sys.stdout = sys.stdout, sys.stderr  # Anki prints a word of its own now and then
    side = Side(*sys.argv[1:])
    print(json.dumps("ready"), file=told, flush=True)
    for line in sys.stdin:
        name, *given = json.loads(line)
        print(json.dumps(getattr(side, name)(*given)), file=told, flush=True)
