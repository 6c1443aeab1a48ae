"""A lab's address as an interviewer hands it to a candidate, and as the candidate goes on from it."""
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from django.urls import reverse

from calculators.labs import LABS
from calculators.labs.base import Lab, View, faults, told
from calculators.models.base import Refusal

SAID = ("ask", "said", "score")  # what an address carries of a reader's own commitment


@dataclass(frozen=True, slots=True)
class Opened:
    """A lab, its view, and what the address sets."""

    lab: Lab
    view: View
    given: Mapping[str, str]

    @property
    def step(self) -> int:
        text = self.given.get("step", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0

    @property
    def summary(self) -> str:
        """The values in one line; "" where they can't be used."""
        form = self.view.bind(self.given)
        return self.view.summary(form.cleaned_data) if form.is_valid() else ""

    @property
    def needs_commit(self) -> bool:
        """Whether there is something to say before it shows: a number, or a step."""
        return bool(self.view.predict) or (self.view.ask is not None and not self.view.ask.choices)


def opened(address: str) -> Opened:
    """The lab of an address on this site. Raises Refusal for any other."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        parts = urlsplit("")
    slug = parts.path.removeprefix(reverse("calculators:labs_page")).strip("/")
    if not parts.path.startswith(reverse("calculators:labs_page")) or slug not in LABS:
        raise Refusal("This takes the address of a lab here, such as /labs/scheduler.")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Opened(LABS[slug], LABS[slug].view(given.get("view")), given)


def to_push(address: str, is_before: bool = False) -> str:
    """The address as it is pushed: values alone, nothing said in it. A lab in steps opens one step before the one that
    the address shows; `is_before` where it stands a step before already, as a question's own does.

    Raises Refusal when it is no lab's, or its values can't be used.
    """
    found = opened(address)
    form = found.view.bind(found.given)
    if not form.is_valid():
        raise Refusal("These values can’t be used in that lab: " + "; ".join(told(faults(form))))
    step = max(0, found.step - 1) if found.view.predict and not is_before else found.step
    return found.lab.address(found.view, form.cleaned_data, step=step or None)
