"""The tables that reports read, as Django's models have them; a test compares the two."""
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

METADATA = sa.MetaData()
JSON = sa.JSON().with_variant(JSONB(), "postgresql")

topics = sa.Table(
    "questions_topic", METADATA,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("slug", sa.String, nullable=False),
    sa.Column("position", sa.SmallInteger, nullable=False),
)
questions = sa.Table(
    "questions_question", METADATA,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("slug", sa.String, nullable=False),
    sa.Column("topic_id", sa.BigInteger, sa.ForeignKey("questions_topic.id"), nullable=False),
    sa.Column("position", sa.SmallInteger, nullable=False),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("rubric", JSON, nullable=False),
    sa.Column("draft", sa.Boolean, nullable=False),
    sa.Column("retired", sa.Boolean, nullable=False),
)
notes = sa.Table(
    "questions_note", METADATA,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("slug", sa.String, nullable=False),
    sa.Column("topic_id", sa.BigInteger, sa.ForeignKey("questions_topic.id")),
    sa.Column("ask", sa.String, nullable=False),
)
cards = sa.Table(
    "flashcards_card", METADATA,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("user_id", sa.BigInteger, nullable=False),
    sa.Column("question_id", sa.BigInteger, sa.ForeignKey("questions_question.id")),
    sa.Column("note_id", sa.BigInteger, sa.ForeignKey("questions_note.id")),
    sa.Column("log_length", sa.Integer, nullable=False),
    sa.Column("answers", sa.Integer, nullable=False),
    sa.Column("lapses", sa.Integer, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("stability", sa.Float),
    sa.Column("difficulty", sa.Float),
    sa.Column("last_day", sa.Date),
    sa.Column("due_day", sa.Date),
    sa.Column("due_at", sa.DateTime(timezone=True)),
    sa.Column("suspended", sa.Boolean, nullable=False),
)
attempts = sa.Table(
    "flashcards_attempt", METADATA,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("card_id", sa.BigInteger, sa.ForeignKey("flashcards_card.id"), nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("within", sa.Boolean),
    sa.Column("confidence", sa.SmallInteger),
    sa.Column("ticks", JSON, nullable=False),
    sa.Column("seconds", sa.Integer, nullable=False),
)
reviews = sa.Table(
    "flashcards_review", METADATA,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("card_id", sa.BigInteger, sa.ForeignKey("flashcards_card.id"), nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("names_id", sa.BigInteger, sa.ForeignKey("flashcards_review.id")),
    sa.Column("rating", sa.SmallInteger),
    sa.Column("attempt_id", sa.BigInteger, sa.ForeignKey("flashcards_attempt.id")),
    sa.Column("study_day", sa.Date, nullable=False),
    sa.Column("was", sa.String, nullable=False),
    sa.Column("stability", sa.Float),
    sa.Column("due_day", sa.Date),
)
