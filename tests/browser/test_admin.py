"""An author's day in a browser: a question with a lab, rubric and figures is written, published, and drilled by Ada."""
from collections.abc import Callable
from itertools import cycle

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts import services as people
from accounts.models import User
from drillapp.settings import SITE_URL
from flashcards.models import Card, Review
from questions.models import Question, Topic

Visit = Callable[..., Page]
Check = Callable[[Page], None]
LIST = "/admin/questions/question/"
# Two of 1,024 and one of 512 fit a budget of 2,048 only in part: 1,024 for A and 1,024 for B, nothing for C (by hand).
TYPED = {
    "title": "Who fits the budget", "slug": "who-fits", "minutes": "3",
    "ask": "Three prompts of [[one.steps.0.tokens.A]] tokens wait; the budget is [[one.max_num_batched_tokens|0]].\n\n"
           "**How many tokens does the first step schedule?**",
    "runs-0-name": "one",
    "runs-0-values": 'requests = "A:1024/8@0,B:1024/8@0,C:512/8@0"\nmax_num_batched_tokens = 2048\n'
                     "usable_blocks = 1000\nblock_size = 16\nmax_model_len = 9216\nmax_num_seqs = 8",
    "check_figure": "one.steps.0.total_scheduled", "check_unit": "tokens", "check_tolerance": "0",
    "said_aloud": "[[one.steps.0.total_scheduled]]: A and B in full, C waits[^code].",
    "catch": "The budget is in tokens.", "measure": "The waiting queue.",
    "hints-0-text": "What is left after A?",
    "sources-0-id": "code", "sources-0-file": "vllm/v1/core/sched/scheduler.py", "sources-0-version": "0.33.0",
}


@pytest.fixture
def kim(transactional_db: None, kim: User) -> User:
    kim.groups.add(Group.objects.get(name="Editors"))
    Topic.objects.create(slug="scheduling", title="Scheduling", position=1)
    return kim


@pytest.fixture
def ben(transactional_db: None, ben: User) -> User:
    ben.groups.add(Group.objects.get(name="Publishers"))
    return ben


def write(page: Page) -> None:
    page.get_by_label("Topic").select_option("scheduling")
    page.get_by_label("Kind").select_option("size")
    page.get_by_label("Level").select_option("senior")
    page.locator("[name=runs-0-lab]").select_option("scheduler")
    for name, text in TYPED.items():
        page.locator(f"[name={name}]").fill(text)
    for number, point in enumerate(("budget", "order", "left", "waits")):
        page.locator(f"[name=rubric-{number}-id]").fill(point)
        for key in ("text", "named", "explained", "bounded"):
            page.locator(f"[name=rubric-{number}-{key}]").fill(f"{key} of {point}")


def test_a_question_is_written_published_and_drilled(visit: Visit, kim: User, ben: User, ada: User):
    # Kim comes by the header's door, forgets an anchor, is told, and saves a draft.
    page = visit(user=kim)
    page.goto("/")
    page.get_by_role("link", name="Author").click()
    page.get_by_role("link", name="Questions", exact=True).first.click()
    page.goto(LIST)
    page.get_by_role("link", name="Add question").click()
    write(page)
    page.locator("[name=rubric-2-bounded]").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#faults")).to_contain_text("Not saved: 1 fault.")
    expect(page.locator(".beside")).to_contain_text("Three prompts of 1,024 tokens wait; the budget is 2048.")
    page.get_by_role("link", name="Rubric 3, bounded").click()
    anchor = page.locator("[name=rubric-2-bounded]")
    expect(anchor).to_be_in_viewport()
    expect(page.locator("#id_rubric-2-bounded_error")).to_have_text("It is missing.")
    anchor.fill("says how many")
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert Question.objects.get().draft
    page.get_by_role("link", name="View on site").click()
    expect(page.get_by_text("a draft: authors alone see it")).to_be_visible()
    expect(page.get_by_text("2,048 tokens", exact=True)).to_be_visible()

    # No learner meets it before Ben publishes it.
    learner = visit(user=ada)
    learner.goto("/review/")
    expect(learner.get_by_role("heading", name="Nothing is due.")).to_be_visible()
    publisher = visit(user=ben)
    publisher.goto(LIST)
    publisher.get_by_role("link", name="Who fits the budget").click()
    publisher.get_by_role("button", name="Publish").click()
    expect(publisher.get_by_text("“who-fits” is published: from now on it is drilled.")).to_be_visible()

    # Ada drills it: commit, check, tick, grade.
    learner.goto("/")
    learner.get_by_role("link", name="Start").click()
    expect(learner.get_by_text("Three prompts of 1,024 tokens wait")).to_be_visible()
    learner.locator("#typed").fill("2,048")
    learner.get_by_role("button", name="Check").first.click()
    expect(learner.get_by_text("A and B in full, C waits")).to_be_visible()
    learner.get_by_label("text of budget").check()
    expect(learner.locator("#tick-count")).to_have_text("1 of 4")
    learner.locator(".grade", has_text="Good").click()
    expect(learner.get_by_role("heading", name="Done for today")).to_be_visible()
    assert list(Review.objects.values_list("card__question__slug", "rating")) == [("who-fits", 3)]

    # From here on Kim's page of it is closed.
    page.goto(f"{LIST}{Question.objects.get().pk}/change/")
    expect(page.get_by_text("only Publishers change it")).to_be_visible()
    assert Card.objects.get().user == ada


