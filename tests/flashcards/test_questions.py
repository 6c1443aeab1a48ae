"""The Questions page and a question's own page, by plain links and forms."""
import html
import re
from datetime import date, timedelta

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from calculators.pictures import Text
from flashcards import pictures, services
from flashcards.filters import Choice
from flashcards.models import Attempt, Card, Draft, Memo, Rating, Review
from flashcards.question_list import QuestionList
from flashcards.views import MOVED_ON_HERE
from questions.models import Question, Topic
from tests.flashcards.conftest import NOON
from tests.flashcards.test_review_pages import ENGINE_MAP, text
from tests.flashcards.test_services import answer, place

DAY = timedelta(days=1)
HERE = {"only": "this"}


# The list, with a bank made by hand:   q1 size    new         q2 trace   due, lapsed once
#                                       q3 size    learning    q4 explain known
#                                       q5 decide  suspended   k1 size    due, of another topic

@pytest.fixture
def shelf(ada: User) -> dict[str, Card]:
    topics = [Topic.objects.create(slug=slug, title=slug, position=at)
              for at, slug in enumerate(("engine", "scheduling", "kv-cache"))]
    kinds = {"q1": "size", "q2": "trace", "q3": "size", "q4": "explain", "q5": "decide", "k1": "size"}
    for at, (slug, kind) in enumerate(kinds.items()):
        Question.objects.create(
            slug=slug, topic=topics[2 if slug == "k1" else 1], position=at, title=f"About {slug}", kind=kind,
            level="senior" if slug == "q4" else "staff", minutes=3, ask=f"What of {slug} at [[run.rate]] a second?",
            said_aloud="Spoken", catch="Caught", measure="Measured", sources=[{"id": "f", "flag": f"--flag-{slug}"}],
            runs={"run": {"lab": "gpu-count" if slug == "k1" else "kv-size"}} if slug in ("q1", "k1") else {},
        )
    services.ensure_cards(ada)
    cards = {card.question.slug: card for card in ada.cards.select_related("question", "user__profile")}
    now = timezone.now()
    answer(cards["q2"], Rating.GOOD, now - 40 * DAY)
    answer(cards["q2"], Rating.AGAIN, now - 38 * DAY)
    answer(cards["q2"], Rating.GOOD, now - 38 * DAY)
    answer(cards["q3"], Rating.GOOD, now)
    for ago in (40, 38, 30):
        answer(cards["q4"], Rating.EASY, now - ago * DAY)
    answer(cards["k1"], Rating.GOOD, now - 9 * DAY)
    place(cards["q5"], "suspend", now)
    return cards


def listed(user: User, query: str = "") -> QuestionList:

    return QuestionList(user, timezone.now(), QueryDict(query))


def slugs(user: User, query: str = "") -> list[str]:
    return [row.question.slug for row in listed(user, query).filtered.items]


def counts(shown: QuestionList, heading: str) -> dict[str, int]:
    choices: list[Choice] = dict(shown.filtered.facets)[heading]
    return {choice.label: choice.count for choice in choices}


def test_every_question_is_listed_by_topic_in_the_banks_order(shelf: dict[str, Card], ada: User):
    topics = [(topic.slug, [row.question.slug for row in rows]) for topic, rows in listed(ada).topics]
    assert topics == [("scheduling", ["q1", "q2", "q3", "q4", "q5"]), ("kv-cache", ["k1"])]


@pytest.mark.parametrize(("query", "left"), [
    ("topic=kv-cache", ["k1"]),
    ("kind=size&kind=trace", ["q1", "q2", "q3", "k1"]),
    ("kind=size&topic=scheduling", ["q1", "q3"]),
    ("level=senior", ["q4"]),
    ("lab=kv-size", ["q1"]),
    ("state=new", ["q1"]),
    ("state=due", ["q2", "k1"]),
    ("state=learning", ["q3"]),
    ("state=known", ["q4"]),
    ("state=lapsed", ["q2"]),
    ("state=suspended", ["q5"]),
    ("state=due&state=new", ["q1", "q2", "k1"]),
    ("q=ABOUT q3", ["q3"]),
    ("q=flag-q5", ["q5"]),
    ("q=run.rate", []),  # a figure's path is no text
    ("q=spoken", []),  # nor is the answer
    ("topic=nowhere&kind=nothing", ["q1", "q2", "q3", "q4", "q5", "k1"]),
])
def test_a_filter_leaves_what_it_says(shelf: dict[str, Card], ada: User, query: str, left: list[str]):
    assert slugs(ada, query) == left


