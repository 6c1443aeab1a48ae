"""The report of an interview as one of its readers may see it: what is not theirs to read is not in it.

Scores are 0 to 3 a point, shares 0 to 1, spans milliseconds. The page, the Markdown and the JSON are all made from what
`of` gives, so that none of them can hold more.
"""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean
from typing import Any

from mocks import agreement
from mocks.agreement import Agreement
from mocks.room import MOST_SCORE, Call, Item, LabState, Room

FORMER = "a former member"
LEAST_INTERVIEWS = 5  # of a team that asked the same, before its spread is shown
STRONG, WEAK = 0.75, 0.5  # shares
BOUNDED, MISSED = 2.5, 1  # a score from which a point is a strength, and up to which it is missed
LEAST_POINTS = 3  # of a topic, before it is called a strong one


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads a report: one who scored, the team's owner, who was alone in it, or its candidate."""

    who: str
    rates: bool = False  # takes the interviewer's part
    alone: bool = False
    is_candidate: bool = False

    def may_read(self, part: str, room: Room) -> bool:
        """Whether this part of the report, scores, answers or comments, is open to them."""
        return self.alone or not self.is_candidate or part in room.released

    def is_blind(self, room: Room) -> bool:
        """Whether their own scores come first: until then they see nobody else's."""
        return self.rates and not self.alone and self.who not in room.submitted