def test_rows_are_added_without_a_script(visit: Visit, kim: User):
    page = visit(user=kim, javascript=False)
    page.goto(f"{LIST}add/")
    page.locator("[name=title]").fill("Kept")
    page.locator("[name=hints-0-text]").fill("First.")
    page.get_by_role("button", name="Add another hint").click()
    expect(page.locator("[name=title]")).to_have_value("Kept")
    expect(page.locator("[name=hints-0-text]")).to_have_value("First.")
    page.locator("[name=hints-2-text]").fill("Third.")
    assert not Question.objects.exists()


def test_every_page_of_the_admin_holds_to_policy_and_is_accessible(
    visit: Visit, kim: User, ben: User, ada: User, check_access: Check
):
    """The pages in turn in light and in dark; their colours are the same few for all of them."""
    ben.is_superuser = True
    ben.save()
    page = visit(user=ben)
    themes = cycle(("dark", "light"))

    def check_page() -> None:
        page.wait_for_load_state("networkidle")
        check_access(page)
        page.emulate_media(color_scheme=next(themes))  # for the next page

    page.goto(f"{LIST}add/")
    write(page)
    page.get_by_role("button", name="Check, don’t save").click()
    expect(page.get_by_text("Nothing is wrong with it.")).to_be_visible()
    check_page()
    page.locator("[name=minutes]").fill("abc")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#id_minutes_error")).to_be_visible()
    check_page()
    page.locator("[name=minutes]").fill("3")
    page.get_by_role("button", name="Save", exact=True).click()
    question = Question.objects.get()
    for address in (
        "/admin/", "/admin/questions/", LIST, f"{LIST}?q=who&kind__exact=size", f"{LIST}{question.pk}/change/",
        f"{LIST}{question.pk}/history/", f"{LIST}{question.pk}/delete/", f"{LIST}{question.pk}/preview/",
        "/admin/questions/note/", "/admin/questions/note/add/", "/admin/accounts/user/",
        f"/admin/accounts/user/{ada.pk}/change/",
    ):
        page.goto(address)
        check_page()
    # By way of signing in, as somebody who is signed out comes.
    stranger = visit()
    stranger.goto("/admin/")
    expect(stranger.get_by_role("heading", name="Sign in", level=1)).to_be_visible()
    stranger.goto(people.signin_link(ben, timezone.now()).removeprefix(SITE_URL))
    stranger.goto("/admin/")
    stranger.get_by_role("button", name="Log out").click()
    expect(stranger.get_by_role("heading", name="Sign in", level=1)).to_be_visible()


def test_a_phone_does_not_scroll_the_form_sideways(visit: Visit, kim: User):
    page = visit(user=kim, phone=True, viewport={"width": 390, "height": 740})
    page.goto(f"{LIST}add/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
