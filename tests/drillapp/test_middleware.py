"""What is answered where a view has no page to show."""
import pytest
from django.test import Client

CHECK = "/cards/1/check/"
PAGE = "/review/?card=1&ordinal=1&later=7,8"


@pytest.mark.django_db
def test_who_signs_in_after_sending_a_form_is_back_on_its_page(client: Client):
    answer = client.post(CHECK, headers={"referer": f"http://testserver{PAGE}"})
    assert answer.status_code == 302
    assert answer.url == "/accounts/login/?next=%2Freview%2F%3Fcard%3D1%26ordinal%3D1%26later%3D7%2C8"


@pytest.mark.django_db
@pytest.mark.parametrize("referer", ["", "http://elsewhere.example/review/", "http://testserver:81/x", "//", "http://["])
def test_without_a_page_of_this_site_it_is_the_start(client: Client, referer: str):
    assert client.post(CHECK, headers={"referer": referer}).url == "/accounts/login/?next=%2F"


@pytest.mark.django_db
def test_a_page_that_may_not_be_seen_leads_back_to_itself(client: Client):
    assert client.get(PAGE).url.startswith("/accounts/login/?next=/review/%3Fcard%3D1")


@pytest.mark.django_db
@pytest.mark.parametrize("verb", ["get", "post"])
def test_htmx_gets_a_note_and_no_sign_in_page(client: Client, verb: str):
    address = PAGE if verb == "get" else CHECK
    answer = getattr(client, verb)(address, headers={"hx-request": "true"})
    assert answer.status_code == 403
    assert "You are signed out by now." in answer.content.decode()


@pytest.mark.parametrize("address", [CHECK, "/cards/1/answer/", "/undo/", "/accounts/zone/"])
def test_visiting_a_forms_address_shows_a_page(as_ada: Client, address: str):
    answer = as_ada.get(address)
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert "takes what a form sends" in answer.content.decode()