def test_a_count_is_what_its_choice_would_leave_and_zeros_stay(shelf: dict[str, Card], ada: User):
    shown = listed(ada, "topic=scheduling&q=about")
    assert counts(shown, "Topic") == {"engine": 0, "scheduling": 5, "kv-cache": 1}
    assert counts(shown, "Kind") == {"explain": 1, "size": 2, "trace": 1, "diagnose": 0, "decide": 1}
    assert counts(shown, "State") == {
        "new": 1, "learning": 1, "due": 1, "known": 1, "lapsed": 1, "suspended": 1, "leech": 0}
    assert counts(shown, "Lab") == {"gpu-count": 0, "kv-size": 1}
    for heading, choices in shown.filtered.facets:
        for choice in choices:
            alone = choice.query.lstrip("?") if not choice.chosen else "topic=scheduling&q=about"
            if heading != "Topic":  # two topics together leave more than each
                assert len(slugs(ada, alone)) == choice.count


def test_what_lapsed_as_often_as_the_person_says_is_a_leech(
    as_ada: Client, shelf: dict[str, Card], ada: User
):
    ada.profile.leech_lapses = 2
    ada.profile.save()
    ada.cards.filter(question__slug__in=("k1", "q3")).update(lapses=2)
    assert slugs(ada, "state=leech") == ["q3", "k1"]
    page = text(as_ada.get("/questions/?state=leech"))
    assert page.count("a leech") == 2
    assert page.count('<a href="/labs/gpu-count">Try its lab</a>') == 1  # q3 has none
    assert '<a href="/questions/k1/#memo">Write your own note</a>' in page


def test_each_state_but_lapsed_is_a_part_of_the_whole(shelf: dict[str, Card], ada: User):
    shares = counts(listed(ada), "State")
    assert sum(count for state, count in shares.items() if state != "lapsed") == len(shelf)


def test_a_chip_takes_its_filter_off_and_keeps_the_others(shelf: dict[str, Card], ada: User):
    chosen = listed(ada, "topic=scheduling&kind=size&q=about").filtered.chosen
    assert {choice.label: choice.query for choice in chosen} == {
        "scheduling": "?q=about&kind=size", "size": "?q=about&topic=scheduling"}


def test_marks_are_said_in_words_too(as_ada: Client, shelf: dict[str, Card]):
    page = text(as_ada.get("/questions/"))
    rows = {found[1]: found[0] for found in re.findall(r'(<tr[^>]*>\s*<th scope="row">.*?/questions/(\w+)/.*?</tr>)',
                                                       page, re.DOTALL)}
    words = {slug: " ".join(re.sub(r"<[^>]+>", " ", row).split()) for slug, row in rows.items()}
    for slug, mark, said in (("q1", "hollow", "new"), ("q2", "diamond", "due today , lapsed 1×"),
                             ("k1", "square", "due today"), ("q5", "dash", "suspended")):
        assert f'class="mark {mark}"' in rows[slug]
        assert said in words[slug]
    assert 'class="mark ' not in rows["q3"] + rows["q4"]
    assert "in 2 d" in words["q3"]


def test_nothing_left_is_a_sentence_with_a_way_back(as_ada: Client, shelf: dict[str, Card]):
    page = text(as_ada.get("/questions/", {"q": "<b>nowhere", "state": "due"}))
    assert "No question is left by these filters and “&lt;b&gt;nowhere”." in page
    assert '<a href="/questions/">Clear them</a>' in page


def test_htmx_gets_the_list_alone(as_ada: Client, shelf: dict[str, Card]):
    part = text(as_ada.get("/questions/?kind=size", headers={"HX-Request": "true"}))
    assert part.lstrip().startswith('<div id="questions"')
    assert "</html>" not in part


def test_a_withdrawn_question_is_listed_only_for_who_began_it(shelf: dict[str, Card], ada: User):
    Question.objects.filter(slug__in=("q1", "q4")).update(retired=True)
    assert slugs(ada) == ["q2", "q3", "q4", "q5", "k1"]


# A question's own page

@pytest.fixture
def trace(deck: dict[str, Card]) -> Card:
    return deck["token-budget"]


@pytest.fixture
def size(deck: dict[str, Card]) -> Card:
    return deck["prefill-damage"]


def look(client: Client, card: Card) -> str:
    return text(client.get(reverse("flashcards:question", args=[card.question.slug])))


