"""Every address as everybody: who is served, who is asked to sign in, who is refused, and to whom it is unknown.

A row is a pattern over ROLES: `+` served (a page, a form taken or sent back, or led on within the site), `i` asked to
sign in, `x` refused (403), `0` unknown (404). An address without a row fails, so a new one is thought about.
"""
import pytest
from django.db import transaction
from django.http import HttpResponse

from flashcards import works
from tests.drillapp.walk import NAMES, ROLES, World

ROWS = {
    # Open to anyone: signing in, the labs, what the site is.
    "++++++++": """
        account_confirm_email account_email_verification_sent account_inactive account_login account_logout
        account_reset_password account_reset_password_done account_reset_password_from_key
        account_reset_password_from_key_done account_signup accounts:accept_invite accounts:sign_in
        calculators:lab_json calculators:lab_page calculators:labs_page calculators:paste
        calculators:scheduler_record calculators:without_slash healthz keys_page mocks:join
    """,
    # Everybody's own.
    "i+++++++": """
        account_change_password account_set_password accounts:delete accounts:zone flashcards:apply_import
        flashcards:begin_drill flashcards:begin_quiz flashcards:bring_more flashcards:catch_up
        flashcards:default_settings flashcards:drill flashcards:drop_import flashcards:effect flashcards:export
        flashcards:export_file flashcards:history flashcards:import flashcards:new_own_card flashcards:new_quiz
        flashcards:numbers flashcards:own_cards flashcards:predict flashcards:print flashcards:question
        flashcards:questions flashcards:quizzes flashcards:remove_calendar flashcards:renew_calendar
        flashcards:moving flashcards:review flashcards:settings flashcards:today flashcards:undo flashcards:undo_action
        flashcards:undo_catch_up mocks:mock mocks:new_team mocks:solo progress:csv progress:fit progress:page
        progress:readiness progress:readiness_csv progress:start_fit progress:start_what_if progress:what_if
        questions:glossary questions:search
    """,
    # The candidate's own cards, quizzes and notes.
    "i0+00000": """
        flashcards:add flashcards:amend flashcards:answer flashcards:answer_place flashcards:bury
        flashcards:check flashcards:draft flashcards:draft_place flashcards:drill_missed
        flashcards:edit_own_card flashcards:end_quiz flashcards:go_on flashcards:leave flashcards:note
        flashcards:quiz flashcards:quiz_place flashcards:remove flashcards:reset flashcards:retire_own_card
        flashcards:score_place flashcards:set_due flashcards:suspend flashcards:ticks flashcards:unsuspend
        progress:card
    """,
    # Of a team and its interviews, for all in it,
    "i0++++00": """
        mocks:act mocks:feed mocks:lab mocks:leave mocks:room mocks:share_drill mocks:team
    """,
    # for who plans and leads, and reads the report before its release,
    "i0x+x+00": """
        mocks:call_off mocks:delete_template mocks:mail_invitation mocks:new_plan mocks:plan mocks:rename_template
        mocks:report mocks:report_json mocks:report_markdown
    """,
    # for who interviewed,
    "i0x+xx00": """
        mocks:agree mocks:agree_call mocks:scores
    """,
    # for the owner,
    "i0xxx+00": """
        mocks:change_role mocks:delete_team mocks:hand_over mocks:invite mocks:release mocks:remove_member
        mocks:rename_team
    """,
    "i0000+00": """
        mocks:withdraw
    """,
    # and what the candidate may take only once something is released.
    "i0xxxx00": """
        mocks:take_missed
    """,
    # Authors' pages, for who may write,
    "i00000++": """
        /admin/accounts/user/…/ admin:app_list admin:index admin:jsi18n admin:login admin:logout
        admin:password_change admin:password_change_done /admin/questions/note/…/ /admin/questions/question/…/
        admin:questions_note_add admin:questions_note_change admin:questions_note_changelist
        admin:questions_note_history admin:questions_question_add admin:questions_question_change
        admin:questions_question_changelist admin:questions_question_history admin:questions_question_preview
    """,
    # for who may do more,
    "i00000x+": """
        admin:accounts_user_change admin:accounts_user_changelist admin:accounts_user_history
        admin:questions_note_delete admin:questions_question_delete
    """,
    # and what nobody does there.
    "i00000xx": """
        admin:accounts_user_add admin:accounts_user_delete admin:autocomplete
    """,
    # Of something that this world has none of.
    "i0000000": """
        admin:view_on_site /admin/… flashcards:number flashcards:number_note progress:adopt progress:fit_csv
        progress:restore progress:what_if_csv
    """,
    # For whoever holds the secret in the address.
    "00000000": """
        flashcards:calendar flashcards:stop_mail
    """,
}
EXPECTED = {name: row for row, names in ROWS.items() for name in names.split()}


def served(answer: HttpResponse) -> str:
    """A row's sign for an answer."""
    if answer.status_code in (403, 404):
        return {403: "x", 404: "0"}[answer.status_code]
    leads = answer.headers.get("Location", "")
    return "i" if leads.startswith(("/accounts/login/?next=", "/admin/login/?next=")) else "+"


def walked(world: World, role: str, name: str) -> str:
    """What an address has for somebody: by GET where it takes that, else by a form; nothing of it stays."""
    client = world.browser(role)
    with transaction.atomic():
        path = world.path(name)
        answer = client.get(path)
        if answer.status_code == 405:
            answer = client.post(path, world.form(name))
        transaction.set_rollback(True)
    return served(answer)


def test_every_address_has_a_row_and_every_row_an_address():
    assert set(NAMES) - set(EXPECTED) == set()
    assert set(EXPECTED) - set(NAMES) == set()


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    """The world, without a process of its own for what takes a while."""
    monkeypatch.setattr(works, "start", lambda work: None)
    return World()


@pytest.mark.parametrize("at", range(len(ROLES)), ids=ROLES)
def test_everybody_gets_what_the_row_says(world: World, at: int):
    found = {name: walked(world, ROLES[at], name) for name in NAMES}
    assert found == {name: row[at] for name, row in EXPECTED.items()}
