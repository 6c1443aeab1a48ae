"""Filters whose state is the address: each choice a link that adds or takes it, with the count that it would show."""
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict


@dataclass(frozen=True, slots=True)
class Facet:
    """One thing to filter by: its name in the address, its heading, and its choices, each (value, label, test)."""

    name: str
    heading: str
    choices: Sequence[tuple[str, str, Callable[[Any], bool]]]


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    count: int  # of those that the other facets leave
    chosen: bool
    query: str  # the address's query with this choice turned over, "?" for none


@dataclass(frozen=True, slots=True)
class Filtered:
    """What the address's filters leave: the items, the choices by heading, and those chosen."""

    items: list[Any]
    facets: list[tuple[str, list[Choice]]]

    @property
    def chosen(self) -> list[Choice]:
        return [choice for _, choices in self.facets for choice in choices if choice.chosen]


def filtered(items: Iterable[Any], facets: Sequence[Facet], sent: QueryDict, keep: Sequence[str] = ()) -> Filtered:
    """The items that pass one choice of each facet that has any chosen; an unknown choice is none.

    `keep` are other parameters that the links carry on.
    """
    items = list(items)
    chosen = {facet.name: [value for value, _, _ in facet.choices if value in sent.getlist(facet.name)]
              for facet in facets}
    kept = [(name, sent[name]) for name in keep if sent.get(name)]

    def passes(item: Any, facet: Facet) -> bool:
        wanted = chosen[facet.name]
        return not wanted or any(test(item) for value, _, test in facet.choices if value in wanted)

    def query(turned: str, value: str) -> str:
        pairs = [*kept, *((name, one) for name, values in chosen.items() for one in values)]
        pair = (turned, value)
        return "?" + urlencode([one for one in pairs if one != pair] if pair in pairs else [*pairs, pair])

    shown = []
    for facet in facets:
        rest = [item for item in items if all(passes(item, other) for other in facets if other is not facet)]
        shown.append((facet.heading, [
            Choice(label, sum(map(test, rest)), value in chosen[facet.name], query(facet.name, value))
            for value, label, test in facet.choices
        ]))
    return Filtered([item for item in items if all(passes(item, facet) for facet in facets)], shown)
