"""Search: one table of what can be found, kept in step with bank, labs, flags, glossary and people's own cards, and
asked in one place.

The database's full text (FTS5 in SQLite, a tsvector in PostgreSQL) says which documents hold a word; how well each
answers is counted here, so that both databases give the same hits in the same order.
"""
import json
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from html import escape
from itertools import islice
from pathlib import Path

from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Length
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from accounts.models import User
from calculators.labs import LABS
from calculators.labs.base import Lab
from calculators.models.serve_flags import FLAGS, Flag
from calculators.models.serve_values import written
from calculators.models.serve_words import MEANINGS
from questions import access, formulas, glossary, markup, own, words
from questions.content import TEXTS
from questions.figures import FIGURE
from questions.models import Note, Question, SearchDocument, SearchWord
from questions.services import in_words, split_ask
from questions.words import Bag, Term

FILE = Path(__file__).resolve().parent / "bank" / "search.toml"
Kind = SearchDocument.Kind
SHOWN = {  # hits of each kind at first
    Kind.QUESTION: 5, Kind.OWN: 3, Kind.LAB: 3, Kind.FLAG: 3, Kind.NUMBER: 2, Kind.TERM: 2,
}
MOST_TEXT = 100
MOST_LETTERS = 60  # of a word that is kept
MOST_WEIGHED = 1_000  # of a person's own cards
AT_ONCE = 500  # of them
CODE = re.compile(r"`[^`]*`|\[\[.*?\]\]")
FAINT = 0.35  # of the best hit's score: what answers less than that is no hit
ALWAYS = 3  # but for so many
HOLDING = {
    "sqlite": "SELECT rowid FROM questions_searchtext WHERE questions_searchtext MATCH %s",
    "postgresql": "SELECT id FROM questions_searchdocument"
                  " WHERE array_to_tsvector(string_to_array(words, ' ')) @@ %s::tsquery",
}
AND, OR, QUOTED, BEGUN = {  # a stem holds letters and digits alone
    "sqlite": (" AND ", " OR ", '"%s"', '"%s"*'), "postgresql": (" & ", " | ", "'%s'", "'%s':*"),
}[connection.vendor]


