"""`manage.py lab SLUG --set name=value`: a lab at the shell, with the answer that its page shows."""
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from calculators.answer import answer, in_lines
from calculators.labs import LABS
from calculators.labs.base import MODEL_PASTE, View, told


class Command(BaseCommand):
    help = "Run a lab: inputs by name, the result as lines or as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help=", ".join(LABS))
        parser.add_argument("--view", help="which of the lab's views, the first without")
        parser.add_argument("--set", dest="given", action="append", default=[], metavar="NAME=VALUE", help="an input")
        parser.add_argument("--model-config", metavar="FILE", help="a config.json of Hugging Face, for the model")
        parser.add_argument("--step", help="also give this step whole (with --json)")
        parser.add_argument("--json", action="store_true", help="the answer of /labs/SLUG.json")

    def handle(
        self, *, slug: str, view: str | None, given: list[str], model_config: str | None, step: str | None, json: bool,
        **options: Any,
    ) -> None:
        if (lab := LABS.get(slug)) is None:
            raise CommandError(f"There is no lab called {slug}; there are {', '.join(LABS)}.")
        if view and view not in (names := [each.name for each in lab.views]):
            raise CommandError(f"{slug} has no view called {view}; it has {', '.join(names)}.")
        chosen = lab.view(view)
        values = chosen.gathered(model_values(chosen, model_config) | dict(pair_of(text) for text in given))
        if unknown := set(values) - set(chosen.form.base_fields):
            has = ", ".join(chosen.form.base_fields)
            raise CommandError(f"{slug} has no input called {', '.join(sorted(unknown))}; it has {has}.")
        said = answer(chosen, values, step)
        if json:
            self.stdout.write(as_json(said))
        elif not said["faults"]:
            self.stdout.write("\n".join((chosen.tell or in_lines)(chosen.run(values)[1])))
        if said["faults"]:
            raise CommandError("\n".join(told(said["faults"])))


def model_values(view: View, path: str | None) -> dict[str, str]:
    """The view's input for the model that the file at that path describes; nothing without a path."""
    if path is None:
        return {}
    if MODEL_PASTE not in view.pastes:
        raise CommandError("This view asks for no model, so it takes no --model-config.")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise CommandError(f"{path} can't be read: {getattr(fault, 'strerror', None) or 'it is no text'}.") from None
    read = MODEL_PASTE.read(text)
    if read.faults:
        raise CommandError("\n".join(read.faults))
    return {name: value for name, value in read.values.items() if name in view.form.base_fields}


def pair_of(text: str) -> tuple[str, str]:
    """"name=value" in its two parts."""
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"--set takes NAME=VALUE, not {text!r}.")
    return name.strip(), value


def as_json(said: dict[str, Any]) -> str:
    return json.dumps(said, ensure_ascii=False, indent=1)
