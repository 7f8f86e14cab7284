"""Words and terms: offsets, folding, numbers, scripts, languages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tq.text.match import alike
from tq.text.synonyms import kin
from tq.text.tokens import MAX_TERM, asked_terms, detect_language, normal_number, term_spans, terms, words


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("The patients cancelled.", "english", ["patient", "cancel"]),
        ("$1,250.50", "english", ["1250.50"]),
        ("1250.50", "english", ["1250.50"]),
        ("1.250,50 Euro", "german", ["1250.50", "euro"]),
        ("L_C_D_ and U.S.", "english", ["lcd", "us"]),
        ("24h", "english", ["24h", "24"]),
        ("the of", "english", ["the", "of"]),
        ("", "english", []),
        ("中国人", "none", ["中国", "国人"]),
        ("中", "none", ["中"]),
        ("السَّلَامُ", "arabic", ["سلام"]),
        ("שָׁלוֹם", "none", ["שלום"]),
        ("l'eau", "french", ["eau"]),
        ("Straße STRASSE", "german", ["strass", "strass"]),
    ],
)
def test_terms(text: str, language: str, expected: list[str]) -> None:
    assert terms(text, language) == expected


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("see EX-10.1 below", "ex-10.1"),
        ("see EX-10.1 below", "10.1"),
        ("node n-0412", "N-0412"),
        ("a twenty-four hour rule", "twenty four"),
        ("हिन्दी भाषा में", "भाषा"),
        ("می‌خواهم کتاب", "كتاب"),
        ("ภาษาไทย", "ไทย"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ １２", "full 12"),
    ],
)
def test_a_question_finds_its_line(text: str, question: str) -> None:
    assert set(terms(question)) & set(terms(text))


def test_hindi_words_are_not_cut_at_vowel_signs() -> None:
    assert [word for word, _, _ in words("हिन्दी में")] == ["हिन्दी", "में"]


@pytest.mark.parametrize(
    ("word", "language", "expected"),
    [
        ("1,250", "none", "1250"),
        ("1.250", "german", "1250"),
        ("1.250", "english", "1.250"),
        ("2,5", "german", "2.5"),
        ("12", "none", "12"),
        ("1,250,000.75", "english", "1250000.75"),
        ("12a", "none", None),
        ("a", "none", None),
    ],
)
def test_numbers_are_normal(word: str, language: str, expected: str | None) -> None:
    assert normal_number(word, language) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The clinic is closed on Sundays and patients must call before they come in.", "english"),
        ("Die Praxis ist am Sonntag geschlossen, und wer kommen will, muss vorher anrufen.", "german"),
        ("Le cabinet est fermé le dimanche et les patients doivent appeler avant de venir.", "french"),
        ("La clínica está cerrada los domingos y los pacientes deben llamar antes de venir.", "spanish"),
        ("Клиника закрыта по воскресеньям, и пациенты должны звонить, прежде чем они придут.", "russian"),
        ("العيادة مغلقة يوم الاحد و على المرضى الاتصال قبل الحضور من اجل هذا الموعد", "arabic"),
        ("क्लिनिक रविवार को बंद है और मरीजों को आने से पहले फोन करना है।", "hindi"),
        ("診療所は日曜日に休みです。", "none"),
        ("诊所星期天不开门。", "none"),
        ("12345 67890", "none"),
        ("", "none"),
    ],
)
def test_detect_language(text: str, expected: str) -> None:
    assert detect_language(text) == expected


@given(st.text(max_size=400), st.sampled_from(["english", "german", "arabic", "none", "klingon"]))
def test_terms_never_raise_and_are_bounded(text: str, language: str) -> None:
    found = terms(text, language)
    assert all(term and len(term) <= MAX_TERM for term in found)
    assert all("\x00" not in term for term in found)


@given(st.text(max_size=400))
def test_offsets_map_back(text: str) -> None:
    for word, start, end in words(text):
        assert text[start:end] == word
    for _, start, end in term_spans(text, "english"):
        assert 0 <= start < end <= len(text)


@given(st.text(alphabet="abcXYZ 0123.,-'_", max_size=200))
def test_case_does_not_matter(text: str) -> None:
    assert terms(text.upper(), "english") == terms(text.lower(), "english")


@pytest.mark.parametrize("unit", ["x", "中", "-a", "a'", "1,"])
def test_a_line_of_a_million_characters_is_read(unit: str) -> None:
    started = time.process_time()
    assert all(len(term) <= MAX_TERM for term in terms(unit * (1_000_000 // len(unit)), "english"))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("compet", "competitor", True),
        ("favor", "favour", True),
        ("kapsel", "raumkapsel", True),
        ("cat", "cats", False),
        ("12345", "123456", False),
        ("house", "mouse", False),
    ],
)
def test_alike(a: str, b: str, expected: bool) -> None:
    assert alike(a, b) is expected
    assert alike(b, a) is expected


def test_kin_are_index_terms() -> None:
    assert terms("agreement", "english")[0] in kin(terms("contract", "english")[0], "english")
    assert "2" in kin("ii", "english")
    assert kin("contract", "none") == ()


def test_a_question_to_a_table_without_a_language_loses_its_own_function_words() -> None:
    assert asked_terms("What is the revenue of South?", "none") == ["revenue", "south"]
    assert asked_terms("Wie hoch ist der Umsatz in Süd?", "none") == ["hoch", "umsatz", *terms("Süd", "none")]
    assert asked_terms("Who is that?", "none") == terms("Who is that?", "none")
    assert asked_terms("What are the revenues?", "english") == terms("What are the revenues?", "english")