def send(client: Client, verb: str, card: Card, **sent: object) -> str:
    """Post to one of the card's verbs from its question's page as it is now, unless `sent` names another ordinal."""
    card.refresh_from_db()
    address = reverse(f"flashcards:{verb}", args=[card.pk])
    response = client.post(address, HERE | {"ordinal": card.next_ordinal} | sent, follow=True)
    assert response.redirect_chain[-1][0] == reverse("flashcards:question", args=[card.question.slug])
    return text(response)


def commit_map(client: Client, card: Card) -> str:
    return send(client, "check", card, **{f"said_{name}": said for name, said in ENGINE_MAP.items()})


def undo(client: Client, shown: Card) -> str:
    last = services.last_action(shown.user)
    sent = HERE | {"review": last.pk, "card": shown.pk}
    return text(client.post(reverse("flashcards:undo"), sent, follow=True))


def test_nothing_of_the_answer_is_on_the_page_before_the_commit(as_ada: Client, deck: dict[str, Card]):
    for slug, card in deck.items():
        question = card.question
        page = html.unescape(look(as_ada, card))
        assert 'name="rating"' not in page
        written = [question.said_aloud, question.catch, question.measure, question.derivation,
                   *(point["text"] for point in question.rubric), *(trap["refuted"] for trap in question.traps),
                   *(follow_up["key"] for follow_up in question.follow_ups),
                   *(source.get("symbol", "") for source in question.sources)]
        for whole in written:
            for piece in re.split(r"[\[\]`*|]+|\n", whole):
                if len(piece) > 25:
                    assert piece not in page, slug


def test_what_was_said_before_waits_for_the_next_commit(as_ada: Client, trace: Card):
    commit_map(as_ada, trace)
    page = send(as_ada, "answer", trace, rating="3")
    assert "2,045" not in page
    assert "1 answer" in page
    page = send(as_ada, "check", trace, aloud="1")
    assert "{A: 1, B: 1, C: 1, D: 2,045, E: 0}" in page.partition("history-heading")[2]


def test_the_same_number_waits_in_the_review_and_on_the_page(as_ada: Client, size: Card):
    scenario = re.compile(r"Then one prompt of [\d,]+ tokens")
    in_review = text(as_ada.get("/review/", {"card": size.pk, "ordinal": 1}))
    assert scenario.search(look(as_ada, size))[0] == scenario.search(in_review)[0]


def test_after_the_commit_all_of_the_answer_is_there(as_ada: Client, trace: Card):
    page = html.unescape(commit_map(as_ada, trace))
    assert "6 of 6 right" in page
    assert "The scheduler has no prefill phase." in re.sub(r"</?a\b[^>]*>", "", page)
    assert page.count('href="/glossary/#scheduler"') == 1  # a term is linked where it comes first
    for heading in ("tick what you said", "traps", "then they ask", "sources", "ask next", "your history"):
        assert f">{heading}</h2>" in page
    assert "says running before waiting" in page  # an anchor
    assert '<a href="/questions/prefill-damage/">' in page
    assert "Leave it uncounted" in page


def test_a_grade_from_the_page_is_one_review_whatever_is_resent(as_ada: Client, trace: Card):
    commit_map(as_ada, trace)
    page = send(as_ada, "answer", trace, rating="3")
    assert "Recorded: Good." in page
    again = send(as_ada, "answer", trace, rating="1", ordinal=1)
    assert MOVED_ON_HERE in again
    assert list(Review.objects.values_list("kind", "rating")) == [("answer", 3)]
    assert Review.objects.get().attempt.within is True


def test_a_fault_stays_on_the_page_with_what_was_typed(as_ada: Client, size: Card):
    sent = HERE | {"ordinal": 1, "typed": "31.5 GiB"}
    page = text(as_ada.post(reverse("flashcards:check", args=[size.pk]), sent))
    assert "GiB is a size; this asks for a time" in page
    assert "your history" in page
    assert 'value="31.5 GiB"' in page


def test_undo_on_the_page_brings_the_answer_back(as_ada: Client, trace: Card):
    commit_map(as_ada, trace)
    send(as_ada, "answer", trace, rating="1")
    page = undo(as_ada, trace)
    assert "6 of 6 right" in page
    assert "Undone: Again." in page
    send(as_ada, "answer", trace, rating="4")
    assert Review.objects.answers().get().rating == Rating.EASY


def test_undo_goes_to_the_question_that_it_is_about(as_ada: Client, trace: Card, size: Card):
    send(as_ada, "add", size)
    send(as_ada, "suspend", trace)
    undo(as_ada, trace)
    page = undo(as_ada, trace)
    assert f'action="/cards/{size.pk}/check/"' in page
    assert "Undone: Add to drill" in page
    assert not Review.objects.standing().exists()


