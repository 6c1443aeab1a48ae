"""After the questions, in a browser: two score alone, settle what differs, release, and the candidate drills."""
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from mocks import scoring, services
from mocks.models import Interview, Membership
from tests.browser.conftest import LOOKS
from tests.conftest import person
from tests.mocks.conftest import question

Visit = Callable[..., Page]
POINTS = ("first", "second", "third")


@pytest.fixture
def chen(transactional_db: None) -> User:
    return person("Chen")


@pytest.fixture
def interview(ada: User, ben: User, chen: User) -> Interview:
    """At its debrief: Ben and Chen have asked Ada one question, and Chen's scores are in."""
    now = timezone.now() - timedelta(minutes=20)
    team = services.make_team(ben, "Platform", now)
    for user, role in ((ada, "candidate"), (chen, "interviewer")):
        Membership.objects.create(team=team, user=user, role=role, joined_at=now)
    row = services.plan_interview(
        team, ben, ada, now, minutes=30, plan=[{"slug": question("blocks").slug, "minutes": 6}], spec={},
        seats={ben: "interviewer", chen: "interviewer"})
    services.begin(ben, row, now)
    acts = [(ben, "ask", {"position": 0}), (ben, "hint", {"number": 0}), (ada, "scratch", {"text": "10 blocks"})]
    acts += [(chen, "score", {"position": 0, "point": point, "value": 1, "evidence": "said so"}) for point in POINTS]
    acts += [(ben, "phase", {"to": "score"}), (ben, "debrief", {}),
             (chen, "call", {"verdict": "no", "level": "senior", "reason": "thin"}), (chen, "submit", {})]
    for user, kind, detail in acts:
        services.record(user, row, kind, detail, now + timedelta(minutes=5))
    return row


def test_two_score_alone_and_settle_what_differs(visit: Visit, interview: Interview, ada: User, ben: User, chen: User):
    scores, report = (f"/mock/{interview.code}/{name}/" for name in ("scores", "report"))
    mine, other = visit(user=ben), visit(user=chen, phone=True)
    other.goto(scores)
    expect(other.get_by_text("not in yet: Ben")).to_be_visible()
    mine.goto(scores)
    expect(mine.get_by_text("thin")).to_have_count(0)

    mine.get_by_label("evidence").first.fill("allocate_slots returns None")
    expect(mine.get_by_text("Kept.", exact=True)).to_be_visible()
    expect(mine.get_by_label("evidence").first).to_be_focused()  # what comes back takes nothing away
    below = mine.locator(".score-point").last
    for number, value in enumerate(("3", "1", "1")):
        before = below.bounding_box()
        mine.locator(".score-point").nth(number).locator(".anchors label").nth(int(value)).click()
        expect(mine.locator("#missing")).to_contain_text(("2 points", "1 point", "Every point")[number])
        assert below.bounding_box() == before  # nothing moves away under the pointer
    expect(mine.get_by_text("Every point has a score.")).to_be_visible()
    mine.reload()
    expect(mine.get_by_label("evidence").first).to_have_value("allocate_slots returns None")
    mine.get_by_role("button", name="Hand in my scores").click()
    expect(mine.get_by_text("Choose one of the four.")).to_be_visible()
    mine.get_by_label("yes", exact=True).check(force=True)
    mine.get_by_label("staff", exact=True).check(force=True)
    mine.get_by_label("because").fill("clear")

    other.get_by_label("because").fill("we say")
    mine.get_by_role("button", name="Hand in my scores").click()
    expect(mine.get_by_text("thin")).to_be_visible()
    expect(other.get_by_text("clear")).to_be_visible()  # without a reload
    other.get_by_role("button", name="2", exact=True).first.click()
    expect(other.get_by_role("button", name="2", exact=True).first).to_have_attribute("aria-pressed", "true")
    expect(other.get_by_label("because")).to_have_value("we say")
    expect(mine.locator("#criterion-1-1 .agreed summary")).to_contain_text("2")
    mine.locator("#criteria-1 > summary").press("Enter")
    other.get_by_role("button", name="3", exact=True).first.click()
    expect(mine.locator("#criterion-1-1 .agreed summary")).to_have_text("3")
    expect(mine.locator("#criteria-1")).not_to_have_attribute("open", "")  # as its reader left it
    expect(mine.locator("#criteria-1 > summary")).to_be_focused()
    other.locator("#agree-call").get_by_label("no", exact=True).check(force=True)
    other.get_by_role("button", name="Set the agreed call").click()
    expect(other.get_by_text("It is set: no.")).to_be_focused()

    services.record(ben, interview, "end", {}, timezone.now())
    mine.goto(report)
    mine.get_by_text("Change the agreed call").click()
    mine.locator("#agree-call").get_by_label("yes", exact=True).check(force=True)
    mine.get_by_role("button", name="Set the agreed call").click()
    expect(mine.get_by_text("It is set: yes.")).to_be_focused()
    expect(mine.locator(".calls .agreed")).to_contain_text("yes")
    mine.get_by_label("Scores").check()
    mine.get_by_role("button", name="Release what is ticked to Ada").click()
    expect(mine.get_by_text("Ada sees scores now.")).to_be_visible()
    expect(mine.get_by_role("button", name="Release what is ticked to Ada")).to_be_focused()

    candidate = visit(user=ada, phone=True)
    candidate.goto(report)
    expect(candidate.get_by_text("Point first.")).to_have_count(0)
    candidate.get_by_role("button", name="Put this question into my drill").click()
    expect(candidate.get_by_text("1 added: it comes first")).to_be_visible()


