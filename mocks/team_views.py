"""The Mock page, teams, and the way into them."""
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import BACK_KEY, INVITE_KEY
from accounts.forms import NameForm
from calculators.models.base import Refusal
from mocks import access, services, teams
from mocks.forms import DeleteTeamForm, InviteForm, RoleForm, TeamForm
from mocks.mock_page import MockPage
from mocks.models import Membership
from mocks.team_page import MAY, TeamPage

LEFT = "left"  # in the session: the team that this person went out of last, so that a second click is told no 404


@require_safe
@login_required
def mock_page(request: HttpRequest) -> HttpResponse:
    """The person's interviews, running, planned and past, and their teams."""
    return render(request, "mocks/mock.html", {"page": MockPage(request.user, timezone.now())})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_team(request: HttpRequest) -> HttpResponse:
    """A team to begin; its page follows."""
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return redirect("mocks:team", services.make_team(request.user, form.cleaned_data["name"], timezone.now()).pk)
    return render(request, "mocks/new_team.html", {"form": form})


@require_safe
@login_required
def team_page(request: HttpRequest, pk: int) -> HttpResponse:
    """A team as this member sees it."""
    return shown(request, access.membership_for(request.user, pk))


def shown(
    request: HttpRequest, member: Membership, invite: InviteForm | None = None, rename: TeamForm | None = None
) -> HttpResponse:
    """The team's page, with what was typed in a form that can't be taken as it is."""
    return render(request, "mocks/team.html", {
        "page": TeamPage(member, timezone.now()), "member": member, "team": member.team,
        "invite": invite or InviteForm(), "rename": rename or TeamForm(initial={"name": member.team.name}),
        "roles": Membership.Role.values, "may": MAY[member.role], "can_sign_up": settings.DRILL_SIGNUP != "closed",
    })


def said(request: HttpRequest, pk: int, sentence: str) -> HttpResponse:
    """The page where the form is that was sent, which shows what it did."""
    messages.success(request, sentence)
    return redirect("mocks:team", pk)


def refused(request: HttpRequest, pk: int, refusal: Refusal) -> HttpResponse:
    """The page at its top, where the refusal stands."""
    messages.error(request, str(refusal))
    return redirect(top_of(pk))


def top_of(pk: int) -> str:
    return f"{reverse('mocks:team', args=[pk])}#messages"


# Invitations

