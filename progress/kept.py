"""A long log as it was last read: of a million answers only those on cards that changed since are read again.

The log only grows, and every row of it makes its card's log longer, so a card whose log is as long as it was has the
answers that it had. What is kept is a copy that any process can do without.
"""
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import fields
from threading import Lock

import numpy as np
import sqlalchemy as sa

from progress import reports
from progress.counts import Answers, Cards, places

LEAST_KEPT = 20_000  # answers; fewer are read in no time
MOST_KEPT = 3_000_000  # answers of all people together, some 35 bytes each
MOST_READ_AGAIN = 500  # cards
NAMES = [field.name for field in fields(Answers)]

_kept: "OrderedDict[Hashable, tuple[Cards, Answers]]" = OrderedDict()
_lock = Lock()


def answers(connection: sa.Connection, user_id: int, cards: Cards, key: Hashable) -> Answers:
    """The answers of the person whose cards these are, as reports.answers() gives them; `key` is theirs alone.

    The cards must have been read before, on the same connection: a row that came since is then read again next time.
    """
    with _lock:
        before = _kept.get(key)
    found = _since(connection, user_id, cards, *before) if before else reports.answers(connection, user_id)
    with _lock:
        _kept.pop(key, None)
        if len(found.card) >= LEAST_KEPT:
            _kept[key] = cards, found
        while sum(len(log.card) for _, log in _kept.values()) > MOST_KEPT:
            _kept.popitem(last=False)
    return found


def _since(connection: sa.Connection, user_id: int, cards: Cards, old_cards: Cards, old: Answers) -> Answers:
    """What was read before, with the cards that changed since as they are now."""
    at = places(cards.pk, old_cards.pk)
    same = (at >= 0) & (old_cards.log_length[at] == cards.log_length) if len(old_cards.pk) else at >= 0
    changed, kept = cards.pk[~same], np.zeros(len(old_cards.pk), bool)
    kept[at[same]] = True
    if len(changed) > MOST_READ_AGAIN:
        return reports.answers(connection, user_id)
    if not len(changed) and len(cards.pk) == len(old_cards.pk):
        return old
    stays = np.repeat(kept, np.diff(np.searchsorted(old.card, old_cards.pk), append=len(old.card)))
    new = reports.answers(connection, user_id, [int(pk) for pk in changed])
    at = np.searchsorted(old.card[stays], new.card)  # both are in the order of the cards
    return Answers(*(np.insert(getattr(old, name)[stays], at, getattr(new, name)) for name in NAMES))