@dataclass(frozen=True, slots=True)
class Spread:
    """How a team's interviews came out on the same question or point, each a value, lowest first; this one is among
    them. Fewer than five are counted and not shown."""

    interviews: int
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class TeamScores:
    """What a team's scored interviews came to: {slug: shares} and {(slug, point): scores}, one for each interview."""

    questions: Mapping[str, Sequence[float]]
    points: Mapping[tuple[str, str], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Rater:
    """Somebody whose scores stand in a column."""

    who: str
    name: str
    mine: bool


@dataclass(frozen=True, slots=True)
class CallRow:
    """An overall call, whose and why."""

    name: str
    mine: bool
    verdict: str
    level: str
    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """What an interviewer wrote beside a score; `clock_ms` is the question's clock."""

    name: str
    mine: bool
    evidence: str
    comment: str
    clock_ms: int | None


@dataclass(frozen=True, slots=True)
class PointRow:
    """A rubric point: its words where the answer is open, each rater's score, and the one that stands."""

    number: int
    id: str
    html: str
    anchors: tuple[str, ...]  # of 1, 2 and 3
    scores: tuple[int | None, ...]
    score: float | None  # as agreed, else the mean of those that are in
    is_agreed: bool
    said: tuple[Said, ...]
    spread: Spread | None
    is_missed: bool

    @property
    def differences(self) -> tuple[int, ...]:
        """Of each score from the first one; 0 where one of the two is missing."""
        return differences(self.scores)

    @property
    def differs(self) -> bool:
        return any(self.differences)


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question of the interview; `answer` and what belongs to it are empty where they are not open."""

    number: int
    slug: str
    title: str
    topic: str
    kind: str
    level: str
    was_asked: bool
    was_skipped: bool
    spent_ms: int
    allowed_ms: int
    hints_taken: int
    follow_ups_asked: int
    ask: Mapping[str, str]
    scratch: str
    points: tuple[PointRow, ...]
    totals: tuple[int | None, ...]  # of each rater
    score: float | None
    of: int
    spread: Spread | None
    answer: Mapping[str, str]
    hints: tuple[str, ...]  # those shown; all where the answer is open
    follow_ups: tuple[Mapping[str, str], ...]
    traps: tuple[Mapping[str, str], ...]
    sources: tuple[Mapping[str, str], ...]

    @property
    def differences(self) -> tuple[int, ...]:
        return differences(self.totals)

    @property
    def differing_points(self) -> int:
        return sum(point.differs for point in self.points)

    @property
    def share(self) -> float | None:
        """Of the points that have a score; None without one."""
        scores = [point.score for point in self.points if point.score is not None]
        return sum(scores) / (MOST_SCORE * len(scores)) if scores else None

    @property
    def is_over_time(self) -> bool:
        return self.spent_ms > self.allowed_ms


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of the questions asked: what came of its points."""

    topic: str
    questions: int
    score: float
    of: int

    @property
    def share(self) -> float:
        return self.score / self.of


@dataclass(frozen=True, slots=True)
class Finding:
    """A point as a strength, or as a gap to drill; `words` and `bounded` (what a 3 would have been) are HTML."""

    question: int
    slug: str
    title: str
    point: int
    words: str
    bounded: str
    score: float


@dataclass(frozen=True, slots=True)
class LabRow:
    """A lab state that was in use: pushed, set or committed to, by whom, at its question's clock."""

    question: int
    kind: str
    address: str
    name: str
    clock_ms: int
    typed: str


@dataclass(frozen=True, slots=True)
class NoteRow:
    """One of the reader's own notes, at the interview's clock."""

    clock_ms: int
    phase: str
    question: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that one reader may see of an interview."""

    headline: str
    spent_ms: int
    allowed_ms: int
    reads_scores: bool
    reads_answers: bool
    reads_comments: bool
    is_blind: bool
    raters: tuple[Rater, ...]
    waiting_for: tuple[str, ...]  # interviewers whose scores are not in
    calls: tuple[CallRow, ...]
    agreed_call: CallRow | None
    agreement: Agreement | None
    questions: tuple[QuestionRow, ...]
    topics: tuple[TopicRow, ...]
    strengths: tuple[Finding, ...]
    gaps: tuple[Finding, ...]
    labs: tuple[LabRow, ...]
    notes: tuple[NoteRow, ...]

    @property
    def missed_slugs(self) -> list[str]:
        """The questions with a missed point, in the order asked."""
        return list(dict.fromkeys(gap.slug for gap in self.gaps))

    @property
    def scored_points(self) -> int:
        return sum(point.score is not None for question in self.questions for point in question.points)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def of(
    room: Room, asked: Sequence[Mapping[str, Any]], reader: Reader, names: Mapping[str, str], *,
    interviewers: Iterable[str] = (), team: TeamScores | None = None,
) -> Report:
    """The report as this reader may see it. `names` are people's by their number, `interviewers` those with that part
    in the interview, `team` what the same team's interviews came to."""
    blind = reader.is_blind(room)
    reads_scores = reader.may_read("scores", room)
    scorers = scorers_of(room, reader)
    shown = () if reader.is_candidate and not reader.alone else tuple(
        Rater(who, names.get(who, FORMER), who == reader.who) for who in scorers)
    known = team if reads_scores and not blind and room.submitted else None
    questions = tuple(
        question_row(room, at, posed, reader, shown, scorers if reads_scores else (), names, known)
        for at, (item, posed) in enumerate(zip(room.items, asked, strict=True))
        if item.opened or not reader.is_candidate or reader.alone
    )
    scored = [] if blind else [
        (question, point) for question in questions for point in question.points if point.score is not None]
    pairs = agreement.pairs_in(room, scorers) if len(shown) > 1 else []
    return Report(
        headline=headline(questions, reads_scores=reads_scores, is_blind=blind),
        spent_ms=room.spent_ms, allowed_ms=room.allowed_ms, reads_scores=reads_scores,
        reads_answers=reader.may_read("answers", room), reads_comments=reader.may_read("comments", room),
        is_blind=blind, raters=shown,
        waiting_for=() if reader.is_candidate else tuple(
            names.get(who, FORMER) for who in interviewers if who not in room.submitted and who != reader.who),
        calls=calls_of(room, shown, reader), agreed_call=standing_call(room, reader, scorers),
        agreement=agreement.of(pairs) if pairs else None, questions=questions,
        topics=() if blind else topics_of(questions),
        strengths=tuple(found(*one) for one in scored if one[1].score >= BOUNDED),
        gaps=tuple(found(*one) for one in scored if one[1].is_missed),
        labs=labs_of(room, [question.number for question in questions], names),
        notes=notes_of(room, reader),
    )


def scorers_of(room: Room, reader: Reader) -> tuple[str, ...]:
    """Whose scores a report is made of: those that are in, the reader's first; one's own alone before one's are."""
    if reader.alone or reader.is_blind(room):
        return (reader.who,)
    return tuple(sorted(room.submitted, key=lambda who: (who != reader.who, room.submitted[who])))


def standing(room: Room, position: int, point: str, scorers: Iterable[str]) -> float | None:
    """The score of a point that stands: as agreed, else the mean of what these gave it; None where nobody did."""
    if (agreed := room.agreed.get(str(position), {}).get(point)) is not None:
        return agreed
    values = values_of(room, position, point, scorers)
    return mean(values) if values else None


def values_of(room: Room, position: int, point: str, scorers: Iterable[str]) -> list[int]:
    """What these gave a point."""
    return [value for who in scorers if (value := room.mark(who, position, point).value) is not None]


def is_missed(room: Room, position: int, point: str, scorers: Iterable[str]) -> bool:
    """Whether a point came out at 0 or 1: as agreed, else as any of these scored it."""
    agreed = room.agreed.get(str(position), {}).get(point)
    values = [agreed] if agreed is not None else values_of(room, position, point, scorers)
    return bool(values) and min(values) <= MISSED


def question_row(
    room: Room, at: int, posed: Mapping[str, Any], reader: Reader, shown: Sequence[Rater], scorers: Sequence[str],
    names: Mapping[str, str], team: TeamScores | None,
) -> QuestionRow:
    """A question with what may be read of it."""
    item, opens = room.items[at], reader.may_read("answers", room)
    blind = reader.is_blind(room)
    rubric = {point["id"]: point for point in posed["rubric"]}
    points = tuple(
        point_row(room, at, number, rubric[point], reader, shown, scorers, names, team)
        for number, point in enumerate(item.points, 1)
    )
    scores = [point.score for point in points if point.score is not None]
    hints = posed["hints"] if opens else [posed["hints"][one.number] for one in item.shown_hints]
    shown_follow_ups = {one.number for one in item.shown_follow_ups}
    follow_ups = [
        one if opens else {"ask": one["ask"]} for number, one in enumerate(posed["follow_ups"])
        if opens or number in shown_follow_ups]
    return QuestionRow(
        number=at + 1, slug=item.slug, title=posed["title"], topic=posed["topic"], kind=posed["kind"],
        level=posed["level"], was_asked=item.opened, was_skipped=item.skipped, spent_ms=item.spent_ms,
        allowed_ms=item.allowed_ms, hints_taken=len(item.shown_hints), follow_ups_asked=len(item.shown_follow_ups),
        ask=posed["ask"], scratch=item.scratch, points=points,
        totals=tuple(total([point.scores[column] for point in points]) for column in range(len(shown))),
        score=sum(scores) if scores and not blind else None, of=MOST_SCORE * len(points),
        spread=spread_of(team.questions.get(item.slug, ())) if team and scores else None,
        answer=posed["answer"] if opens else {}, hints=tuple(hints), follow_ups=tuple(follow_ups),
        traps=tuple(posed["traps"]) if opens else (), sources=tuple(posed["sources"]) if opens else (),
    )


def point_row(
    room: Room, at: int, number: int, point: Mapping[str, str], reader: Reader, shown: Sequence[Rater],
    scorers: Sequence[str], names: Mapping[str, str], team: TeamScores | None,
) -> PointRow:
    """A rubric point with what may be read of it."""
    opens, blind = reader.may_read("answers", room), reader.is_blind(room)
    score = None if blind else standing(room, at, point["id"], scorers) if scorers else None
    return PointRow(
        number=number, id=point["id"], html=point["html"] if opens else "",
        anchors=(point["named"], point["explained"], point["bounded"]) if opens else (),
        scores=tuple(room.mark(rater.who, at, point["id"]).value for rater in shown),
        score=score, is_agreed=score is not None and point["id"] in room.agreed.get(str(at), {}),
        said=said_of(room, at, point["id"], reader, names),
        spread=spread_of(team.points.get((room.items[at].slug, point["id"]), ())) if team and score is not None
        else None,
        is_missed=score is not None and is_missed(room, at, point["id"], scorers),
    )


def said_of(room: Room, at: int, point: str, reader: Reader, names: Mapping[str, str]) -> tuple[Said, ...]:
    """The evidence and comments beside a point that this reader may read."""
    if not reader.may_read("comments", room):
        return ()
    marks = [(who, room.mark(who, at, point)) for who in scorers_of(room, reader)]
    return tuple(
        Said(names.get(who, FORMER), who == reader.who, mark.evidence, mark.comment, mark.clock_ms)
        for who, mark in marks if mark.evidence.strip() or mark.comment.strip())


def calls_of(room: Room, shown: Sequence[Rater], reader: Reader) -> tuple[CallRow, ...]:
    """Each rater's call, where one is made."""
    calls = [(rater, room.calls.get(rater.who, Call())) for rater in shown]
    return tuple(
        CallRow(rater.name, rater.mine, call.verdict, call.level, call.reason) for rater, call in calls if call.verdict)


def standing_call(room: Room, reader: Reader, scorers: Sequence[str]) -> CallRow | None:
    """The call that stands: as agreed, else the one that all made who are in; a reason is a comment, and one's own."""
    if reader.is_blind(room) or not reader.may_read("scores", room):
        return None
    call = room.agreed_call
    if not call.verdict:
        made = [room.calls[who] for who in scorers if who in room.calls]
        alike = len({(one.verdict, one.level) for one in made}) == 1
        call = (made[0] if len(made) == 1 else replace(made[0], reason="")) if alike else Call()
    if not call.verdict:
        return None
    return CallRow("", False, call.verdict, call.level, call.reason if reader.may_read("comments", room) else "")


def topics_of(questions: Sequence[QuestionRow]) -> tuple[TopicRow, ...]:
    """What came of each topic, in the order asked, over the points that have a score."""
    rows = []
    for topic in dict.fromkeys(question.topic for question in questions):
        scores = [[point.score for point in question.points if point.score is not None]
                  for question in questions if question.topic == topic]
        if flat := [score for of_question in scores for score in of_question]:
            rows.append(TopicRow(topic, sum(map(bool, scores)), sum(flat), MOST_SCORE * len(flat)))
    return tuple(rows)


def found(question: QuestionRow, point: PointRow) -> Finding:
    return Finding(
        question.number, question.slug, question.title, point.number, point.html,
        point.anchors[-1] if point.anchors else "", point.score)


def labs_of(room: Room, numbers: Sequence[int], names: Mapping[str, str]) -> tuple[LabRow, ...]:
    """The lab states used at these questions; of knobs turned one after another the last."""
    return tuple(
        LabRow(number, state.kind, state.address, names.get(state.by, FORMER), state.clock_ms, state.typed)
        for number in numbers for state in settled(room.items[number - 1])
    )


def settled(item: Item) -> list[LabState]:
    """A question's lab states without those that were only passed through."""
    kept: list[LabState] = []
    for state in item.labs:
        if kept and kept[-1].kind == "set" == state.kind:
            kept.pop()
        kept.append(state)
    return kept


def notes_of(room: Room, reader: Reader) -> tuple[NoteRow, ...]:
    """The reader's own notes."""
    return tuple(
        NoteRow(one.clock_ms, one.phase, None if one.position is None else one.position + 1, one.text)
        for one in room.remarks if one.by == reader.who)


def spread_of(values: Sequence[float]) -> Spread:
    """A team's spread, shown once it has enough interviews that no one of them can be made out."""
    return Spread(len(values), tuple(sorted(values)) if len(values) >= LEAST_INTERVIEWS else ())


def total(scores: Iterable[int | None]) -> int | None:
    """The sum of the scores given; None where none was."""
    given = [score for score in scores if score is not None]
    return sum(given) if given else None


def differences(scores: Sequence[int | None]) -> tuple[int, ...]:
    """Of each from the first; 0 where one of the two is missing."""
    return tuple(score - scores[0] if score is not None and scores[0] is not None else 0 for score in scores)


def team_scores(rooms: Iterable[Room]) -> TeamScores:
    """What these interviews came to, of each the scores that are in."""
    questions: dict[str, list[float]] = {}
    points: dict[tuple[str, str], list[float]] = {}
    for room in rooms:
        for at, item in enumerate(room.items):
            scores = {point: standing(room, at, point, room.submitted) for point in item.points}
            given = {point: score for point, score in scores.items() if score is not None}
            for point, score in given.items():
                points.setdefault((item.slug, point), []).append(score)
            if given:
                questions.setdefault(item.slug, []).append(sum(given.values()) / (MOST_SCORE * len(given)))
    return TeamScores(questions, points)


# The headline says what the scores say and no more.

def headline(questions: Sequence[QuestionRow], *, reads_scores: bool, is_blind: bool) -> str:
    """The interview in a sentence, from its scores alone."""
    if is_blind:
        return "Your own scores come first."
    if not reads_scores:
        return "No scores are open to you."
    points = [point for question in questions for point in question.points if point.score is not None]
    if not points:
        return "No scores are in yet."
    return f"{strength(topics_of(questions), points)}; {shortfall(questions, len(points))}."


def strength(topics: Sequence[TopicRow], points: Sequence[PointRow]) -> str:
    """Where it was strong; where nowhere in particular, how deep it went. A point that one interviewer missed counts as
    explained by nobody, whatever the mean."""
    strong = [one.topic.replace("-", " ") for one in topics
              if one.share >= STRONG and one.of >= LEAST_POINTS * MOST_SCORE]
    if strong and len(strong) == len(topics) > 1:
        return "Strong throughout"
    if strong:
        return f"Strong on {in_words(strong)}"
    n = len(points)
    bounded, named = (sum(point.score >= least for point in points) for least in (BOUNDED, 1))
    explained = sum(point.score >= 2 and not point.is_missed for point in points)
    if bounded * 2 >= n:
        return f"Bounds {bounded} of {n} points"
    if explained * 2 >= n:
        return f"Explains {explained} of {n} points, bounds {bounded or 'none'}"
    if named * 2 >= n:
        return f"Names {named} of {n} points, explains {explained or 'none'}"
    return "Most of it went unsaid"


def shortfall(questions: Sequence[QuestionRow], n: int) -> str:
    """How many points came no further than named, and where most of them lie: in a topic, else in a question."""
    missed = [question for question in questions for point in question.points if point.is_missed]
    if not missed:
        return "every point explained"
    words = f"{len(missed)} of {n} points not explained"
    for place in (lambda question: question.topic.replace("-", " "), lambda question: f"“{question.title}”"):
        places = [place(question) for question in missed]
        most = max(places, key=places.count)
        if 1 < places.count(most) > len(missed) / 2 and len({place(question) for question in questions}) > 1:
            return f"{words}, {'all' if len(set(places)) == 1 else f'{places.count(most)} of them'} in {most}"
    return words


def in_words(names: Sequence[str]) -> str:
    """Names as a sentence has them: "memory, routing and sampling"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
