"""The lab in front of a candidate. It holds what it shows until a number or a step is said; then it is free."""
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from calculators.stage import SAID, Stage, stage_of
from drillapp.htmx import wants_fragment
from mocks import services, sides
from mocks.access import Presence
from mocks.lab_address import Opened, opened
from mocks.sides import digest_of

HERE = "in"  # what marks an address of the room's lab as one that sets something, even back to the lab's own values
SAY_FIRST = "Say the step first."


class LabPage:
    """The room's lab for one address of it; without anything in the address it stands as it was last set."""

    def __init__(self, presence: Presence, given: Mapping[str, str], now: datetime) -> None:
        self.presence = presence
        self.state = services.look(presence.interview, now)
        self.asked = {name: value for name, value in given.items() if name != HERE}
        self.sets = bool(given) and presence.is_candidate
        item = self.state.item
        self.lab = sides.lab_of(item, {}) if item and self.state.phase in sides.ASKING else None

    @cached_property
    def pushed(self) -> Opened:
        return opened(self.lab.start)

    @cached_property
    def current(self) -> Opened:
        return opened(self.lab.address)

    @property
    def held(self) -> bool:
        """Whether something must be said before the lab shows what comes out."""
        return not self.lab.committed and self.pushed.needs_commit

    @cached_property
    def stage(self) -> Stage:
        """The lab's stage; every link on it stays in the room."""
        return stage_of(self.pushed.lab, self.given)

    @property
    def given(self) -> dict[str, str]:
        """What the stage is made from: while it is held the lab as it was pushed, with what is said and no more."""
        if not self.held:
            return dict(self.asked if self.sets else self.current.given)
        given, start = dict(self.pushed.given), self.pushed.step
        if self.pushed.view.predict is None:
            return given | {"ask": "1", "said": self.asked.get("said", "")}
        said = {name: text for name, text in self.asked.items() if name.startswith(SAID)}
        if said and self.asked.get("step") == str(start + 1):
            return given | said | {"step": str(start + 1)}
        return given | {"step": str(start)}

    @property
    def committed_now(self) -> str:
        """What this address says, where it says something that can be read; "" otherwise."""
        if self.stage.verdict:
            return self.stage.typed
        return ", ".join(f"{entry.name} {entry.said:g}" for entry in self.stage.scored)

    @property
    def to_record(self) -> tuple[str, dict[str, str]] | None:
        """The event that this address makes: a commit, or a lab set to something else; None for no change."""
        if not self.sets or self.stage.faults:
            return None
        said = self.committed_now
        address = self.stage.here if said else self.stage.full
        if address == self.lab.address or (self.held and not said):
            return None
        return ("commit_lab", {"address": address, "typed": said}) if said else ("set_lab", {"address": address})

    @property
    def address(self) -> str:
        return reverse("mocks:lab", args=[self.presence.interview.code])

    def in_room(self, address: str) -> str:
        """A lab's own address as the room's."""
        return f"{self.address}?{HERE}=room&{address.partition('?')[2]}" if address else ""

    def in_the_room(self, held: bool) -> Stage:
        """The stage with its links in the room; no step leads on while one is to be said first."""
        stage, at = self.stage, self.in_room
        return replace(
            stage, full="", presets=(), here=at(stage.here), reset=at(stage.reset), back=at(stage.back),
            step="" if held else at(stage.step), end="" if held else at(stage.end),
            views=tuple(replace(view, address=at(view.address)) for view in stage.views))

    def render(self, request: HttpRequest) -> HttpResponse:
        """The stage alone where a knob or a step asks for it, else the lab with its knobs; without htmx its page."""
        recorded = self.to_record
        committed = self.lab.committed or bool(recorded and recorded[0] == "commit_lab")
        held = self.pushed.needs_commit and not committed
        stage = self.in_the_room(held)
        seen = replace(
            self.lab, by=self.name_of_pusher, committed=committed,
            address=recorded[1]["address"] if recorded and recorded[0] == "set_lab" else self.lab.address)
        asks_for_stage = wants_fragment(request) and request.htmx.target == "lab"
        whole = self.held or not asks_for_stage or stage.view != self.current.view
        context = {
            "page": self, "lab": stage.lab, "stage": stage, "embedded": True, "in_room": True, "held": held,
            "in_steps": stage.view.predict is not None,
            "sets": self.presence.is_candidate, "seen": digest_of(seen), "strip_off": SAY_FIRST if held else "",
            "room_address": reverse("mocks:room", args=[self.presence.interview.code]),
        }
        if not wants_fragment(request):
            return render(request, "mocks/room/lab.html", context)
        if not whole and stage.faults:
            response = render(request, "calculators/_knob_marks.html", context | {"fragment": True})
            response["HX-Reswap"] = "none"
            return response
        response = render(request, "mocks/room/_lab.html" if whole else "mocks/room/_lab_swap.html", context)
        if whole and asks_for_stage:
            response["HX-Retarget"], response["HX-Reswap"] = "#lab-here", "innerHTML"
        return response

    @property
    def name_of_pusher(self) -> str:
        """By whom it was pushed, as the room's page has it."""
        seats = {str(one.user_id): one.user.name for one in self.presence.interview.seats.select_related("user")}
        return sides.lab_of(self.state.item, seats).by

