"""A report as Markdown: the same rows as its page, for a mail or a document."""
from collections.abc import Iterator

from flashcards.transfer.anki_html import escaped, markdown_of
from mocks.report import CallRow, PointRow, QuestionRow, Report
from mocks.report_page import ReportPage
from mocks.templatetags.mock_reports import clock_ms, percent, score, signed, whole_minutes


def as_markdown(page: ReportPage) -> str:
    """The page's report, with no more in it than its reader may see."""
    return "\n".join(line.rstrip() for line in lines_of(page)).strip() + "\n"


def lines_of(page: ReportPage) -> Iterator[str]:
    told, row = page.report, page.interview
    yield f"# {escaped(told.headline)}"
    yield ""
    where = f", {escaped(row.team.name)}" if row.team else ""
    yield (f"{escaped(page.candidate)}{where}, {page.held_at:%Y-%m-%d}: {whole_minutes(told.spent_ms)} of "
           f"{whole_minutes(told.allowed_ms)} min.")
    yield ""
    yield from call_lines(told)
    if told.waiting_for and not told.is_blind:
        yield f"Not in yet: {escaped(', '.join(told.waiting_for))}."
        yield ""
    yield "## By question"
    yield ""
    yield from question_table(told)
    if told.topics:
        yield "## By topic"
        yield ""
        yield "| topic | score | of | share |"
        yield "| --- | ---: | ---: | ---: |"
        yield from (f"| {cell(topic.topic)} | {score(topic.score)} | {topic.of} | {percent(topic.share)} |"
                    for topic in told.topics)
        yield ""
    for question in page.asked:
        yield from question_lines(told, question)
    for name, findings in (("Strengths", told.strengths), ("What to drill", told.gaps)):
        if findings:
            yield f"## {name}"
            yield ""
            yield from (f"- {words_or_number(one.words, one.point)} ({escaped(one.title)})" for one in findings)
            yield ""
    if page.labs:
        yield "## Labs used"
        yield ""
        for lab, address, words in page.labs:
            name = f"[{escaped(words)}]({address})" if address else f"`{words.replace('`', '')}`"
            typed = f": {escaped(lab.typed)}" if lab.typed else ""
            at = f"at {clock_ms(lab.clock_ms)} of question {lab.question}"
            yield f"- {name} {lab.kind} by {escaped(lab.name)} {at}{typed}"
        yield ""
    if told.notes:
        yield "## Your notes"
        yield ""
        yield from (f"- {clock_ms(note.clock_ms)} {note.phase}: {in_a_line(note.text)}" for note in told.notes)


def call_lines(told: Report) -> Iterator[str]:
    for call in told.calls:
        yield f"- {'You' if call.mine else escaped(call.name)}: {call_words(call)}"
    if told.agreed_call and len(told.calls) != 1:
        yield f"- Agreed: {call_words(told.agreed_call)}"
    if told.calls or told.agreed_call:
        yield ""
    if (found := told.agreement) is not None:
        kappa = f", weighted kappa {found.kappa:.2f}" if found.says_something and found.kappa is not None else ""
        yield f"{found.alike} of {found.points} points scored alike{kappa}."
        yield ""


def call_words(call: CallRow) -> str:
    words = ", ".join(filter(None, (call.verdict, call.level)))
    return f"{words}: {in_a_line(call.reason)}" if call.reason else words


def question_table(told: Report) -> Iterator[str]:
    names = ["you" if rater.mine else rater.name for rater in told.raters] if told.reads_scores else []
    stands = told.reads_scores and not told.is_blind
    heads = ["question", *names, *(["stands", "of"] if stands else []), "time", "of min", "hints"]
    yield f"| {' | '.join(map(cell, heads))} |"
    yield f"| --- |{' ---: |' * (len(heads) - 1)}"
    for row in told.questions:
        if row.was_asked:
            given = [with_difference(total, by) for total, by in zip(row.totals, row.differences, strict=True)]
            cells = [f"{row.number}. {cell(row.title)}", *(given if names else []),
                     *([score(row.score), str(row.of)] if stands else []),
                     clock_ms(row.spent_ms), whole_minutes(row.allowed_ms), str(row.hints_taken)]
            yield f"| {' | '.join(cells)} |"
    yield ""


def question_lines(told: Report, question: QuestionRow) -> Iterator[str]:
    yield f"## {question.number}. {escaped(question.title)}"
    yield ""
    for html in (question.ask["scenario"], question.ask["given"]):
        if html:
            yield markdown_of(html)[0]
            yield ""
    if question.scratch:
        yield "Scratchpad:"
        yield ""
        yield from (f"    {line}" for line in question.scratch.splitlines())
        yield ""
    if told.reads_scores or told.reads_comments or told.reads_answers:
        for point in question.points:
            yield from point_lines(told, point)
        yield ""
    for name, title in (("said", "Said aloud"), ("derivation", "How it comes about"), ("catch", "The catch"),
                        ("measure", "What I would measure")):
        if html := question.answer.get(name):
            yield f"### {title}"
            yield ""
            yield "\n".join(line.strip() for line in markdown_of(html)[0].splitlines()) if name == "derivation" else (
                markdown_of(html)[0])
            yield ""
    told_lists = {
        "What each score takes": [
            f"{words_or_number(point.html, point.number)} 1: {a}; 2: {b}; 3: {c}" for point in question.points
            if point.anchors for a, b, c in [[in_a_line(anchor, is_html=True) for anchor in point.anchors]]],
        "Hints": [in_a_line(hint, is_html=True) for hint in question.hints],
        "Follow-ups": [in_a_line(f"{one['ask']} {one.get('key', '')}", is_html=True) for one in question.follow_ups],
        "Traps": [in_a_line(f"{trap['said']} {trap['tempting']} {trap['refuted']}", is_html=True)
                  for trap in question.traps],
    }
    for title, lines in told_lists.items():
        if lines:
            yield f"### {title}"
            yield ""
            yield from (f"- {line}" for line in lines)
            yield ""


def point_lines(told: Report, point: PointRow) -> Iterator[str]:
    given = "; ".join(
        f"{'you' if rater.mine else escaped(rater.name)} {with_difference(value, by)}"
        for rater, value, by in zip(told.raters, point.scores, point.differences, strict=True) if told.reads_scores)
    stands = f"{score(point.score)} of 3" if point.score is not None else ""
    scores = " ".join(filter(None, (stands, f"({given})" if given else "")))
    words = words_or_number(point.html, point.number)
    yield f"- {words.rstrip('.')}: {scores}" if scores else f"- {words}"
    for said in point.said:
        words = "; ".join(filter(None, (in_a_line(said.evidence), in_a_line(said.comment))))
        yield f"  - {'You' if said.mine else escaped(said.name)}: {words}"


def words_or_number(html: str, number: int) -> str:
    """A point's words where they are open, else its number."""
    return in_a_line(html, is_html=True) if html else f"Point {number}"


def in_a_line(text: str, is_html: bool = False) -> str:
    return " ".join((markdown_of(text)[0] if is_html else escaped(text)).split())


def cell(text: str) -> str:
    """Words that stand in a table's cell."""
    return in_a_line(text)


def with_difference(value: int | None, by: int) -> str:
    return f"{score(value)} ({signed(by)})" if by else score(value)
