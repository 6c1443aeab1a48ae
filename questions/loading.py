"""The bank's files and its rows: loaded, exported, checked. Files are the source; an admin's edit is respected."""
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from django.db import transaction
from django.urls import Resolver404, resolve

from calculators.labs import LABS
from questions.checking import check, texts_of
from questions.content import Act, BadFile, Fault, QuestionFile, decide, digest, dump, parse
from questions.figures import FIGURE
from questions.markup import links
from questions.models import Note, Question, Topic
from questions.notes import NoteFile, check_note, parse_deck, with_note
from questions.posing import absurd, misjudged, shown_figures
from questions.runs import Drawn, draw, play
from questions.services import column_of, document_of, posed_with, run_lab

FOLDER = Path(__file__).resolve().parent / "bank"
DRAWS = 200


class BadBank(ValueError):
    """Files that can't be loaded; `faults` holds them all by the file's path inside the bank."""

    def __init__(self, faults: Mapping[str, list[str]]) -> None:
        super().__init__("\n".join(f"{path}: {one}" for path, sentences in faults.items() for one in sentences))
        self.faults = dict(faults)


@dataclass(frozen=True, slots=True)
class TopicFile:
    """A topic of bank/topics.toml: its title, and its questions in the order shown."""

    slug: str
    title: str
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bank:
    """Everything the files say: the topics in order, and the questions and number cards by slug, these in order."""

    topics: tuple[TopicFile, ...]
    questions: dict[str, QuestionFile] = field(default_factory=dict)
    notes: dict[str, NoteFile] = field(default_factory=dict)

    @property
    def documents(self) -> dict[str, QuestionFile | NoteFile]:
        return {**self.questions, **self.notes}

    def path(self, slug: str) -> str:
        """The file that holds a document, as the reports name it."""
        document = self.documents[slug]
        return f"deck/{document.topic}.toml" if slug in self.notes else f"{document.topic}/{slug}.md"

    def position(self, document: QuestionFile | NoteFile) -> int:
        """Its place in its topic, from 1: a note's in its deck, a question's in topics.toml, and one that is not listed
        there comes after those that are."""
        if isinstance(document, NoteFile):
            return 1 + [slug for slug, note in self.notes.items() if note.topic == document.topic].index(document.slug)
        listed = next((topic.questions for topic in self.topics if topic.slug == document.topic), ())
        of_topic = sorted(slug for slug, one in self.questions.items() if one.topic == document.topic)
        return 1 + [*listed, *(slug for slug in of_topic if slug not in listed)].index(document.slug)


def read_bank(folder: Path = FOLDER) -> Bank:
    """The bank as its files have it, with the deck beside its folder. Raises BadBank with every fault of every file."""
    faults: dict[str, list[str]] = {}
    questions: dict[str, QuestionFile] = {}
    topics: tuple[TopicFile, ...] = ()
    try:
        topics = read_topics(folder)
    except (OSError, KeyError, TypeError, ValueError) as fault:
        faults["topics.toml"] = [f"It can't be read: {fault}"]
    known = {topic.slug for topic in topics}
    for path in sorted(folder.glob("*/*.md")):
        name = f"{path.parent.name}/{path.name}"
        document, found = read_file(path)
        if document and topics and document.topic not in known:
            found.append(f"topics.toml has no topic “{document.topic}”.")
        if document and document.slug in questions:
            found.append(f"The slug is taken by {questions[document.slug].topic}/{path.name}.")
        if found:
            faults[name] = found
        elif document:
            questions[document.slug] = document
    notes, odd = read_decks(deck_of(folder), {topic.slug for topic in topics}, questions)
    faults |= odd
    if not faults:
        faults = listing_faults(topics, questions, read_checks(folder)) | card_faults(folder, questions, notes)
    if faults:
        raise BadBank(faults)
    return Bank(topics, questions, notes)


def deck_of(folder: Path) -> Path:
    """The folder of the number cards that belong to a bank's folder."""
    return folder.parent / "deck"


def read_decks(
    folder: Path, topics: Iterable[str], questions: Mapping[str, QuestionFile]
) -> tuple[dict[str, NoteFile], dict[str, list[str]]]:
    """The notes of all decks by slug, in each deck's order, and the faults by file. A slug is free for one of them."""
    notes: dict[str, NoteFile] = {}
    faults: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.toml")):
        found = [] if path.stem in topics else [f"topics.toml has no topic “{path.stem}”."]
        try:
            text = path.read_text(encoding="utf-8")
            deck = parse_deck(text, path.stem)
        except BadFile as bad:
            deck, found = [], found + [in_file(fault, text) for fault in bad.faults]
        except (OSError, UnicodeDecodeError) as fault:
            deck, found = [], [*found, f"It can't be read: {fault}"]
        for note in deck:
            found += [f"{note.slug}, {fault}" for fault in check_note(note, run_lab)]
            if note.slug in questions:
                found.append(f"{note.slug}: The slug is taken by {questions[note.slug].topic}/{note.slug}.md.")
            elif note.slug in notes:
                found.append(f"{note.slug}: The slug is taken by another card.")
            notes.setdefault(note.slug, note)
        if found:
            faults[f"deck/{path.name}"] = found
    return notes, faults


