"""Plain statements of an attribute, whatever the parser makes of the names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evigraph.ingest.extractors.spacy_extractor import SpacyExtractor
from evigraph.types import CO_OCCURS, Extraction, Passage

Claims = set[tuple[str, str, str]]


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()


def read(extractor: SpacyExtractor, *sentences: str) -> Extraction:
    text = "\n".join(sentences)
    spans, at = [], 0
    for sentence in sentences:
        spans.append((at, at + len(sentence)))
        at += len(sentence) + 1
    passage = Passage(document_id="d", revision=1, index=0, start=0, end=len(text), text=text, sentences=tuple(spans))
    return extractor.extract([passage], title="Notes", language="en")


def claims(found: Extraction) -> Claims:
    return {(a.subject_name, a.predicate, a.object_name) for a in found.assertions if a.predicate != CO_OCCURS}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The wife of Allen Hord is Rowena Hord.", [("Allen Hord", "WIFE", "Rowena Hord")]),
        (
            "The friends of Bruno Ponder are Latrina Hord, Natasha Ortego and Toni Boston.",
            [("Bruno Ponder", "FRIEND", name) for name in ("Latrina Hord", "Natasha Ortego", "Toni Boston")],
        ),
        ("The occupation of Ada Wren is equality and diversity officer.", [
            ("Ada Wren", "OCCUPATION", "equality and diversity officer")
        ]),
        ("The date of birth of Ada Wren is 0459-09-12.", [("Ada Wren", "DATE_OF_BIRTH", "0459-09-12")]),
        ("Ada Wren's hobby is gongoozling.", [("Ada Wren", "HOBBY", "gongoozling")]),
        ("Marit Olsen's brothers are Pieter Olsen and Nils Olsen.", [
            ("Marit Olsen", "BROTHER", "Pieter Olsen"), ("Marit Olsen", "BROTHER", "Nils Olsen")
        ]),
        ("The capital of the Netherlands is Amsterdam.", [("Netherlands", "CAPITAL", "Amsterdam")]),
    ],
)  # fmt: skip
def test_a_stated_attribute_is_an_assertion(
    extractor: SpacyExtractor, sentence: str, expected: Sequence[tuple[str, str, str]]
) -> None:
    assert claims(read(extractor, sentence)) == set(expected)


@pytest.mark.parametrize(
    "sentence",
    [
        "The capital of France is known for its wine.",
        "The bridge of Tarn was built in 1902.",
        "The committee of Lowani is repairing two wells.",
        "The head of Acme is happy that Globex failed.",
        "The price of valves is high.",
    ],
)
def test_what_says_more_or_less_is_left_to_the_parse(extractor: SpacyExtractor, sentence: str) -> None:
    made = {predicate for _, predicate, _ in claims(read(extractor, sentence))}
    assert made.isdisjoint({"CAPITAL", "BRIDGE", "COMMITTEE", "HEAD", "PRICE"})


def test_relatives_are_persons_wherever_the_document_names_them(extractor: SpacyExtractor) -> None:
    found = read(extractor, "The sons of Ben Halliday are Loren Halliday, Julia Halliday.", "Loren Halliday left.")
    kinds = {mention.name: mention.type for mention in found.mentions if mention.role == "text"}
    assert {kinds[name] for name in ("Ben Halliday", "Loren Halliday", "Julia Halliday")} == {"PERSON"}


def test_every_end_has_a_mention_and_every_span_its_sentence(extractor: SpacyExtractor) -> None:
    sentence = "The date of birth of Ada Wren is 0459-09-12."
    found = read(extractor, "Ada Wren left.", sentence)
    mentioned = {mention.entity_id for mention in found.mentions}
    born = next(a for a in found.assertions if a.predicate == "DATE_OF_BIRTH")
    assert {born.subject_id, born.object_id} <= mentioned
    assert (born.start, born.end) == (15, 15 + len(sentence))
