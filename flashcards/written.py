"""What of each table an export writes, and what a card is called everywhere."""
from flashcards.models import Card, Draft, Given, Memo, Work
from questions.export import key_of

BATCH = 500
SEED_STEP = 1_000_003  # of Card.seed, which hangs on the card's key here
GIVEN = tuple(field.name for field in Given._meta.concrete_fields)
ATTEMPT = ("ordinal", "kind", "take", *GIVEN)
REVIEW = (
    "ordinal", "kind", "rating", "at", "study_day", "zone", "day_start", "was", "state", "step", "stability",
    "difficulty", "fed_at", "due_day", "due_at", "asked", "batch",
)
DRAFT = ("opened_at", *Draft.TYPED)
PREDICTION = ("lab", "state", "address", "step", "field", "predicted", "actual", "right", "at")
QUIZ = ("title", "query", "by_options", "seed", "started_at", "seconds_allowed", "ended_at")
LOOK = ("place", "opened_at", "draft")
QUIZ_ANSWER = ("place", "kind", "chosen", "passed", *GIVEN)
WORK = ("kind", "asked_at", "given", "progress", "stage", "done_at", "fault", "result")
ADOPTION = ("at", "version", "parameters")
KEPT_WORK = (Work.Kind.FIT, Work.Kind.WHAT_IF)

Key = tuple[str, str, str]  # what a card asks ("question", "number" or "own"), which one, and its side


def key_of_card(card: Card) -> Key:
    """What a card is called everywhere."""
    return *key_of_item(card), card.direction


def key_of_item(of: Card | Memo) -> tuple[str, str]:
    """What a card asks, or a note is about, as it is called everywhere."""
    if of.note_id is None:
        return "question", of.question.slug
    if of.note.owner_id is None:
        return "number", of.note.slug
    return "own", key_of(of.note)
