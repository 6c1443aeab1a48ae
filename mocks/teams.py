"""What is done to a team: invitations, roles, coming and going. A team always has an owner; without members it goes."""
from datetime import datetime, timedelta
from secrets import token_urlsafe

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.http import Http404
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from calculators.models.base import Refusal
from mocks import room, services
from mocks.models import Interview, Invitation, InvitationUse, Membership, Team
from questions.models import Embargo

TOKEN_BYTES = 24
MOST_LIVE = 50  # invitations of a team that hold at one time
Role = Membership.Role


def locked(team: int) -> Team:
    """The team, with nobody else changing who is in it meanwhile; one that is gone is unknown (404)."""
    if (found := Team.objects.select_for_update().filter(pk=team).first()) is None:
        raise Http404("no such team")
    return found


def member_of(team: Team, pk: int) -> Membership:
    """A member of the team; any other is unknown (404)."""
    if (found := team.memberships.select_related("user").filter(pk=pk).first()) is None:
        raise Http404("no such member")
    return found


# Invitations

def live(now: datetime) -> QuerySet[Invitation]:
    """The invitations that still let somebody in, each with how often it has as `used`."""
    return Invitation.objects.annotate(used=Count("uses")).filter(
        withdrawn_at=None, expires_at__gt=now, used__lt=F("most_uses"))


@transaction.atomic
def invite(
    owner: Membership, role: Role, now: datetime, *, days: int, most_uses: int = 1, email: str = "",
) -> Invitation:
    """An invitation to be member in this role, good for so many days and people; with `email` for that address alone.

    A second click gets the first one's. Raises Refusal when too many are open.
    """
    team, most_uses, email = locked(owner.team_id), 1 if email else most_uses, email.lower()
    same = {"role": role, "email": email, "most_uses": most_uses, "made_by": owner.user}
    if first := live(now).filter(team=team, made_at__gt=now - services.AT_ONCE, **same).first():
        return first
    if live(now).filter(team=team).count() >= MOST_LIVE:
        raise Refusal(f"{MOST_LIVE} invitations are open; withdraw some that nobody needs first.")
    return Invitation.objects.create(
        team=team, token=token_urlsafe(TOKEN_BYTES), made_at=now, expires_at=now + timedelta(days=days), **same)


def join_address(invitation: Invitation) -> str:
    """The link that is handed on."""
    return settings.SITE_URL + reverse("mocks:join", args=[invitation.token])


def mail_invitation(invitation: Invitation) -> None:
    """Send the link to the address that it is for. Raises OSError, of the connection or of what the server says."""
    said = {"invitation": invitation, "team": invitation.team, "address": join_address(invitation)}
    subject = " ".join(f"drillapp: {invitation.made_by.name} invites you to {invitation.team.name}".split())
    EmailMessage(subject, render_to_string("mocks/invitation_mail.txt", said), to=[invitation.email]).send()


@transaction.atomic
def withdraw(invitation: Invitation, now: datetime) -> bool:
    """Take an invitation back; whether it had not been yet."""
    return bool(Invitation.objects.filter(pk=invitation.pk, withdrawn_at=None).update(withdrawn_at=now))


def invitation_by(token: str, now: datetime) -> Invitation | None:
    """The invitation of this link, while it lets somebody in; None for all others."""
    return live(now).select_related("team", "made_by").filter(token=token).first()


def invited_email(token: str) -> str | None:
    """Who may make an account by this link: an address, "" for whoever holds it; None when it lets nobody in."""
    invitation = invitation_by(token, timezone.now())
    return invitation.email if invitation else None


def membership_by(token: str, user: User) -> Membership | None:
    """This person's place in the team that the link leads to, whether or not the link still lets others in."""
    return Membership.objects.select_related("team").filter(team__invitations__token=token, user=user).first()


def admits(invitation: Invitation, user: User) -> bool:
    """Whether this link is for this person: not another's, and not one that they came by before and then left."""
    return invitation.email in ("", user.email) and not invitation.uses.filter(user=user).exists()


