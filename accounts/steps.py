"""Learning steps as a person writes them: "1m 10m" to waits, shortest unit a second, longest a day."""
import re
from datetime import timedelta

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
LONGEST = timedelta(days=30)


def read_steps(text: str) -> tuple[timedelta, ...]:
    """The waits that a text such as "1m 10m" names, in its order; empty for an empty text.

    Raises ValueError with a sentence that names the piece which can't be read.
    """
    return tuple(_read_step(piece) for piece in text.replace(",", " ").split())


def _read_step(piece: str) -> timedelta:
    if (match := re.fullmatch(r"(\d{1,6})([smhd])", piece.lower(), re.ASCII)) is None:
        raise ValueError(f"“{piece}” is not a wait; write minutes as 10m, hours as 2h, days as 1d.")
    wait = timedelta(**{UNITS[match[2]]: int(match[1])})
    if not timedelta() < wait <= LONGEST:
        raise ValueError(f"“{piece}” must be more than nothing and at most 30 days.")
    return wait
