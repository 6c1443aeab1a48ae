"""What the Progress page says and draws; where a report has too few answers it says that and draws nothing."""
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property

from django.utils.html import format_html
from django.utils.safestring import SafeString

from calculators.models.base import Refusal
from calculators.pictures import NARROW, WIDE, Drawing
from flashcards.models import Card
from flashcards.overview import front
from flashcards.pictures import forecast as forecast_picture
from progress import pictures, sheets
from progress.counts import Bin, Share, brier
from progress.pictures import Drawn, Spread
from progress.readiness_page import ReadinessPage
from progress.reading import Reading
from progress.reports import Lapsing
from progress.sheets import LEAST_OF_A_ROW, Sheet
from questions.figures import BadFigure
from questions.models import Question
from questions.services import inline, pose

LEAST = 30  # answers that a share is drawn from
LEAST_SURE = 20  # stated confidences
SHOWN_WEEKS, NARROW_WEEKS = 26, 13
YEAR_WEEKS, NARROW_YEAR = 53, 17
AHEAD = 14
PAIR = 350  # the width of pictures that stand side by side
MOST_LISTED = 8
NO_LIMIT = 0  # what falls due, not what a day lets through


class ProgressPage:
    """One person's progress, section by section."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.profile = reading, reading.profile

    @property
    def is_empty(self) -> bool:
        return not len(self.reading.answers.day)

    def sheet(self, slug: str) -> Sheet:
        return sheets.SHEETS[slug](self.reading)

    # Retention

    @property
    def lead(self) -> str:
        """True retention beside what was asked for, or how much is still to come before it is told."""
        share, asked = self.reading.retention, self.profile.desired_retention
        if share.of >= LEAST:
            return format_html("You recalled <b>{}</b>; you asked for {}.", f"{share.share:.1%}", f"{asked * 100:.3g}")
        if not share.of:
            return "Nothing has come back a day later yet."
        return f"You recalled {share.hits} of the {share.of} that came back."

    @property
    def counted_words(self) -> str:
        share, weeks = self.reading.retention, self.reading.by_week
        if share.of < LEAST:
            return f"Shares are drawn from {LEAST} reviews at least a day apart on; there are {share.of} so far."
        span = (weeks[-1][0] - weeks[0][0]).days // 7 + 1
        last = f"; the last {SHOWN_WEEKS} shown" if span > SHOWN_WEEKS else ""
        return f"{share.of:,} reviews at least a day apart, {span} week{'' if span == 1 else 's'}{last}."

    @cached_property
    def retention(self) -> Drawn | None:
        weeks = self.reading.by_week
        if self.reading.retention.of < LEAST:
            return None

        def drawn(most: int, width: int) -> Drawing:
            first = weeks[-1][0] - timedelta(days=7 * (most - 1))
            shown = [week for week in weeks if week[0] >= first]
            return pictures.retention(shown, self.profile.desired_retention, width=width)

        return Drawn(drawn(SHOWN_WEEKS, WIDE), drawn(NARROW_WEEKS, NARROW))

    @property
    def retention_sheet(self) -> Sheet:
        return self.sheet("retention")

    @property
    def maturity_sheet(self) -> Sheet:
        return self.sheet("maturity")

    @property
    def maturity_words(self) -> str:
        """Young and mature cards apart: "Young cards 87.1% of 3,100, mature ones 89.4% of 2,720."."""
        parts = [f"{name} cards {share.share:.1%} of {share.of:,}"
                 for name, share in self.reading.by_maturity.items() if share.of >= LEAST_OF_A_ROW]
        return f"{', '.join(parts).capitalize()}; mature from an interval of 21 days." if parts else ""

    # Topics

    @cached_property
    def topics(self) -> Drawn | None:
        rows = [
            Spread(name, share.low, share.share, share.high, f"{share.hits} of {share.of}")
            for name, share, _, _ in sheets.weakest(self.reading) if share and share.of >= LEAST_OF_A_ROW
        ]
        if not rows:
            return None
        worst = min(rows, key=lambda row: row.middle)
        finding = f"Of {len(rows)} topics {worst.name} was recalled least, {worst.middle:.0%}."
        return Drawn(*(pictures.spreads(rows, finding, width=width, target=self.profile.desired_retention)
                       for width in (520, NARROW)))

    @property
    def topics_sheet(self) -> Sheet:
        return self.sheet("topics")

    @property
    def weakest_words(self) -> str:
        """The topics with the lowest predicted recall today."""
        begun = [(name, recall) for name, _, recall, _ in sheets.weakest(self.reading) if recall is not None]
        names = ", ".join(f"{name} {recall:.2f}" for name, recall in begun[:3])
        return f"Weakest today, by predicted recall: {names}." if begun else ""

    @property
    def topics_left_out(self) -> str:
        few = sum(1 for _, share, _, _ in sheets.weakest(self.reading) if not share or share.of < LEAST_OF_A_ROW)
        return f"{few} with under {LEAST_OF_A_ROW} reviews left out" if few else ""

    # Days

    @cached_property
    def days(self) -> Drawn:
        counts = {day.day: day.answers for day in self.reading.study_days}
        today = self.reading.today
        return Drawn(pictures.heat(counts, today, YEAR_WEEKS, width=WIDE),
                     pictures.heat(counts, today, NARROW_YEAR, width=NARROW))

    @property
    def days_sheet(self) -> Sheet:
        return self.sheet("days")

    @property
    def days_words(self) -> str:
        days = self.reading.study_days
        answers, span = sum(day.answers for day in days), (days[-1].day - days[0].day).days + 1
        return f"{answers:,} review{'' if answers == 1 else 's'} on {len(days):,} of {span:,} days."

    @cached_property
    def minutes(self) -> Drawn | None:
        weeks = [(week, taken) for week, taken, _, _ in self.reading.weeks_of_minutes]
        if not any(taken for _, taken in weeks):
            return None
        return Drawn(pictures.minutes(weeks[-SHOWN_WEEKS:], width=WIDE),
                     pictures.minutes(weeks[-NARROW_WEEKS:], width=NARROW))

    @property
    def minutes_sheet(self) -> Sheet:
        return self.sheet("minutes")

    @property
    def minutes_words(self) -> str:
        days = self.reading.study_days
        timed, answers = sum(day.timed for day in days), sum(day.answers for day in days)
        seconds = sum(day.seconds for day in days)
        if not timed:
            return "None of the reviews carries a time."
        hours = f"{seconds / 3600:,.1f} hours" if seconds >= 5400 else f"{max(round(seconds / 60), 1)} min"
        of = f"{timed:,} reviews" if timed == answers else f"the {timed:,} of {answers:,} reviews that carry a time"
        return f"{hours} in {of}, {seconds / timed:.0f} s each."

    # Calibration

    @cached_property
    def calibration(self) -> Drawing | None:
        calibration = self.reading.calibration
        if calibration is None or calibration.answers < LEAST:
            return None
        return pictures.diagonal(often(calibration.bins), "predicted recall", width=PAIR)

    @property
    def calibration_sheet(self) -> Sheet:
        return self.sheet("calibration")

    @property
    def rare_words(self) -> str:
        """How much of the picture's table is not drawn, as too little came of it."""
        bins = self.reading.calibration.bins
        rare = len(bins) - len(often(bins))
        left_out = "one bin" if rare == 1 else f"{rare} bins"
        return f"; {left_out} of under {LEAST_OF_A_ROW} in the table alone" if rare else ""

    @property
    def calibration_words(self) -> str:
        """In which direction the predictions lie where their interval leaves them out."""
        return f"The schedule: {off_words(often(self.reading.calibration.bins))}"

    @property
    def calibration_losses(self) -> str:
        calibration = self.reading.calibration
        return f"{calibration.answers:,} reviews; log loss {calibration.log_loss:.4f}, " \
               f"RMSE over 20 bins {calibration.rmse_bins:.3f}{self.rare_words}"

    @property
    def calibration_few(self) -> str:
        count = self.reading.calibration.answers if self.reading.calibration else 0
        there = "there is one" if count == 1 else f"there are {count}"
        return f"Drawn from {LEAST} reviews at least a day apart on; {there} so far."

    @property
    def stated_count(self) -> int:
        return sum(share.of for share in self.reading.stated.values())

    @cached_property
    def confidence(self) -> Drawing | None:
        if self.stated_count < LEAST_SURE:
            return None
        bins = [Bin(sure, sure, sure, share) for sure, share in self.reading.stated.items()]
        return pictures.diagonal(often(bins), "how sure you said you were", width=PAIR, pen=True)

    @property
    def confidence_sheet(self) -> Sheet:
        return self.sheet("confidence")

    @property
    def confidence_words(self) -> str:
        """The confidence stated most often, with how often it was right: "sure at 95%, right 78%"."""
        sure, share = max(self.reading.stated.items(), key=lambda one: one[1].of)
        return f"sure at {sure:.0%}, right {share.share:.0%} of {share.of}."

    @property
    def confidence_scores(self) -> str:
        score = f"Brier score {brier(self.reading.stated):.3f} (0 is perfect, 0.25 a coin’s)"
        return f"{self.stated_count:,} answers with a stated confidence; {score}"

    @property
    def confidence_few(self) -> str:
        there = "there is one" if self.stated_count == 1 else f"there are {self.stated_count}"
        return f"Drawn from {LEAST_SURE} answers with a stated confidence on; {there} so far."

    # Ahead

    @cached_property
    def readiness(self) -> ReadinessPage:
        """How ready the person is on their interview's day, or four weeks ahead."""
        return ReadinessPage(self.reading, {})

    @cached_property
    def forecast(self) -> Drawn | None:
        days = self.reading.forecast[:AHEAD]
        if not any(count for _, count in days):
            return None
        return Drawn(forecast_picture(days, NO_LIMIT, width=520),
                     forecast_picture(days, NO_LIMIT, width=NARROW, name_every=2))

    @property
    def forecast_sheet(self) -> Sheet:
        return self.sheet("forecast")

    @property
    def forecast_words(self) -> str:
        due = sum(count for _, count in self.reading.forecast[:AHEAD])
        words = f"{due:,} review{'' if due == 1 else 's'} in {AHEAD} days"
        if self.reading.seconds_an_answer is None:
            return f"{words}."
        return f"{words}, about {max(due * self.reading.seconds_an_answer / 60 / AHEAD, 1):.0f} min a day."

    @property
    def lapses_sheet(self) -> Sheet:
        return self.sheet("lapses")

    @cached_property
    def lapsing(self) -> list[tuple[Lapsing, SafeString, bool]]:
        """What lapses most, each with its front and whether it is a leech."""
        found = Card.objects.select_related("question", "note").in_bulk([row.card for row in self.reading.lapsing])
        return [(row, front(found[row.card]), sheets.is_leech(self.reading, row.lapses))
                for row in self.reading.lapsing if row.card in found]

    @property
    def leech_words(self) -> str:
        count = self.reading.leeches
        cards = {0: "No card is a leech", 1: "One card is a leech"}.get(count, f"{count:,} cards are leeches")
        return f"{cards}: forgotten {self.profile.leech_lapses} times or more."

    @property
    def rubric_sheet(self) -> Sheet:
        return self.sheet("rubric")

    @property
    def missed(self) -> list[tuple[str, str, SafeString, Share]]:
        """The points missed most: slug, title, the point in words, of how many answers; figures are the file's own."""
        rows = self.reading.missed[:MOST_LISTED]
        slugs = {slug for slug, _, point, _ in rows if "[[" in point["text"]}
        filled = {question.slug: filled_in(question) for question in Question.objects.filter(slug__in=slugs)}
        return [
            (slug, title, filled.get(slug, {}).get(point["id"]) or inline(sheets.without_figures(point["text"])), share)
            for slug, title, point, share in rows
        ]


def filled_in(question: Question) -> dict[str, SafeString]:
    """The points of a question's rubric by their ids, with its file's own figures; none where no lab gives them."""
    try:
        return {point["id"]: point["html"] for point in pose(question).rubric}
    except (Refusal, BadFigure):
        return {}


def often(bins: Sequence[Bin]) -> tuple[Bin, ...]:
    """Those that enough came of for a point in a picture; all of them where that is none."""
    return tuple(one for one in bins if one.came.of >= LEAST_OF_A_ROW) or tuple(bins)


def off_words(bins: tuple[Bin, ...]) -> str:
    """Where predictions lie outside the interval of what came: too hopeful, too careful, or well placed."""
    hopeful = [one for one in bins if one.predicted > one.came.high]
    careful = [one for one in bins if one.predicted < one.came.low]
    told = [f"too {word} {_at(off)}" for word, off in (("hopeful", hopeful), ("careful", careful)) if off]
    return f"{' and '.join(told)}; elsewhere within the error bars." if told else "within the error bars all along."


def _at(bins: list[Bin]) -> str:
    return "at " + ", ".join(pictures.share_words(round(one.predicted, 2)) for one in bins)
