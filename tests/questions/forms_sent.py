"""What a browser sends of a page's form, so that a test posts what an author would."""
from html.parser import HTMLParser


class FormReader(HTMLParser):
    """Collects the fields of the form with this id, as they would be sent; no button among them."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id, self.inside = form_id, False
        self.sent: dict[str, str] = {}
        self.textarea = self.select = ""

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in pairs}
        if tag == "form":
            self.inside = given.get("id") == self.form_id
        if not self.inside or "disabled" in given:
            return
        kind, name = given.get("type", "text"), given.get("name", "")
        if tag == "input" and name and kind != "submit" and (kind != "checkbox" or "checked" in given):
            self.sent[name] = given.get("value", "on" if kind == "checkbox" else "")
        elif tag == "textarea":
            self.textarea, self.sent[name] = name, ""
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select and ("selected" in given or self.select not in self.sent):
            self.sent[self.select] = given["value"]

    def handle_data(self, data: str) -> None:
        if self.textarea:
            self.sent[self.textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            # A browser drops the first line end inside the tag, and sends each other one as CR LF.
            text = self.sent[self.textarea].removeprefix("\n")
            self.sent[self.textarea] = text.replace("\r\n", "\n").replace("\n", "\r\n")
            self.textarea = ""
        elif tag == "select":
            self.select = ""


def form_sent(html: str, form_id: str) -> dict[str, str]:
    """The fields of the form by name, without the token against forgery, which is another each time."""
    reader = FormReader(form_id)
    reader.feed(html)
    return {name: text for name, text in reader.sent.items() if name != "csrfmiddlewaretoken"}