def read_topics(folder: Path) -> tuple[TopicFile, ...]:
    """The topics of topics.toml."""
    document = tomllib.loads((folder / "topics.toml").read_text(encoding="utf-8"))
    return tuple(TopicFile(t["slug"], t["title"], tuple(t.get("questions", ()))) for t in document["topics"])


def read_checks(folder: Path = FOLDER) -> tuple[str, ...]:
    """The slugs of the staff-level checks, the quiz that everybody can take, in the order asked."""
    return tuple(tomllib.loads((folder / "topics.toml").read_text(encoding="utf-8")).get("checks", ()))


@lru_cache(maxsize=4)
def read_cards(folder: Path = FOLDER) -> Mapping[str, list[str]]:
    """The number cards that each question leans on, {question: [notes]}, by slugs."""
    path = folder / "cards.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_file(path: Path) -> tuple[QuestionFile | None, list[str]]:
    """One file's question and its faults in words, with the line each was seen in."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        document = parse(text, path.parent.name, path.stem)
    except BadFile as bad:
        return None, [in_file(fault, text) for fault in bad.faults]
    except (OSError, UnicodeDecodeError) as fault:
        return None, [f"It can't be read: {fault}"]
    return document, [in_file(fault, text) for fault in check(document, run_lab)]


def in_file(fault: Fault, text: str) -> str:
    """The fault with the number of the first line that shows it."""
    line = text[:text.index(fault.snippet)].count("\n") + 1 if fault.snippet and fault.snippet in text else 0
    return f"line {line}, {fault}" if line else str(fault)


def listing_faults(
    topics: Iterable[TopicFile], questions: Mapping[str, QuestionFile], checks: Iterable[str]
) -> dict[str, list[str]]:
    """Slugs that topics.toml or a question's `next` names and that no file has, and checks without options."""
    faults: dict[str, list[str]] = {}
    for slug in checks:
        if slug not in questions or not questions[slug].options:
            faults.setdefault("topics.toml", []).append(f"checks: there is no question “{slug}” with options.")
    for topic in topics:
        for slug in topic.questions:
            if slug not in questions or questions[slug].topic != topic.slug:
                faults.setdefault("topics.toml", []).append(f"There is no file {topic.slug}/{slug}.md.")
    for slug, document in questions.items():
        for other in document.next:
            if other not in questions:
                faults.setdefault(f"{document.topic}/{slug}.md", []).append(f"next: there is no question “{other}”.")
    return faults


def card_faults(
    folder: Path, questions: Mapping[str, QuestionFile], notes: Mapping[str, NoteFile]
) -> dict[str, list[str]]:
    """Slugs that cards.toml names and that no file has."""
    try:
        cards = read_cards(folder)
    except (OSError, ValueError) as fault:
        return {"cards.toml": [f"It can't be read: {fault}"]}
    found = [f"There is no question “{slug}”." for slug in cards if slug not in questions]
    found += [f"There is no number card “{slug}”." for some in cards.values() for slug in some if slug not in notes]
    return {"cards.toml": found} if found else {}


@transaction.atomic
def load_bank(bank: Bank, take: Iterable[str] = ()) -> dict[str, Act]:
    """Bring the rows up to date with the files, and say what was done with each question and number card; `take`
    settles conflicts for the file. Loading twice changes nothing."""
    for position, topic in enumerate(bank.topics, 1):
        Topic.objects.update_or_create(slug=topic.slug, defaults={"title": topic.title, "position": position})
    topics = {topic.slug: topic for topic in Topic.objects.all()}
    rows: dict[str, Question | Note] = {}
    for found in (Question.objects.all(), Note.objects.filter(owner=None)):
        rows |= {row.slug: row for row in found.select_for_update(of=("self",)).select_related("topic")}
    acts = {}
    for slug in sorted(bank.documents.keys() | rows.keys()):
        document, row = bank.documents.get(slug), rows.get(slug)
        file_digest = digest(document) if document else None
        row_digest = digest(document_of(row)) if row else None
        act = decide(file_digest, row_digest, row.loaded_digest if row else "")
        if slug in take and act in (Act.CONFLICT, Act.KEEP_EDIT):
            act = Act.UPDATE
        acts[slug] = carry_out(act, bank, document, row, topics)
    return acts


def carry_out(
    act: Act, bank: Bank, document: QuestionFile | NoteFile | None, row: Question | Note | None,
    topics: Mapping[str, Topic],
) -> Act:
    """Do what was decided for one question or number card."""
    if document is None:
        if act is Act.RETIRE and row.retired:
            return Act.NOTHING
        if act is Act.RETIRE:
            row.retired = True
            row.save(update_fields=["retired"])
        return act
    row = row or (Note if isinstance(document, NoteFile) else Question)(slug=document.slug)
    if act in (Act.CREATE, Act.UPDATE):
        write_row(row, document, topics[document.topic])
    if act in (Act.CREATE, Act.UPDATE, Act.CAME_HOME):
        row.loaded_digest = digest(document)
    row.retired, row.position = False, bank.position(document)
    row.save()
    return act