def test_by_keyboard_a_sheet_leads_to_what_it_lacks_and_then_to_what_it_opens(
    visit: Visit, interview: Interview, ada: User, ben: User
):
    page = visit(user=ben)
    page.goto(f"/mock/{interview.code}/scores/")
    hand_in = page.get_by_role("button", name="Hand in my scores")
    hand_in.press("Enter")
    expect(page.get_by_text("3 points have no score yet.")).to_be_visible()
    expect(page.get_by_role("radio", name="strong yes")).to_be_focused()
    expect(page.get_by_role("group", name="overall")).to_have_accessible_description("Choose one of the four.")
    for name in ("yes", "staff"):
        page.get_by_role("radio", name=name, exact=True).press("Space")
    page.get_by_label("because").fill("It holds.")
    hand_in.press("Enter")
    expect(page.get_by_role("link", name="Point first.")).to_be_focused()
    page.get_by_role("button", name="Keep them for now").press("Enter")
    expect(page.locator("#messages")).to_have_text("Kept.")
    expect(page.get_by_role("button", name="Keep them for now")).to_be_focused()
    for point in POINTS:
        page.locator(f"#point-0-{point}").get_by_role("radio", name="0 not said").press("Space")
    expect(page.locator("#missing")).to_have_text("Every point has a score.")
    hand_in.press("Enter")
    expect(page.locator("#messages")).to_have_text("Your scores are in.")
    expect(page.get_by_role("heading", name="Scores and call")).to_be_focused()
    page.get_by_role("button", name="Set the agreed call").press("Enter")
    expect(page.get_by_role("radio", name="strong yes")).to_be_focused()
    now = timezone.now()
    services.record(ben, interview, "end", {}, now)
    interview.refresh_from_db()
    scoring.release(ben, interview, ["scores"], now)
    candidate = visit(user=ada, phone=True)
    candidate.goto(f"/mock/{interview.code}/report/")
    candidate.get_by_role("button", name="Put this question into my drill").press("Enter")
    expect(candidate.locator("#messages")).to_have_text("1 added: it comes first in today’s drill.")
    expect(candidate.locator("#take-missed")).to_be_focused()
    expect(candidate.locator("#take-missed")).to_contain_text("All of these were put into your drill.")


def test_two_sheets_of_one_interviewer_lose_no_words(visit: Visit, interview: Interview, ben: User):
    desk, tablet = visit(user=ben), visit(user=ben, phone=True)
    for page in (desk, tablet):
        page.goto(f"/mock/{interview.code}/scores/")
    desk.get_by_label("evidence").first.fill("at the desk")
    expect(desk.get_by_text("Kept.", exact=True)).to_be_visible()
    tablet.locator(".anchors label").nth(2).click()
    expect(tablet.locator("#missing")).to_contain_text("2 points")
    interview.refresh_from_db()
    assert interview.folded().mark(str(ben.pk), 0, "first").evidence == "at the desk"
    tablet.get_by_label("evidence").first.fill("on the tablet")
    expect(tablet.locator(".score-point").first).to_contain_text("what you typed took its place")
    expect(tablet.locator(".score-point").first).to_contain_text("at the desk")
    with tablet.expect_response("**/scores/") as answered:
        tablet.get_by_label("evidence").first.fill("on the tablet, on")
    assert "took its place" not in answered.value.text()


def test_without_javascript_the_same_forms_do(visit: Visit, interview: Interview, ben: User):
    page = visit(user=ben, javascript=False, phone=True)
    page.goto(f"/mock/{interview.code}/scores/")
    for number in range(3):
        page.locator(".score-point").nth(number).locator("input[type=radio]").nth(2).check(force=True)
    page.get_by_label("no", exact=True).check(force=True)
    page.get_by_role("button", name="Hand in my scores").click()
    expect(page.get_by_text("Say at which level.")).to_be_visible()
    page.get_by_label("senior", exact=True).check(force=True)
    page.get_by_label("because").fill("named, not explained")
    page.get_by_role("button", name="Hand in my scores").click()
    expect(page.get_by_text("0 of 3 points scored alike")).to_be_visible()
    page.get_by_role("button", name="1", exact=True).first.click()
    expect(page.locator("#criterion-1-1 .agreed summary")).to_contain_text("1")


@pytest.mark.parametrize("look", LOOKS)
def test_the_pages_are_accessible(
    visit: Visit, interview: Interview, ada: User, ben: User, chen: User, check_access: Callable[[Page], None],
    look: dict[str, bool],
):
    page = visit(user=ben, **look)
    page.goto(f"/mock/{interview.code}/scores/")
    check_access(page)
    for end in ("end", "release"):
        services.record(ben, interview, end, {"parts": ["scores", "answers"]}, timezone.now())
    page.goto(f"/mock/{interview.code}/report/")
    check_access(page)
    for user in (chen, ada):
        page = visit(user=user, **look)
        page.goto(f"/mock/{interview.code}/report/")
        page.locator("main details").evaluate_all("folds => folds.forEach(fold => fold.open = true)")
        check_access(page)
        page.goto(f"/mock/{interview.code}/report/?print")
        check_access(page)