@transaction.atomic
def join(user: User, token: str, now: datetime) -> Membership | None:
    """Become a member by a link; who is one stays as they are and uses nothing up. None when it lets nobody in."""
    found = Invitation.objects.filter(token=token).first()
    if found is None:
        return None
    locked(found.team_id)
    if member := membership_by(token, user):
        return member
    invitation = invitation_by(token, now)
    if invitation is None or not admits(invitation, user):
        return None
    InvitationUse.objects.create(invitation=invitation, user=user, at=now)
    member = Membership.objects.create(team=invitation.team, user=user, role=invitation.role, joined_at=now)
    settle_answers(member.team, user, now)
    return member


# Members

@transaction.atomic
def change_role(team: int, pk: int, role: Role, now: datetime) -> Membership:
    """Give a member another role, which holds from their next request on. Raises Refusal for the last owner's."""
    team = locked(team)
    member = member_of(team, pk)
    if role != Role.OWNER:
        refuse_last_owner(member, "A team needs an owner: make somebody else one first.")
    member.role = role
    member.save(update_fields=["role"])
    settle_answers(team, member.user, now)
    return member


@transaction.atomic
def hand_over(owner: Membership, pk: int, now: datetime) -> Membership:
    """Make another member the owner in one's own place, and become an interviewer; what comes back is the new owner."""
    if owner.pk == pk:
        raise Refusal("The team is yours already.")
    heir = change_role(owner.team_id, pk, Role.OWNER, now)
    change_role(owner.team_id, owner.pk, Role.INTERVIEWER, now)
    return heir


@transaction.atomic
def remove(team: int, pk: int, now: datetime) -> User:
    """Take a member out of the team: its rooms, plans and reports are closed to them at once, and links that they made
    let nobody in any more. Raises Refusal for the last owner."""
    team = locked(team)
    member = member_of(team, pk)
    refuse_last_owner(member, "You are its only owner: hand the team over first, or delete it.")
    member.delete()
    team.invitations.filter(made_by=member.user, withdrawn_at=None).update(withdrawn_at=now)
    settle_answers(team, member.user, now)
    return member.user


def refuse_last_owner(member: Membership, sentence: str) -> None:
    others = Membership.objects.filter(team=member.team_id, role=Role.OWNER).exclude(pk=member.pk)
    if member.is_owner and not others.exists():
        raise Refusal(sentence)


def settle_answers(team: Team, user: User, now: datetime) -> None:
    """Close the staff answers for the planned interviews of somebody who may be interviewed, and for no others."""
    member = Membership.objects.filter(team=team, user=user).first()
    planned = Interview.objects.filter(team=team, candidate=user, phase=room.Phase.LOBBY, scheduled_at__isnull=False)
    for interview in planned:
        if member and member.takes(room.Role.CANDIDATE):
            services.appoint(interview)
        else:
            Embargo.objects.filter(user=user, reference=interview.code).delete()


def share_drill(member: Membership, shares: bool) -> None:
    """Let plans of this team look at what is weak in the member's drill, or no longer."""
    Membership.objects.filter(pk=member.pk).update(shares_drill=shares)


# The team itself

def rename(team: Team, name: str) -> None:
    Team.objects.filter(pk=team.pk).update(name=name)


@transaction.atomic
def delete(team: int) -> None:
    """Remove a team with its interviews, plans and invitations. Raises Refusal while one of its interviews runs, unless
    nobody is left to lead it."""
    team = locked(team)
    led = Q(seats__role=room.Role.INTERVIEWER, seats__user__in=team.memberships.filter(
        role__in=(Role.OWNER, Role.INTERVIEWER)).values("user"))
    if team.interviews.filter(led, phase__in=room.RUNNING).exists():
        raise Refusal("One of its interviews is running; end it first.")
    remove_team(team)


def remove_team(team: Team) -> None:
    Embargo.objects.filter(reference__in=list(team.interviews.values_list("code", flat=True))).delete()
    team.delete()


@transaction.atomic
def pass_on(user: User) -> None:
    """Before an account goes: a team of which the person is the only owner gets another, and one of nobody else goes.

    The heir is the interviewer who has been in it longest, without one the member who has.
    """
    for held in Membership.objects.filter(user=user, role=Role.OWNER).order_by("team"):
        team = locked(held.team_id)
        others = team.memberships.exclude(user=user).order_by("joined_at", "pk")
        if not others:
            remove_team(team)
        elif not others.filter(role=Role.OWNER).exists():
            heir = others.filter(role=Role.INTERVIEWER).first() or others.first()
            Membership.objects.filter(pk=heir.pk).update(role=Role.OWNER)
