"""Which entities may be one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evigraph import Evigraph
from evigraph.graph import aliases
from evigraph.graph.aliases import Candidate, candidates, propose, weigh
from evigraph.store.keys import PassageKey
from evigraph.store.names import NamedEntity, NamesTogether
from evigraph.testing.models import HashEmbedder
from evigraph.text.names import entity_id
from evigraph.types import Chunk, DocumentFilter
from evigraph.views import AliasProposal
from small import OneStore, item
from triples import TripleExtractor

TEXTS = [
    item("a", "J. Smith repaired wells. John Smith received rods in Tarn."),
    item("b", "Dr Hana Sefu trained the mechanics. Hana Sefu wrote a letter."),
    item("c", "The International Business Machines (IBMX) office paid. Then Corrick Vane visited."),
    item("d", "Corick Vane delivered pumps. Anna Obi accused Bela Obi. Then came Obi."),
    item("e", "Bettina Orlando tested rods. Bettina Orlanda heard of it."),
    item("f", "Bettina Orlando accused Bettina Orlanda."),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("proposals"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def graph(store: OneStore) -> Evigraph:
    opened = store.engine()
    opened.index(TEXTS)
    return opened


def proposed(graph: Evigraph, **scope: object) -> dict[tuple[str, ...], AliasProposal]:
    with graph.store.snapshot(graph.workspace, **scope) as snapshot:  # type: ignore[arg-type]
        return {proposal.entities: proposal for proposal in propose(snapshot)}


def person(name: str) -> str:
    return entity_id(name, "PERSON")


def test_a_misspelling_is_proposed_with_its_passages(graph: Evigraph) -> None:
    found = proposed(graph)[person("corick vane"), person("corrick vane")]
    assert found.kind in ("spelling", "embedding")
    assert set(found.chunk_ids) == {"c#0", "d#0"}, "one of each, since none names both"
    assert set(found.names) == {"Corick Vane", "Corrick Vane"}
    assert "Corick Vane" in found.evidence
    assert "same type" in found.guards
    assert found.canonical in found.entities


def test_what_one_sentence_relates_is_worth_less(graph: Evigraph) -> None:
    apart = proposed(graph).get((person("bettina orlanda"), person("bettina orlando")))
    alone = proposed(graph, document_filter=DocumentFilter(document_ids=("e",)))
    without = alone[person("bettina orlanda"), person("bettina orlando")]
    assert "no sentence relates them as two" in without.guards
    assert apart is None or (apart.score < without.score and "relate them as two" in apart.evidence)


def test_types_and_shared_forms_keep_entities_apart(graph: Evigraph) -> None:
    for entities in proposed(graph):
        assert len({entity.split(":")[0] for entity in entities}) == 1
    assert not any("location:obi" in entities for entities in proposed(graph)), "two persons bear it, and it is a place"


def test_a_scope_proposes_from_its_own_passages(graph: Evigraph) -> None:
    only = proposed(graph, document_filter=DocumentFilter(document_ids=("d",)))
    assert (person("corick vane"), person("corrick vane")) not in only
    assert proposed(graph, document_filter=DocumentFilter(document_ids=())) == {}


def test_proposals_are_bounded_and_in_order(graph: Evigraph) -> None:
    with graph.store.snapshot(graph.workspace) as snapshot:
        every, one = propose(snapshot), propose(snapshot, limit=1)
        assert propose(snapshot) == every
    assert one == every[:1]
    assert every == sorted(every, key=lambda proposal: (-proposal.score, proposal.entities))
    assert all(0 <= proposal.score <= 1 for proposal in every)


def test_what_is_merged_is_not_proposed(store: OneStore) -> None:
    graph = store.engine()
    graph.index(TEXTS)
    pair = (person("corick vane"), person("corrick vane"))
    assert pair in proposed(graph)
    graph.store.merge(graph.workspace, pair)
    assert not any(set(pair) & set(entities) and "vane" in entities[0] for entities in proposed(graph))


# ---------------------------------------------------------------- the pure part


def named(*ids: str) -> list[NamedEntity]:
    return [
        NamedEntity(entity_id=name, key=name.split(":")[1], type=name.split(":")[0].upper(), passages=1) for name in ids
    ]


def test_a_form_of_one_name_is_a_candidate_and_of_two_is_none() -> None:
    forms = [
        ("acronym", "organization:international business machines", "organization:ibm"),
        ("initials", "person:john smith", "person:j smith"),
        ("initials", "person:jane smith", "person:j smith"),
        ("surname", "person:john smith", "location:smith"),
    ]
    assert candidates([], forms, {}) == [  # type: ignore[arg-type]
        Candidate(entity="organization:international business machines", alias="organization:ibm", kind="acronym")
    ]


def test_the_most_telling_kind_of_a_pair_counts() -> None:
    forms = [("surname", "person:dr sefu", "person:sefu"), ("title", "person:dr sefu", "person:sefu")]
    assert [candidate.kind for candidate in candidates([], forms, {})] == ["title"]  # type: ignore[arg-type]


def test_a_near_vector_proposes_only_where_the_words_agree() -> None:
    entities = named(
        "organization:ministry of health", "organization:health ministry", "organization:ministry of wealth",
        "concept:health ministry", "organization:well 12", "organization:well 13",
    )  # fmt: skip
    near = HashEmbedder(8).embed(["x"])[0]
    found = candidates(entities, [], {entity.entity_id: near for entity in entities})
    assert [(candidate.pair, candidate.kind) for candidate in found] == [
        (("organization:health ministry", "organization:ministry of health"), "embedding")
    ]


@pytest.mark.parametrize(
    ("text", "related", "score", "told"),
    [
        ("The Nile Tower Bank (NTB) lent.", 1, 1.0, "in brackets"),
        ("NTB (Nile Tower Bank) lent.", 0, 1.0, "in brackets"),
        ("NTB is what Nile Tower Bank is called.", 0, 0.75, "1 passage names both"),
        ("NTB sued Nile Tower Bank.", 1, 0.45, "relate them as two"),
    ],
)
def test_passages_that_name_both_decide(text: str, related: int, score: float, told: str) -> None:
    long, short = "organization:nile tower bank", "organization:ntb"
    passage = PassageKey(1, 0)
    together = NamesTogether(
        first={long: passage, short: passage}, shared={passage: (long, short)}, related={(long, short): related}
    )
    chunk = Chunk(
        id="d#0", document_id="d", revision=1, source="", title="", text=text, start=0, end=len(text)
    )  # fmt: skip
    candidate = Candidate(entity=long, alias=short, kind="acronym")
    [found] = weigh([candidate], {long: "Nile Tower Bank", short: "NTB"}, together, {passage: chunk})
    assert (found.canonical, found.chunk_ids) == (long, ("d#0",))
    assert found.score == pytest.approx(score)
    assert told in found.evidence


def paying(*names: str) -> str:
    return "\n".join(f"{name} | PAID | Tarn" for name in names)


def test_a_cap_on_forms_hides_no_meaning(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row is read, and of `J Smith` that would be one of two meanings."""
    graph = store.engine(extractor=TripleExtractor())
    graph.index([item("a", paying("J Smith", "Jane Smith", "John Smith", "Z Reed", "Zoe Reed"))])
    monkeypatch.setattr(aliases, "FORM_PAIRS", 1)
    found = proposed(graph)
    assert found[person("z reed"), person("zoe reed")].guards[1] == "stands for nothing else here"
    assert not any(person("j smith") in pair and found[pair].kind == "initials" for pair in found)


def test_a_cap_on_passages_is_told(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = store.engine(extractor=TripleExtractor())
    graph.index([item(name, paying("Z Reed", "Zoe Reed")) for name in "abc"])
    [found] = proposed(graph).values()
    assert "; 3 passages name both" in found.evidence
    monkeypatch.setattr(aliases, "SHARED_PASSAGES", 2)
    [cut] = proposed(graph).values()
    assert "; at least 2 passages name both" in cut.evidence
    monkeypatch.setattr(aliases, "SHARED_PASSAGES", 0)
    [blind] = proposed(graph).values()
    assert "not all passages were searched" in blind.evidence