def write_row(row: Question | Note, document: QuestionFile | NoteFile, topic: Topic) -> None:
    """Put the document into the row; saving is the caller's."""
    row.topic = topic
    for name, value in asdict(document).items():
        if name != "topic":
            setattr(row, column_of(name), value)


def edited(row: Question | Note) -> bool:
    """Whether the row holds something that no file gave it."""
    return digest(document_of(row)) != row.loaded_digest


def export_row(row: Question | Note, folder: Path = FOLDER) -> tuple[Path, bool]:
    """Write the row's file, a note into its deck; returns the path and whether it was written (a file that says the
    same already stays)."""
    if isinstance(row, Note):
        return export_note(row, deck_of(folder))
    return export_question(row, folder)


def export_note(row: Note, folder: Path) -> tuple[Path, bool]:
    """Put the row's note into its deck and leave the deck's other notes as they are written."""
    note = document_of(row)
    path = folder / f"{note.topic}.toml"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if any(digest(other) == digest(note) for other in parse_deck(text, note.topic)):
        return path, False
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(with_note(text, note), encoding="utf-8")
    return path, True


def export_question(row: Question, folder: Path = FOLDER) -> tuple[Path, bool]:
    """Write the row's file; returns its path and whether it was written (a file that says the same already stays)."""
    document = document_of(row)
    path = folder / document.topic / f"{document.slug}.md"
    try:
        if digest(parse(path.read_text(encoding="utf-8"), document.topic, document.slug)) == digest(document):
            return path, False
    except (OSError, BadFile):
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(document), encoding="utf-8")
    return path, True


@dataclass(frozen=True, slots=True)
class Report:
    """What check_bank found: faults by file, counts, and of each question that varies how many draws were redrawn."""

    faults: dict[str, list[str]]
    counts: dict[str, int]
    redrawn: dict[str, int]


def check_bank(bank: Bank, draws: int = DRAWS) -> Report:
    """What a load does not check: links inside the site, and `draws` draws of each question that varies, or one of the
    file's own values: that each reads, is judged as it should be, and can be."""
    faults: dict[str, list[str]] = {}
    redrawn: dict[str, int] = {}
    for slug, document in bank.questions.items():
        thrown, odd = try_draws(document, draws)
        found = [*map(str, dead_links(document)), *odd]
        if any(run.get("vary") for run in document.runs.values()):
            redrawn[slug] = thrown
        if found:
            faults[f"{document.topic}/{slug}.md"] = found
    documents = bank.questions.values()
    counts = {
        "questions": len(documents),
        "number cards": len(bank.notes),
        "figures": sum(len(FIGURE.findall(text)) for document in documents for _, text in texts_of(document)),
        "rubric points": sum(len(document.rubric) for document in documents),
        "sources": sum(len(document.sources) for document in documents),
        "draws": draws * len(redrawn),
    }
    return Report(faults, counts, redrawn)


def dead_links(document: QuestionFile) -> list[Fault]:
    """The links to pages of this site that do not exist."""
    return [
        Fault(where, f"the link {link} leads nowhere.")
        for where, text in texts_of(document) for link in links(text)
        if link.startswith("/") and not leads_somewhere(link)
    ]


def leads_somewhere(link: str) -> bool:
    """Whether an address of this site has a page; a lab's must be one of ours."""
    try:
        match = resolve(re.split(r"[?#]", link)[0])
    except Resolver404:
        return False
    return match.view_name != "calculators:lab_page" or match.kwargs["slug"] in LABS


def try_draws(document: QuestionFile, draws: int) -> tuple[int, list[str]]:
    """How many draws had to be thrown away, and what went wrong in those that stood; a question that doesn't vary is
    tried with its file's own values."""
    row = Question(slug=document.slug)
    write_row(row, document, Topic(slug=document.topic))
    own, figures = play(document.runs, {}, run_lab), shown_figures(document)
    varies = any(run.get("vary") for run in document.runs.values())
    redrawn, faults = 0, []
    for seed in range(draws if varies else 1):
        drawn: Drawn = {}
        try:
            drawn, ran, thrown = draw(document.runs, document.keep, seed, run_lab) if varies else ({}, own, 0)
            redrawn += thrown
            posed = posed_with(row, drawn, ran)
        except ValueError as fault:
            faults.append(f"draw {seed}, {drawn}: {fault}")
            continue
        if varies and not drawn:
            faults.append(f"draw {seed}: nothing that can be drawn keeps what the prose relies on.")
            continue
        found = [*absurd(figures, ran, own), *(misjudged(posed.check, posed.slips) if posed.check else ())]
        faults += [f"draw {seed}, {drawn}: {sentence}" for sentence in found]
    return redrawn, faults