@require_POST
@login_required
def invite(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a link into the team, and mail it where an address is given."""
    owner = access.owned_team_for(request.user, pk)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return shown(request, owner, invite=form)
    asked, now = form.cleaned_data, timezone.now()
    try:
        invitation = teams.invite(
            owner, asked["role"], now, days=asked["days"], most_uses=asked["most_uses"], email=asked.get("email", ""))
    except Refusal as refusal:
        return refused(request, pk, refusal)
    if not invitation.email:
        return said(request, pk, "The link is made; hand it on.")
    try:
        if invitation.made_at == now:
            teams.mail_invitation(invitation)
    except OSError:
        return refused(request, pk, Refusal(
            f"The mail to {invitation.email} could not be sent. The link is good; hand it on."))
    return said(request, pk, f"Sent to {invitation.email}.")


@require_POST
@login_required
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Take an invitation back."""
    invitation = access.invitation_for(request.user, pk)
    teams.withdraw(invitation, timezone.now())
    return said(request, invitation.team_id, "Withdrawn: the link lets nobody in any more.")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Where an invitation leads: who invites to what, and one button. Open to whoever holds the link.

    A link that lets nobody in, for whatever reason, gets one page (404) that says nothing of the team.
    """
    user, now = request.user, timezone.now()
    if "\0" in token:  # which no database takes
        return dead(request)
    if user.is_authenticated and (member := teams.membership_by(token, user)):
        return render(request, "mocks/joined.html", {"member": member, "may": MAY[member.role]})
    invitation = teams.invitation_by(token, now)
    if invitation is None or user.is_authenticated and not teams.admits(invitation, user):
        return dead(request, bool(invitation and invitation.email not in ("", getattr(user, "email", ""))))
    typed = request.POST if request.method == "POST" else None
    form = NameForm(typed, initial={"name": getattr(user, "first_name", "")})
    if not user.is_authenticated:
        request.session[INVITE_KEY], request.session[BACK_KEY] = token, request.path
    elif request.method == "POST" and form.is_valid():
        return joined(request, token, form.cleaned_data["name"])
    return render(request, "mocks/join.html", {
        "invitation": invitation, "may": MAY[invitation.role], "can_sign_up": settings.DRILL_SIGNUP != "closed",
        "form": form})


def joined(request: HttpRequest, token: str, name: str) -> HttpResponse:
    """Join, by that name if one was typed, and go on to the team."""
    member = teams.join(request.user, token, timezone.now())
    if member and name:
        request.user.rename(name)
    return said(request, member.team_id, f"You are in, as {member.role}.") if member else dead(request)


def dead(request: HttpRequest, for_another: bool = False) -> HttpResponse:
    return render(request, "mocks/join_dead.html", {"for_another": for_another}, status=404)


# Members

@require_POST
@login_required
def change_role(request: HttpRequest, pk: int, member: int) -> HttpResponse:
    """Give a member another role."""
    access.owned_team_for(request.user, pk)
    form = RoleForm(request.POST)
    try:
        if not form.is_valid():
            raise Refusal("A role is one of those in the list.")
        changed = teams.change_role(pk, member, form.cleaned_data["role"], timezone.now())
    except Refusal as refusal:
        return refused(request, pk, refusal)
    return said(request, pk, f"{changed.user.name} is {changed.role} now.")


@require_POST
@login_required
def remove_member(request: HttpRequest, pk: int, member: int) -> HttpResponse:
    """Take somebody else out of the team."""
    owner = access.owned_team_for(request.user, pk)
    try:
        if member == owner.pk:
            raise Refusal("To go yourself, leave the team.")
        gone = teams.remove(pk, member, timezone.now())
    except Refusal as refusal:
        return refused(request, pk, refusal)
    except Http404:
        return said(request, pk, "That member is out of the team already.")
    return said(request, pk, f"{gone.name} is out of the team.")


@require_POST
@login_required
def leave(request: HttpRequest, pk: int) -> HttpResponse:
    """Go out of the team oneself."""
    if is_left(request, pk):
        return redirect("mocks:mock")
    mine = access.membership_for(request.user, pk)
    try:
        teams.remove(pk, mine.pk, timezone.now())
    except Refusal as refusal:
        return refused(request, pk, refusal)
    request.session[LEFT] = pk
    messages.success(request, f"You have left {mine.team.name}.")
    return redirect("mocks:mock")


def is_left(request: HttpRequest, pk: int) -> bool:
    """Whether this person has just gone out of the team, as a second click finds it."""
    return request.session.get(LEFT) == pk and not request.user.memberships.filter(team=pk).exists()


@require_POST
@login_required
def hand_over(request: HttpRequest, pk: int) -> HttpResponse:
    """Make another member the owner in one's own place."""
    mine = access.membership_for(request.user, pk)
    try:
        to = number(request.POST.get("member", ""))
        if not mine.is_owner and mine.team.memberships.filter(pk=to, role=Membership.Role.OWNER).exists():
            return redirect("mocks:team", pk)  # a second click
        heir = teams.hand_over(access.owned_team_for(request.user, pk), to, timezone.now())
    except Refusal as refusal:
        return refused(request, pk, refusal)
    return said(request, pk, f"{heir.user.name} owns the team now; you are interviewer.")


def number(text: str) -> int:
    """The number of a member, as sent. Raises Refusal when it is none."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise Refusal("Choose the member who is to own the team.")
    return int(text)


@require_POST
@login_required
def share_drill(request: HttpRequest, pk: int) -> HttpResponse:
    """Let plans of this team look at one's own drill, or no longer."""
    mine, shares = access.membership_for(request.user, pk), request.POST.get("shares") == "on"
    teams.share_drill(mine, shares)
    return said(request, pk, "Plans of this team may look at your drill." if shares
                else "Plans of this team see nothing of your drill.")


# The team itself

@require_POST
@login_required
def rename_team(request: HttpRequest, pk: int) -> HttpResponse:
    """Call the team something else."""
    owner = access.owned_team_for(request.user, pk)
    form = TeamForm(request.POST)
    if not form.is_valid():
        return shown(request, owner, rename=form)
    teams.rename(owner.team, form.cleaned_data["name"])
    messages.success(request, "Renamed.")
    return redirect(top_of(pk))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delete_team(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete the team with all its interviews, once its name is typed."""
    if is_left(request, pk):
        return redirect("mocks:mock")
    owner = access.owned_team_for(request.user, pk)
    form = DeleteTeamForm(owner.team.name, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            teams.delete(pk)
        except Refusal as refusal:
            return refused(request, pk, refusal)
        request.session[LEFT] = pk
        messages.success(request, f"{owner.team.name} and everything that was in it are gone.")
        return redirect("mocks:mock")
    counts = {"members": owner.team.memberships.count(), "interviews": owner.team.interviews.count()}
    return render(request, "mocks/delete_team.html", {"team": owner.team, "form": form, **counts})
