"""The bank itself: every file is right, and every figure of an answer comes from a run of a lab."""
from questions import loading
from questions.checking import texts_of
from questions.figures import FIGURE


def test_no_file_of_the_bank_has_a_fault(real_bank: loading.Bank):
    report = loading.check_bank(real_bank, draws=0)  # they are test_draws.py's
    assert report.faults == {}


def test_every_answer_takes_its_figures_from_a_lab(real_bank: loading.Bank):
    for document in real_bank.questions.values():
        texts = dict(texts_of(document))
        for part in ("ask", "said_aloud", "derivation"):
            assert FIGURE.search(texts[part]), f"{document.slug}, {part}"
