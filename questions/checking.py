"""What must hold of a question before it is loaded or saved: every fault at once, each with where and why."""
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from calculators.models.base import Refusal
from calculators.models.quantity import unit_of
from questions.content import ARRAYS, HEADINGS, TEXTS, Fault, QuestionFile
from questions.figures import FIGURE, BadFigure, Ran, resolve, show
from questions.markup import LINES, MARK, unsafe
from questions.runs import RunLab, broken, in_order, play_one, reference

KINDS = ("explain", "size", "trace", "diagnose", "decide")
LEVELS = ("senior", "staff", "principal")
RUN_KEYS = ("lab", "view", "shown", "values", "vary")
CHECK_KEYS = ("figure", "unit", "tolerance")
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NAME = re.compile(r"[a-z][a-z0-9_]*")


def check(document: QuestionFile, run_lab: RunLab) -> list[Fault]:
    """Every fault of a question, none when it is right; `run_lab` runs a view of a lab and raises Refusal."""
    faults = [*check_head(document), *check_arrays(document), *check_runs(document)]
    shape_holds = not any(fault.field == "runs" for fault in faults)
    ran, refused = played(document, run_lab) if shape_holds else ({}, [])
    faults += refused
    if ran or (shape_holds and not document.runs):
        faults += [*check_keep(document, ran), *check_check(document, ran), *check_figures(document, ran)]
    return faults + [*check_marks(document), *check_markdown(document)]


def texts_of(document: QuestionFile) -> Iterator[tuple[str, str]]:
    """Every text of the question that is shown, with where it stands."""
    for name in TEXTS:
        yield name, getattr(document, name)
    for array, (needed, _) in ARRAYS.items():
        for number, entry in enumerate(getattr(document, array), 1):
            for key in needed:
                if key != "id" and isinstance(entry, dict) and isinstance(entry.get(key), str):
                    yield f"{array} {number}, {key}", entry[key]


def not_among(given: str, allowed: tuple[str, ...]) -> str:
    """The sentence for a word that is none of those allowed, or for none at all."""
    words = ", ".join(allowed)
    return f"“{given}” is none of {words}." if given else f"Nothing is chosen: it is one of {words}."


def check_head(document: QuestionFile) -> Iterator[Fault]:
    """What every question must have."""
    for name in ("topic", "slug"):
        if not SLUG.fullmatch(given := getattr(document, name)):
            said = f"“{given}” is no slug" if given else "There is no slug"
            yield Fault(name, f"{said}: small letters, digits and single hyphens.")
    if not document.title or len(document.title) > 160 or "[[" in document.title:
        yield Fault("title", "A title has 1 to 160 characters and no figure.", "title")
    if document.kind not in KINDS:
        yield Fault("kind", not_among(document.kind, KINDS), "kind")
    if document.level not in LEVELS:
        yield Fault("level", not_among(document.level, LEVELS), "level")
    if not 1 <= document.minutes <= 60:
        yield Fault("minutes", "A good answer takes 1 to 60 minutes.", "minutes")
    for name in TEXTS:
        if not getattr(document, name).strip() and name != "derivation":
            heading = next((heading for heading, key in HEADINGS.items() if key == name), "the ask")
            yield Fault(name, f"The part is missing: {heading}.")
        if found := re.search(r"^##[ ].*$", getattr(document, name), re.MULTILINE):
            yield Fault(name, "A heading inside a part takes ### (## begins a part).", found[0])
    for slug in document.next:
        if not isinstance(slug, str) or not SLUG.fullmatch(slug):
            yield Fault("next", f"“{slug}” is no slug.", str(slug))


def check_arrays(document: QuestionFile) -> Iterator[Fault]:
    """The entries of the arrays, each with its keys, and what holds among them."""
    for array, (needed, allowed) in ARRAYS.items():
        for number, entry in enumerate(getattr(document, array), 1):
            yield from check_entry(f"{array} {number}", entry, needed, allowed)
        ids = [entry.get("id") for entry in getattr(document, array) if isinstance(entry, dict) and "id" in needed]
        for twice in sorted({str(name) for name in ids if ids.count(name) > 1}):
            yield Fault(array, f"The id “{twice}” stands there twice.", twice)
    if not 4 <= len(document.rubric) <= 8:
        yield Fault("rubric", f"It has {len(document.rubric)} points; a rubric has 4 to 8.", "rubric")
    if document.options and sum(o.get("right") is True for o in document.options if isinstance(o, dict)) != 1:
        yield Fault("options", "One option is right, and only one.", "options")
    for number, source in enumerate(document.sources, 1):
        if isinstance(source, dict):
            yield from check_source(f"sources {number}", source)


