"""How long the labs take, from an address to the drawn result, and how fast the scheduler steps.

    .venv/bin/python bench/labs.py [SLUG…]

For each view: the median at its starting values and at the slowest input found that its form takes, in CPU time.
"""
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import process_time

RUNS = 5
LAST_STEP = "999999999"
HEAVY = {  # where the search starts when no single knob leads to what is slow
    "scheduler steps": {
        "requests": ",".join(f"{chr(65 + n)}:{1000 + n}/700@{n}+S" for n in range(26)), "max_num_batched_tokens": "256",
        "max_num_seqs": "26", "usable_blocks": "1024", "block_size": "32", "max_model_len": "2000",
    },
    "leak-rate slope": {"samples": "min,requests,rss; " + "; ".join(f"{n},{n * 9},{9000 + n}" for n in range(450))},
    "leak-rate suspects": {"samples": "min,requests,rss; " + "; ".join(f"{n},{n * 9},{9000 + n}" for n in range(450))},
}
# 64 requests present at the start, none sharing a prefix; vLLM 0.33.0's own Scheduler takes 187 steps for them too.
WORKLOAD = ",".join(f"r{n}:{40 + 37 * n % 200}/60@0" for n in range(64))


def main(slugs: list[str]) -> None:
    from calculators.labs import LABS

    print(f"{'lab':<44}{'start':>9}{'slowest':>10}  with")
    for lab in [LABS[slug] for slug in slugs] or LABS.values():
        for view in lab.views:
            start = {"view": view.name}
            slowest = slowest_of(lab, view)
            took, most = (statistics.median(took_s(lab, values) for _ in range(RUNS)) for values in (start, slowest))
            changed = ", ".join(f"{name}={shortened(text)}" for name, text in slowest.items() if name != "view")
            print(f"{lab.slug + ' ' + view.name:<44}{took * 1e3:>6.0f} ms{most * 1e3:>7.0f} ms  {changed}", flush=True)
    print(f"scheduler: {steps_per_second():,.0f} steps/s")


def took_s(lab: object, given: Mapping[str, str]) -> float:
    """Seconds from an address's values to the drawn result; 0 where a knob is refused."""
    from django.contrib.auth.models import AnonymousUser
    from django.template.loader import render_to_string
    from django.test import RequestFactory

    from calculators.stage import stage_of

    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    started = process_time()
    stage = stage_of(lab, given)
    if stage.faults:
        return 0.0
    render_to_string(stage.fragment, {"lab": lab, "stage": stage, "embedded": True}, request)
    return process_time() - started


def slowest_of(lab: object, view: object) -> dict[str, str]:
    """The slowest input found: each knob in turn at whichever of its ends takes longest, twice over.

    An end that changes nothing is kept: it may make room for another.
    """
    slowest = {"view": view.name} | HEAVY.get(f"{lab.slug} {view.name}", {})
    most = took_s(lab, slowest)
    for _ in range(2):
        for name, text in ends(view):
            if slowest.get(name) != text and (took := took_s(lab, slowest | {name: text})) > most * 0.95:
                slowest, most = slowest | {name: text}, max(took, most)
    return slowest


def ends(view: object) -> Iterator[tuple[str, str]]:
    """Each knob with its least, its most or its longest; the last step of a run."""
    for name, field in view.form.base_fields.items():
        low, high = getattr(field, "min_value", None), getattr(field, "max_value", None)
        choices = [str(key) for key, _ in getattr(field, "choices", ())]
        for value in choices or [low, high]:
            if value is not None:
                yield name, str(value)
        if longest := getattr(field, "max_length", None):
            yield name, repeated(view.starts[name], longest)
    yield "step", LAST_STEP


def repeated(text: str, longest: int) -> str:
    """The text as often as it fits, with the separator that stands between its own parts."""
    between = next((mark for mark in ("; ", ";", ",", " ") if mark in text), ",")
    return between.join([text] * max((longest + len(between)) // (len(text) + len(between)), 1))


def shortened(text: str) -> str:
    return "last" if text == LAST_STEP else text if len(text) <= 20 else f"{len(text):,} characters"


def steps_per_second() -> float:
    """Steps of the workload a second, every one recorded: the median of some runs."""
    from calculators.models.scheduler import parse_requests, simulate

    requests = parse_requests(WORKLOAD)
    rates = []
    for _ in range(4 * RUNS):
        started = process_time()
        run = simulate(
            requests=requests, max_num_batched_tokens=512, max_num_seqs=32, usable_blocks=256, block_size=16,
            max_model_len=512,
        )
        rates.append(run.step_count / (process_time() - started))
    return statistics.median(rates)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    with tempfile.TemporaryDirectory() as data:  # the settings want a folder of their own; nothing is read from it
        os.environ |= {"DJANGO_SETTINGS_MODULE": "drillapp.settings", "DRILL_DATA": data}
        import django

        django.setup()
        main(sys.argv[1:])