def test_an_undone_number_card_comes_in_the_review(as_ada: Client, ada: User, trace: Card):
    number = Card.objects.filter(user=ada, question=None).first()
    services.answer_card(number, Rating.GOOD, ordinal=1, now=timezone.now())
    page = undo(as_ada, trace)
    assert f'action="/cards/{number.pk}/' in page


def test_an_undo_that_comes_too_late_stays_on_the_page(as_ada: Client, trace: Card):
    send(as_ada, "suspend", trace)
    sent = HERE | {"review": Review.objects.get().pk, "card": trace.pk}
    for _ in range(2):
        response = as_ada.post(reverse("flashcards:undo"), sent, follow=True)
    assert "Nothing was undone" in text(response)
    assert response.redirect_chain[-1][0] == "/questions/token-budget/"
    assert Review.objects.count() == 2


def test_left_uncounted_it_stands_in_the_history_alone(as_ada: Client, size: Card):
    send(as_ada, "check", size, typed="250 ms")
    attempt = Attempt.objects.get()
    page = send(as_ada, "leave", size, attempt=attempt.pk, tick=[size.question.rubric[0]["id"]])
    assert "Left uncounted" in page
    assert not Review.objects.exists()
    assert 'name="rating"' not in page
    assert 'value="250 ms"' not in page
    assert MOVED_ON_HERE in send(as_ada, "leave", size, attempt=attempt.pk)
    assert sorted(Attempt.objects.values_list("kind", flat=True)) == ["check", "leave"]
    page = send(as_ada, "check", size, typed="300 ms").partition("history-heading")[2]
    assert "250 ms" in page
    assert "1 of 7" in page


def test_fresh_numbers_come_after_leaving(as_ada: Client, size: Card):
    seen = set()
    for _ in range(4):
        send(as_ada, "check", size, aloud="1")
        seen.add(str(Attempt.objects.latest("pk").values))
        send(as_ada, "leave", size, attempt=Attempt.objects.latest("pk").pk)
    assert len(seen) > 1


def test_suspend_and_back_by_buttons(as_ada: Client, trace: Card):
    page = send(as_ada, "suspend", trace)
    assert "Suspended: it stays out of your drill" in page
    assert "Take it back into my drill" in page
    assert "Add to my drill now" not in page
    page = send(as_ada, "unsuspend", trace)
    assert "Back in your drill: new." in page
    assert [row.kind for row in Review.objects.all()] == ["suspend", "unsuspend"]


def test_added_it_is_the_next_to_come(as_ada: Client, deck: dict[str, Card], ada: User):
    late = deck["overload-queueing"]
    page = send(as_ada, "add", late)
    assert "Added: it comes first" in page
    assert "Up in today’s drill." in page
    assert "Add to my drill now" not in page
    assert f'action="/cards/{late.pk}/check/"' in text(as_ada.get("/review/"))


def test_a_stale_page_places_nothing(as_ada: Client, trace: Card):
    send(as_ada, "suspend", trace)
    for verb in ("add", "suspend", "unsuspend"):
        assert MOVED_ON_HERE in send(as_ada, verb, trace, ordinal=1)
    assert Review.objects.count() == 1


def test_a_note_is_kept_and_is_ones_own(as_ada: Client, trace: Card, eve: User):
    address = reverse("flashcards:note", args=["token-budget"])
    assert as_ada.post(address, {"text": "budget <first>"}).url == "/questions/token-budget/"
    kept = as_ada.post(address, {"text": "budget <first>\r\nthen\0 gaps"}, headers={"HX-Request": "true"})
    assert "Kept" in text(kept)
    assert "budget &lt;first&gt;\nthen gaps</textarea>" in look(as_ada, trace)
    other = Client()
    other.force_login(eve)
    assert "then gaps" not in look(other, trace)


def test_a_note_that_is_too_long_is_kept_up_to_its_limit_and_says_so(as_ada: Client, trace: Card):
    sent = as_ada.post(reverse("flashcards:note", args=["token-budget"]), {"text": "x" * 20_001}, follow=True)
    assert "Kept up to its first 20,000 characters" in text(sent)
    assert len(Memo.objects.get().text) == 20_000


@pytest.mark.parametrize("fields", [{"draft": True}, {"retired": True}])
def test_a_withdrawn_question_is_unknown_unless_begun(as_ada: Client, trace: Card, fields: dict[str, bool]):
    Question.objects.filter(pk=trace.question_id).update(**fields)
    for address in ("/questions/token-budget/", "/questions/nowhere/"):
        assert as_ada.get(address).status_code == 404
    assert as_ada.post(reverse("flashcards:note", args=["token-budget"]), {"text": "x"}).status_code == 404
    answer(trace)
    assert "yours alone still" in look(as_ada, trace)


