"""Who comes into the authors' side, and by which door."""
import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client

from accounts.models import User

pytestmark = pytest.mark.django_db


def signed_in(user: User, *groups: str) -> Client:
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


def test_a_visitor_signs_in_on_the_sites_own_page(client: Client):
    for address in ("/admin/", "/admin/login/", "/admin/questions/question/"):
        assert client.get(address).url == f"/accounts/login/?next={address}"


def test_to_a_learner_the_admin_does_not_exist(as_ada: Client):
    for address in ("/admin/", "/admin/login/", "/admin/accounts/user/"):
        assert as_ada.get(address).status_code == 404


@pytest.mark.parametrize("group", ["Editors", "Publishers"])
def test_a_group_opens_the_door_by_itself(kim: User, group: str):
    client = signed_in(kim, group)
    assert client.get("/admin/").status_code == 200
    assert client.get("/admin/login/").url == "/admin/"
    assert 'href="/admin/"' in client.get("/").content.decode()


def test_a_learner_sees_no_door(as_ada: Client):
    assert 'href="/admin/"' not in as_ada.get("/").content.decode()


def test_signing_out_and_the_password_have_one_page_each(kim: User):
    client = signed_in(kim, "Editors")
    assert client.get("/admin/logout/").url == "/accounts/logout/"
    assert client.get("/admin/password_change/").url == "/accounts/password/change/"


def test_people_are_for_superusers_alone(kim: User, ben: User):
    assert signed_in(kim, "Publishers").get("/admin/accounts/user/").status_code == 403
    ben.is_superuser = True
    ben.save()
    client = signed_in(ben)
    assert "kim@example.org" in client.get("/admin/accounts/user/").content.decode()
    editors = Group.objects.get(name="Editors")
    response = client.post(f"/admin/accounts/user/{kim.pk}/change/", {
        "first_name": "Kim", "last_name": "", "groups": [editors.pk], "is_active": "on",
    })
    assert response.url == "/admin/accounts/user/"
    assert list(kim.groups.all()) == [editors]
    assert client.get("/admin/accounts/user/add/").status_code == 403
    assert client.post(f"/admin/accounts/user/{kim.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_superuser_cannot_lock_themselves_out(ben: User):
    ben.is_superuser = True
    ben.save()
    signed_in(ben).post(f"/admin/accounts/user/{ben.pk}/change/", {"first_name": "Ben", "last_name": "B."})
    ben.refresh_from_db()
    assert (ben.last_name, ben.is_superuser, ben.is_active) == ("B.", True, True)


def test_every_migration_gives_the_groups_their_rights_and_takes_none():
    editors, publishers = (Group.objects.get(name=name) for name in ("Editors", "Publishers"))
    editors.permissions.clear()
    publishers.permissions.add(*publishers.permissions.model.objects.filter(codename="view_topic"))
    call_command("migrate", verbosity=0)
    rights = {name: set(Group.objects.get(name=name).permissions.values_list("codename", flat=True))
              for name in ("Editors", "Publishers")}
    assert rights["Editors"] == {f"{act}_{what}" for act in ("view", "add", "change") for what in ("question", "note")}
    assert rights["Publishers"] - rights["Editors"] == {
        "delete_question", "delete_note", "publish_question", "publish_note", "view_topic",
    }


def test_a_nul_in_a_filter_is_refused_in_words(ben: User):
    ben.is_superuser = True
    ben.save()
    response = signed_in(ben).get("/admin/questions/question/?kind=%00")
    assert response.status_code == 400
    assert "<h1" in response.content.decode()