def check_entry(where: str, entry: Any, needed: tuple[str, ...], allowed: tuple[str, ...]) -> Iterator[Fault]:
    """One entry of an array: all the keys it needs, no other, each a text (`right` is true or false)."""
    if not isinstance(entry, dict):
        yield Fault(where, "It is a table with keys.")
        return
    for key in needed:
        if not entry.get(key):
            yield Fault(f"{where}, {key}", "It is missing.")
    for key, value in entry.items():
        if key not in (*needed, *allowed):
            yield Fault(f"{where}, {key}", "There is no such key.", key)
        elif not isinstance(value, bool if key == "right" else str):
            yield Fault(f"{where}, {key}", f"It takes {'true or false' if key == 'right' else 'a text'}.", str(value))
    if "id" in needed and isinstance(entry.get("id"), str) and not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", entry["id"]):
        yield Fault(f"{where}, id", "An id takes letters, digits, - and _, 40 at most.", entry["id"])


def check_source(where: str, source: Mapping[str, Any]) -> Iterator[Fault]:
    """A source is a file or an address, and says as of when."""
    if bool(source.get("file")) == bool(source.get("url")):
        yield Fault(where, "It names a file or a url, one of them.", str(source.get("id", "")))
    if not source.get("version") and not source.get("date"):
        yield Fault(where, "It carries a version, or a date for a page or paper.", str(source.get("id", "")))
    if source.get("url") and not re.match(r"https?://[^/\s]+", str(source["url"])):
        yield Fault(f"{where}, url", "It begins with https://.", str(source["url"]))
    if source.get("date") and not re.fullmatch(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?", str(source["date"])):
        yield Fault(f"{where}, date", "A date is written 2026-11-29, 2026-11 or 2026.", str(source["date"]))


def check_runs(document: QuestionFile) -> Iterator[Fault]:
    """The shape of the runs: their keys, what varies, and which one opens the lab."""
    for name, run in document.runs.items():
        where = f"runs.{name}"
        if not NAME.fullmatch(name):
            yield Fault(where, "A run's name takes small letters, digits and _.", name)
        if not isinstance(run, dict):
            yield Fault(where, "It is a table with a lab and its values.", name)
            continue
        yield from (Fault(f"{where}.{key}", "There is no such key.", key) for key in run if key not in RUN_KEYS)
        if not isinstance(run.get("lab"), str):
            yield Fault(f"{where}.lab", "It names a lab.", name)
        if not isinstance(run.get("view", ""), str) or not isinstance(run.get("shown", False), bool):
            yield Fault(where, "`view` is a text and `shown` true or false.", name)
        values = run.get("values", {})
        if not isinstance(values, dict) or any(isinstance(value, (list, dict)) for value in values.values()):
            yield Fault(f"{where}.values", "It is a table of inputs, each one number or text.", name)
        yield from check_vary(f"{where}.vary", run.get("vary", {}))
    shown = [name for name, run in document.runs.items() if isinstance(run, dict) and run.get("shown") is True]
    if len(document.runs) > 1 and len(shown) != 1:
        yield Fault("runs", "Of several runs one is marked shown = true: the lab that opens.", "[runs.")


def check_vary(where: str, vary: Any) -> Iterator[Fault]:
    """What varies: a table of lists and ranges, or an array of such tables, whose rows may also hold single values."""
    for table in vary if isinstance(vary, list) else [vary]:
        if not isinstance(table, dict):
            yield Fault(where, "It is a table, or an array of tables.", "vary")
            continue
        for name, options in table.items():
            if isinstance(options, dict):
                numbers = all(is_number(options.get(key, 1)) for key in ("from", "to", "step"))
                if not {"from", "to"} <= set(options) <= {"from", "to", "step"} or not numbers:
                    yield Fault(f"{where}.{name}", "A range is {from, to, step}, in numbers.", name)
                elif options["from"] > options["to"] or options.get("step", 1) <= 0:
                    yield Fault(f"{where}.{name}", "A range goes upwards, by a step above 0.", name)
            elif options == []:
                yield Fault(f"{where}.{name}", "The list to draw from is empty.", name)
            elif not isinstance(options, list) and not isinstance(vary, list):
                yield Fault(f"{where}.{name}", "It is a list to draw from, or a range {from, to, step}.", name)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def played(document: QuestionFile, run_lab: RunLab) -> tuple[dict[str, Ran], list[Fault]]:
    """The runs with the file's own values, none on a refusal, and the faults of all of them."""
    ran: dict[str, Ran] = {}
    faults = []
    try:
        order = in_order(document.runs)
    except BadFigure as fault:
        return {}, [Fault("runs", str(fault))]
    for name in order:
        values = document.runs[name].get("values", {})
        missing = {path.split(".")[0] for value in values.values() if (path := reference(value))} - set(ran)
        if missing & set(document.runs):
            continue  # it hangs on a run that has a fault of its own
        try:
            ran[name] = play_one(document.runs[name], {}, ran, run_lab)
        except (Refusal, BadFigure) as fault:
            faults.append(Fault(f"runs.{name}", str(fault), f"[runs.{name}"))
            continue
        faults += check_names(document, name, ran[name])
    return ({} if faults else ran), faults


def check_names(document: QuestionFile, name: str, ran: Ran) -> Iterator[Fault]:
    """What varies must be an input."""
    vary = document.runs[name].get("vary", {})
    for table in vary if isinstance(vary, list) else [vary]:
        for key in table:
            if key not in ran.inputs:
                yield Fault(f"runs.{name}.vary", f"The lab has no input “{key}”.", key)


def check_keep(document: QuestionFile, ran: Mapping[str, Ran]) -> Iterator[Fault]:
    """What the prose relies on must be there, and hold for the file's own values."""
    for path, wanted in document.keep.items():
        try:
            if broken({path: wanted}, ran):
                yield Fault("keep", f"“{path}” is {resolve(path, ran)!r} with the file's own values.", path)
        except BadFigure as fault:
            yield Fault("keep", str(fault), path)
        except TypeError:
            yield Fault("keep", f"“{path}” can't be compared with {wanted!r}.", path)


def check_check(document: QuestionFile, ran: Mapping[str, Ran]) -> Iterator[Fault]:
    """What is asked for: a number in a unit that can be read, or a map of whole numbers."""
    if not document.check:
        return
    yield from (Fault(f"check.{key}", "There is no such key.", key) for key in document.check if key not in CHECK_KEYS)
    tolerance = document.check.get("tolerance", 0)
    if not is_number(tolerance) or not 0 <= tolerance <= 1:
        yield Fault("check.tolerance", "It is a fraction, 0 to 1.", "tolerance")
    figure = str(document.check.get("figure", ""))
    try:
        value = resolve(figure, ran)
    except BadFigure as fault:
        yield Fault("check.figure", str(fault), figure)
        return
    if isinstance(value, Mapping):
        if not value or not all(isinstance(item, int) for item in value.values()) or tolerance:
            yield Fault("check.figure", "A map is of whole numbers, with tolerance 0.", figure)
    elif not is_number(value):
        yield Fault("check.figure", f"“{figure}” is neither a number nor a map.", figure)
    elif not isinstance(document.check.get("unit"), str):
        yield Fault("check.unit", "A number has a unit (\"\" for a plain one).", "check")
    elif re.search(r"[0-9/ ]", document.check["unit"]) and unit_of(document.check["unit"]) is None:
        yield Fault("check.unit", f"The unit “{document.check['unit']}” can't be read.", document.check["unit"])


def check_figures(document: QuestionFile, ran: Mapping[str, Ran]) -> Iterator[Fault]:
    """Every figure in every text is shown as it will be, those of a draw excepted."""
    for where, text in texts_of(document):
        alone = {found.start() for found in LINES.finditer(text)} if where == "derivation" else set()
        for found in FIGURE.finditer(text):
            try:
                if re.fullmatch(r"\[\[[a-z0-9_.]+\.lines\]\]", found[0]):
                    if text.rfind("\n", 0, found.start()) + 1 not in alone:
                        raise BadFigure(f"“{found[0]}” stands alone in its line, in the derivation.")
                    resolve(found["path"], ran)
                else:
                    show(found[0], ran)
            except BadFigure as fault:
                yield Fault(where, str(fault), found[0])
        if FIGURE.sub("", text).count("[["):
            yield Fault(where, "A figure is not closed; it is written [[run.path|format]].", "[[")


def check_marks(document: QuestionFile) -> Iterator[Fault]:
    """Every source mark names a source."""
    known = {str(source.get("id")) for source in document.sources if isinstance(source, dict)}
    for where, text in texts_of(document):
        for found in MARK.finditer(text):
            if found["id"] not in known:
                yield Fault(where, f"There is no source “{found['id']}”.", found[0])


def check_markdown(document: QuestionFile) -> Iterator[Fault]:
    """Every text shows whole: no raw HTML, no picture, no link of an odd kind."""
    for where, text in texts_of(document):
        yield from (Fault(where, sentence) for sentence in unsafe(text))