@pytest.mark.parametrize("verb", ["leave", "add", "suspend", "unsuspend"])
def test_another_persons_card_is_unknown(eve: User, trace: Card, verb: str):
    client = Client()
    client.force_login(eve)
    assert client.post(reverse(f"flashcards:{verb}", args=[trace.pk]), {"ordinal": 1}).status_code == 404
    assert not Review.objects.exists()


def test_everybody_sees_their_own_history(as_ada: Client, trace: Card, eve: User):
    answer(trace)
    client = Client()
    client.force_login(eve)
    assert "Not begun" in look(client, trace)
    assert Draft.objects.filter(card__user=eve).count() == 1


def test_today_and_the_lab_lead_to_the_question(as_ada: Client, ada: User, trace: Card):
    assert '<a href="/questions/token-budget/">' in text(as_ada.get("/"))
    assert '<a href="/questions/token-budget/">' in text(as_ada.get("/labs/scheduler"))


# A question whose lab was taken away by hand

GONE = [{}, {"run": {"lab": "gone"}}, {"run": {"values": {}}}]


@pytest.mark.parametrize("runs", GONE)
@pytest.mark.parametrize("committed", [False, True])
def test_a_question_without_its_lab_says_so_calmly(
    as_ada: Client, trace: Card, runs: dict[str, dict[str, object]], committed: bool
):
    if committed:
        commit_map(as_ada, trace)
    Question.objects.filter(pk=trace.question_id).update(runs=runs)
    page = as_ada.get("/questions/token-budget/")
    assert (page.status_code, "This question can’t be shown at the moment." in text(page)) == (200, True)
    sent = {"ordinal": 1, "outline": "as I see it"} | HERE
    for verb in ("draft", "check", "ticks"):
        after = as_ada.post(reverse(f"flashcards:{verb}", args=[trace.pk]), sent, follow=True)
        assert "can’t be shown" in text(after)
    assert Attempt.objects.count() == committed
    assert "One step" in text(as_ada.get("/questions/"))


def test_a_review_goes_on_past_a_question_without_its_lab(as_ada: Client, trace: Card):
    Question.objects.filter(pk=trace.question_id).update(runs={})
    page = text(as_ada.get("/review/", {"card": trace.pk, "ordinal": 1}))
    (onward,) = re.findall(r'<a class="button main" href="([^"]+)" data-key="Enter">Go on', page)
    after = as_ada.get(html.unescape(onward))
    assert (after.status_code, "can’t be shown" in text(after)) == (200, False)


# The curve

def curve(days: list[int], today: int, recall: float) -> pictures.Drawing:
    answers = [pictures.Answered(NOON.date() + ago * DAY, "Good", 10.0, lapse=ago == 2) for ago in days]
    return pictures.memory_curve(answers, NOON.date() + today * DAY, 0.9, recall, lambda passed, _: 1 - passed / 10,
                                 width=300)


def test_the_curve_ends_at_todays_recall_and_never_under_its_floor():
    drawn = curve([0, 2], 8, 0.4)
    line = next(shape.d for shape in drawn.shapes if shape.css == "ink thin")
    points = [tuple(map(float, pair.split())) for pair in line[1:].split("L")]
    assert points[0] == (6, 12)  # remembered for certain
    assert points[-1] == (266, 98)  # 0.4 is cut at 0.7
    assert max(y for _, y in points) == 98
    assert [y for x, y in points if x == 71][-1] == 12  # two of eight days on, answered again


def test_a_letter_for_each_grade_and_a_lapse_bold():
    letters = [(shape.text, shape.css) for shape in curve([0, 2], 8, 0.9).shapes
               if isinstance(shape, Text) and "grade-letter" in shape.css]
    assert letters == [("G", "grade-letter"), ("G", "grade-letter lapse")]


def test_letters_of_one_day_stand_side_by_side():
    assert pictures.apart([6, 6, 100, 266, 266], 10, 266) == [6, 16, 100, 256, 266]


@pytest.mark.parametrize("days", [[0], [0, 0, 0], list(range(24))])
def test_any_history_fits_its_picture(days: list[int]):
    drawn = curve(days, days[-1], 1.0)
    assert all(0 <= shape.x <= 300 for shape in drawn.shapes if isinstance(shape, Text))


def test_the_day_is_named_shortly():
    assert pictures.day_name(date(2026, 3, 2)) == "2 Mar"
