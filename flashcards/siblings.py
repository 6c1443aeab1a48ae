"""The two directions of a number card never come up on one study day: whichever is first has it, the other waits."""
from collections.abc import Iterable, Mapping
from typing import Protocol

MOST_NAMED = 3


class Sided(Protocol):
    pk: int
    note_id: int | None


class Siblings:
    """Which card of each note has the day; `answered` says it for those that the day has seen, {note: card}."""

    def __init__(self, answered: Mapping[int, int]) -> None:
        self._up = dict(answered)

    def copy(self) -> "Siblings":
        """The same, of which what asks from now on is not remembered here."""
        return Siblings(self._up)

    def gives(self, card: Sided) -> bool:
        """Whether the card may come up today. The first of a note that asks gets the day, so ask in order."""
        return card.note_id is None or self._up.setdefault(card.note_id, card.pk) == card.pk

    def sort_out(self, cards: Iterable[Sided]) -> tuple[list, list]:
        """The cards in order in two lists: those that may come up, and those whose sibling has the day."""
        up, waiting, first = [], [], self._up.setdefault
        for card in cards:  # by `gives`, written out: a backlog is long
            note, pk = card.note_id, card.pk
            (up if note is None or first(note, pk) == pk else waiting).append(card)
        return up, waiting


def waiting_words(slugs: Iterable[str], own: int = 0) -> str:
    """Which cards wait for their sibling: "kv-70b, whose sibling is up today"; many are counted, and so are `own` cards
    of the person's, which have no name."""
    names = sorted(set(slugs))
    whose = "whose sibling is" if len(names) + own == 1 else "whose siblings are"
    if not names:
        return f"{own} of your own cards, {whose} up today"
    shown, more = names[:MOST_NAMED], len(names[MOST_NAMED:]) + own
    last = f"{more} more" if more > 0 else shown.pop() if len(shown) > 1 else ""
    return f"{', '.join(shown)}{f' and {last}' if last else ''}, {whose} up today"