@dataclass(frozen=True, slots=True)
class Words:
    """What candidates call things: groups of phrases that say one thing, and phrases by the question they ask for."""

    synonyms: tuple[tuple[str, ...], ...] = ()
    asked_as: dict[str, tuple[str, ...]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def field_words() -> Words:
    """The words of bank/search.toml."""
    return read_words(FILE)


def read_words(path: Path = FILE) -> Words:
    """The words of a file. Raises ValueError with a sentence when it can't be read as such."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := document.keys() - {"synonyms", "asked_as"}:
        raise ValueError(f"There is no such key: {', '.join(sorted(unknown))}.")
    groups = tuple(tuple(group) for group in document.get("synonyms", ()))
    if any(len(group) < 2 for group in groups):
        raise ValueError("A group of synonyms has two phrases or more.")
    return Words(groups, {slug: tuple(phrases) for slug, phrases in document.get("asked_as", {}).items()})


# What can be found


def documents() -> Iterator[SearchDocument]:
    """Everything that can be found but for people's own cards, as it stands now; not yet stored."""
    for question in Question.objects.select_related("topic"):
        yield of_question(question)
    for note in Note.objects.filter(owner=None).select_related("topic"):
        yield of_note(note)
    yield from map(of_lab, LABS.values())
    yield from map(of_flag, FLAGS)
    yield from map(of_term, glossary.terms().values())


def document(
    kind: Kind, slug: str, title: str, texts: dict[str, str], asked_as: Iterable[str] = (), digest: str = "",
    **more: object,
) -> SearchDocument:
    """A document found by `texts`, those of words.FIELDS, and by whole phrases that ask for it; its digest is of all
    that it says, where none is given."""
    laid = tuple(texts.get(name, "") for name in words.FIELDS)
    counts, lengths = words.counted(laid)
    counts = {word: count for word, count in counts.items() if len(word) <= MOST_LETTERS}
    more["phrases"] = [words.stems_of(phrase) for phrase in (title, *asked_as)]
    if not digest:
        said = repr((title, sorted(counts.items()), sorted((name, str(value)) for name, value in more.items())))
        digest = sha256(said.encode()).hexdigest()
    return SearchDocument(
        kind=kind, slug=slug, title=title, words=" ".join(sorted(counts)), counts=counts, lengths=lengths,
        digest=digest, **more,
    )


def of_question(question: Question) -> SearchDocument:
    """A question: found by all it says, shown by its title and what it asks."""
    arrays = ("rubric", "hints", "traps", "follow_ups", "options", "sources")
    entries = [entry for name in arrays for entry in getattr(question, name)]
    answer = [getattr(question, name) for name in TEXTS if name != "ask"]
    inside = [text for entry in entries for key, text in entry.items() if isinstance(text, str) and key != "id"]
    labs = [run.get("lab", "") for run in question.runs.values()]
    asked_as = field_words().asked_as.get(question.slug, ())
    bare = {name: FIGURE.sub(" ", markup.MARK.sub("", getattr(question, name))) for name in TEXTS}
    return document(
        Kind.QUESTION, question.slug, question.title,
        {
            "title": f"{question.title} {question.slug}",
            "asked_as": " ".join(asked_as),
            "ask": f"{bare['ask']} {' '.join(labs)}",
            "text": FIGURE.sub(" ", " ".join([*answer, *inside])),
        },
        asked_as, line=asked_line(question), about=f"{question.kind}, {question.topic.slug}", question=question,
        terms=sorted(glossary.named_in(CODE.sub(" ", " ".join([*bare.values(), *inside])))),
    )


def asked_line(question: Question) -> str:
    """What a question asks in plain words, with the figures of its file."""
    _, _, asked = split_ask(question.ask)
    return re.sub(r"[*`_]{1,2}(\S(?:.*?\S)?)[*`_]{1,2}", r"\1", " ".join(in_words(question, asked).split()))


def of_note(note: Note) -> SearchDocument:
    """A number card: found and shown by what it asks. Its value is said on the card alone."""
    ask = re.sub(r"`(.*?)`", r"\1", note.ask)
    return document(
        Kind.NUMBER, note.slug, ask, {"title": ask, "ask": f"{note.cue} {note.calc.get('lab', '')}"},
        line="said on the card, not here", about=note.topic.slug, note=note,
    )


def of_own(note: Note) -> SearchDocument:
    """A person's own card: found by all it says, shown by what it asks, its gaps left open."""
    front = note.front or note.ask
    asked = own.asked_line(front) if note.kind == Note.Kind.CLOZE else note.ask
    return document(
        Kind.OWN, note.slug, asked,
        {"title": asked, "ask": f"{own.filled(front)} {' '.join(note.tags)}", "text": note.back},
        digest=own_rules(),  # it is stored with its note, so that only other rules make it another
        about=note.topic.slug if note.topic else "yours", note=note,
    )


@lru_cache(maxsize=1)
def own_rules() -> str:
    """What an own card's document was made by: a digest of the code that does it."""
    rules = (words, own, formulas, sys.modules[__name__])
    return sha256(b"".join(Path(module.__file__).read_bytes() for module in rules)).hexdigest()


def of_lab(lab: Lab) -> SearchDocument:
    """A lab: its name, its line, and what its views can be set to."""
    fields = [(name, field) for view in lab.views for name, field in view.form.base_fields.items()]
    knobs = [f"{name} {field.label or ''} {field.help_text or ''}" for name, field in fields]
    presets = [preset.name for view in lab.views for preset in view.presets]
    return document(
        Kind.LAB, lab.slug, lab.slug,
        {"title": f"{lab.slug} {lab.title}", "ask": f"{lab.line} {' '.join(presets)}", "text": " ".join(knobs)},
        line=lab.line, about=lab.topic,
    )


def of_flag(flag: Flag) -> SearchDocument:
    """A flag of `vllm serve`: its names, what it means where we say so, and its default."""
    meaning = MEANINGS.get(flag.dest, "")
    default = ""
    if isinstance(flag.default, bool):
        default = f"{'on' if flag.default else 'off'} by default"
    elif flag.default not in (None, ""):
        default = f"{written(flag.default)} by default"
    line = ", ".join(part for part in (meaning, default) if part) or f"set in {flag.section}"
    choices = " ".join(str(choice) for choice in flag.choices)
    return document(
        Kind.FLAG, flag.name.removeprefix("--"), flag.name,
        {"title": " ".join(flag.names), "ask": f"{meaning} default flag", "text": f"{flag.section} {choices}"},
        line=line, about="serve-command",
    )


def of_term(term: glossary.Term) -> SearchDocument:
    """A term of the glossary, shown by its first sentence."""
    return document(
        Kind.TERM, term.slug, term.name, {"title": " ".join(term.names), "ask": term.text},
        line=re.sub(r"`(.*?)`", r"\1", term.first),
    )


@transaction.atomic
def rebuild() -> int:
    """Bring the table in step with what can be found; returns how many documents had changed."""
    now = {(one.kind, one.slug): one for one in documents()}
    bank = SearchDocument.objects.exclude(kind=Kind.OWN)
    held = {(kind, slug): (pk, digest) for pk, kind, slug, digest in bank.values_list("pk", "kind", "slug", "digest")}
    changed = [one for key, one in now.items() if held.get(key, (0, ""))[1] != one.digest]
    gone = [pk for key, (pk, _) in held.items() if key not in now]
    spoken = synonym_words()
    if changed or gone or SearchWord.objects.filter(word__in=spoken).count() < len(spoken):
        SearchDocument.objects.filter(pk__in=gone).delete()
        SearchWord.objects.all().delete()
        store(changed)
        learn_words(now.values())
    up_to_date = SearchDocument.objects.filter(note=OuterRef("pk"), kind=Kind.OWN, digest=own_rules())
    others = list(Note.objects.filter(~Exists(up_to_date), owner__isnull=False).values_list("pk", flat=True))
    for at in range(0, len(others), AT_ONCE):
        refresh_own(Note.objects.filter(pk__in=others[at:at + AT_ONCE]).select_related("topic"))
    return len(changed) + len(gone) + len(others)


@transaction.atomic
def refresh(row: Question | Note) -> None:
    """Bring the document of one question, number card or own card in step with it."""
    if isinstance(row, Note) and row.owner_id:
        refresh_own([row])
        return
    one = of_note(row) if isinstance(row, Note) else of_question(row)
    store([one])
    learn_words([one])


@transaction.atomic
def refresh_own(notes: Iterable[Note]) -> None:
    """Bring the documents of these own cards in step with them. Their words stay between them and their person: what
    somebody else's slip is read as tells nothing of them."""
    documents = map(of_own, notes)
    while some := list(islice(documents, AT_ONCE)):
        store(some)


def store(changed: list[SearchDocument]) -> None:
    """Write these documents over those of their kind and slug."""
    parts = [one.name for one in SearchDocument._meta.fields if one.name not in ("id", "kind", "slug")]
    SearchDocument.objects.bulk_create(
        changed, update_conflicts=True, unique_fields=["kind", "slug"], update_fields=parts, batch_size=100)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            keys = json.dumps([(one.kind, one.slug) for one in changed])
            cursor.execute("INSERT OR REPLACE INTO questions_searchtext (rowid, words) SELECT id, words"
                           " FROM questions_searchdocument WHERE (kind, slug) IN"
                           " (SELECT value ->> 0, value ->> 1 FROM json_each(%s))", [keys])
            cursor.execute("DELETE FROM questions_searchtext WHERE rowid NOT IN"
                           " (SELECT id FROM questions_searchdocument)")


def learn_words(found: Iterable[SearchDocument]) -> None:
    """Add the words that a slip may be read as: those of what anybody may find, and of what things are called."""
    counts: Counter[str] = Counter()
    for one in found:
        if one.question and (one.question.draft or one.question.retired):
            continue
        texts = [one.title, one.slug, one.line]
        if one.question:
            texts += [getattr(one.question, name) for name in TEXTS]
            texts += field_words().asked_as.get(one.slug, ())
        said = {word for text in texts for word in words.words_of(FIGURE.sub(" ", text))}
        counts.update(word for word in said if len(word) <= MOST_LETTERS)
    counts.update(synonym_words())
    SearchWord.objects.bulk_create(
        [SearchWord(word=word, stem=words.stem(word), count=count) for word, count in counts.items()],
        ignore_conflicts=True, batch_size=300)


def synonym_words() -> set[str]:
    """The words of all synonyms."""
    return {word for group in field_words().synonyms for phrase in group for word in words.words_of(phrase)}


# Finding


@dataclass(frozen=True, slots=True)
class Hit:
    """A document found, with the words that were looked for to be marked in it."""

    document: SearchDocument
    stems: frozenset[str]

    @property
    def title(self) -> SafeString:
        return marked(self.document.title, self.stems)

    @property
    def line(self) -> SafeString:
        return marked(self.document.line, self.stems)

    @property
    def address(self) -> str:
        return address_of(self.document)


@dataclass(frozen=True, slots=True)
class Group:
    """The hits of one kind, those shown and how many there are."""

    kind: str
    hits: list[Hit]
    total: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to. `read_as` is the text as it was understood, empty where that is as typed."""

    text: str
    groups: list[Group]
    read_as: str = ""
    of: str = ""

    @property
    def shown(self) -> int:
        return sum(len(group.hits) for group in self.groups)

    @property
    def total(self) -> int:
        return sum(group.total for group in self.groups)

    @property
    def questions(self) -> list[str]:
        """The slugs of the questions found, the best first."""
        return [hit.document.slug for group in self.groups if group.kind == Kind.QUESTION for hit in group.hits]


def find(user: User, text: str, of: str = "") -> Found:
    """What a person finds by a text, the best of each kind; with `of` all of that kind.

    Drafts, what is retired and what is kept from this person are not found.
    """
    text = " ".join(text.replace("\0", "").split())[:MOST_TEXT]
    of = of if of in Kind.values else ""
    typed = words.words_of(text)
    if not typed:
        return Found(text, [], of=of)
    slips, begun = meant_by(user, typed)
    terms = words.terms_of(text, field_words().synonyms, slips | begun)
    by_kind: dict[str, list[SearchDocument]] = defaultdict(list)
    for one in visible(user).filter(pk__in=holding(any_of(terms))).defer("words", "terms", "digest"):
        by_kind[one.kind].append(one)
    by_kind[Kind.OWN] = own_holding(user, terms)
    totals = dict(SearchDocument.objects.filter(kind__in=SHOWN.keys() - {Kind.OWN}).values_list("kind")
                  .annotate(Count("pk")))
    if by_kind[Kind.OWN]:
        totals[Kind.OWN] = access.notes_for(user).filter(owner=user).count()
    marked_stems = frozenset(term.typed for term in terms)
    groups = []
    for kind in [of] if of else Kind.values:
        ranked = best(terms, by_kind[kind], totals.get(kind, 0))
        if ranked:
            shown = ranked if of else ranked[:SHOWN[Kind(kind)]]
            groups.append(Group(kind, [Hit(one, marked_stems) for one in shown], len(ranked)))
    read_as = " ".join(slips.get(word, word) for word in typed) if slips else ""
    return Found(text, groups, read_as, of)


def visible(user: User) -> QuerySet[SearchDocument]:
    """What this person may find, but for their own cards."""
    open_to_all = Q(question=None, note=None)
    notes = access.notes_for(user).filter(owner=None)
    return SearchDocument.objects.filter(open_to_all | Q(question__in=access.published()) | Q(note__in=notes))


def visible_own(user: User) -> QuerySet[SearchDocument]:
    """The person's own cards, the latest first."""
    drilled = {"note__draft": False, "note__retired": False}
    return SearchDocument.objects.filter(kind=Kind.OWN, note__owner=user, **drilled).order_by("-pk")


def own_holding(user: User, terms: list[Term]) -> list[SearchDocument]:
    """Of a person's own cards those to be weighed: where too many hold one of the terms, those that hold all of them,
    then the latest."""
    found: dict[int, SearchDocument] = {}
    for query in (all_of(terms), any_of(terms)):
        held = visible_own(user).filter(pk__in=holding(query)).defer("words", "terms", "digest")
        found = {one.pk: one for one in held[:MOST_WEIGHED]} | found
    return list(found.values())


def holding(query: str) -> RawSQL:
    """The keys of the documents that the database's full text finds by a query in its own language."""
    return RawSQL(HOLDING[connection.vendor], [query])


def any_of(terms: list[Term]) -> str:
    """The query for what holds at least one stem of the terms."""
    return OR.join(sorted({QUOTED % stem for term in terms for stem in term.weights}))


def all_of(terms: list[Term]) -> str:
    """The query for what holds a stem of each of the terms."""
    return AND.join(f"({any_of([term])})" for term in terms)


def best(terms: list[Term], found: list[SearchDocument], total: int) -> list[SearchDocument]:
    """The documents that answer well enough, the best first; the first few stand whatever they are."""
    scored = words.scores(terms, [Bag(one.counts, one.lengths, one.phrases) for one in found], total)
    ranked = sorted(zip(scored, found, strict=True), key=lambda pair: (-pair[0], pair[1].pk))
    return [one for at, (score, one) in enumerate(ranked) if at < ALWAYS or score >= FAINT * ranked[0][0]]


def meant_by(user: User, typed: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """What the unknown words of a text were read as: slips, and the word that the last one begins."""
    stems = {word: words.stem(word) for word in typed if word not in words.STOPS}
    known = set(SearchWord.objects.filter(stem__in=set(stems.values())).values_list("stem", flat=True))
    slips, begun = {}, {}
    for word, stem in stems.items():
        if stem in known or visible_own(user).filter(pk__in=holding(QUOTED % stem)).exists():
            continue
        if word == typed[-1] and len(word) > 1:
            longer = SearchWord.objects.filter(word__startswith=word).order_by("-count", "word").first()
            if meant := longer.word if longer else own_begun(user, word):
                begun[word] = meant
                continue
        near = SearchWord.objects.annotate(size=Length("word")).filter(size__range=(len(word) - 2, len(word) + 2))
        if meant := words.nearest(word, dict(near.values_list("word", "count"))):
            slips[word] = meant
    return slips, begun


def own_begun(user: User, word: str) -> str:
    """The word that this one begins in the latest of the person's own cards with such a word; empty without one."""
    latest = visible_own(user).filter(pk__in=holding(BEGUN % word)).values_list("words", flat=True).first()
    longer = (one for one in (latest or "").split() if one.startswith(word) and words.stem(one) == one)
    return next(longer, "")


def marked(text: str, stems: frozenset[str]) -> SafeString:
    """The text as safe HTML with the words looked for in bold; a flag is told apart, so that no line breaks in it."""
    def mark(found: re.Match[str]) -> str:
        hit = any(words.stem(word) in stems for word in words.words_of(found[0]))
        return f"<b>{escape(found[0])}</b>" if hit else escape(found[0])

    def plain(piece: str) -> str:
        found = re.finditer(rf"(?P<word>{words.WORD.pattern})|\W|_", piece)
        return "".join(mark(one) if one["word"] else escape(one[0]) for one in found)

    pieces = re.split(r"(--[\w-]+)", text)  # every other one a flag
    return mark_safe("".join(
        f'<span class="flag">{plain(piece)}</span>' if at % 2 else plain(piece) for at, piece in enumerate(pieces)
    ))


def address_of(one: SearchDocument) -> str:
    """Where a document is to be read."""
    if one.kind == Kind.QUESTION:
        return reverse("flashcards:question", args=[one.slug])
    if one.kind == Kind.OWN:
        return reverse("flashcards:edit_own_card", args=[one.note_id])
    if one.kind == Kind.NUMBER:
        return f"{reverse('flashcards:numbers')}?topic={one.about}#number-{one.slug}"
    if one.kind == Kind.TERM:
        return f"{reverse('questions:glossary')}#{one.slug}"
    if one.kind == Kind.LAB:
        return reverse("calculators:lab_page", args=[one.slug])
    lab, knob = LABS["serve-command"], one.slug.replace("-", "_")
    at_knob = f"#knob-{knob}" if knob in lab.views[0].form.base_fields else ""
    return lab.address(lab.views[0], {}) + at_knob
