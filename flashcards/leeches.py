"""Leeches: cards that are forgotten again and again, told at a number of lapses that the person sets."""


def is_leech(lapses: int, threshold: int) -> bool:
    """Whether a card has lapsed so often that it is one."""
    return lapses >= threshold


def is_told(lapses: int, threshold: int) -> bool:
    """Whether the lapse that was just made is one to speak of: at the threshold, and at each further half of it.

    Source: Anki, rslib/src/scheduler/states/review.rs, leech_threshold_met.
    """
    half = max(-(-threshold // 2), 1)
    return is_leech(lapses, threshold) and (lapses - threshold) % half == 0
