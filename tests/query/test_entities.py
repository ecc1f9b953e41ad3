"""Pages of entities and what lies between them: derived from visible, filtered assertions and nothing else."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from evigraph import AmbiguousEntity, BeforePruneHorizon, Evigraph, InputError, InvalidValue, NotFound
from evigraph.domain import DomainSchema, PredicateType
from evigraph.query.entities import Entities
from evigraph.query.explore import claims
from evigraph.wire import plain
from small import PUMPS, OneStore, RuleExtractor, item

SEFU, VANE, AMARRA, TARN = "person:hana sefu", "person:corrick vane", "person:joseph amarra", "location:tarn"

RIVALS = [
    item("first", "Corrick Vane headed Tolland. Hana Sefu visited Tarn.", title="One", date="2014-01-01"),
    item("second", "Corrick Vane headed Lowani.", title="Two", date="2015-01-01", metadata={"region": "south"}),
    item("third", "Hana Sefu visited Lowani. Joseph Amarra visited Lowani.", title="Three"),
]


class Denying(RuleExtractor):
    """As the rule, but `never` before the verb denies, as the offline extractor writes it."""

    def _claim(self, passage: Any, left: Any, right: Any, sentence: Any) -> Any:
        claims = super()._claim(passage, left, right, sentence)
        between = passage.text[left[1] - passage.start : right[0] - passage.start]
        return [
            dataclasses.replace(one, predicate=f"NOT_{one.predicate}") if " never " in between else one
            for one in claims
        ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    folder: Path = tmp_path_factory.mktemp("entities")
    opened = OneStore(folder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def pumps(store: OneStore) -> Evigraph:
    engine = store.engine()
    engine.index(PUMPS)
    return engine


def text_of(value: Any) -> str:
    """Everything a reader of JSON sees, but the generation."""
    return json.dumps(plain(value), sort_keys=True)


def everything(entities: Entities, **scope: Any) -> dict[str, Any]:
    """Every read that shows the visible graph: every page, and what lies around and between the most connected."""
    listed = entities.search(limit=1_000, **scope)
    ids = [one.id for one in listed.entities]
    found: dict[str, Any] = {"all": listed, "contradictions": entities.contradictions(limit=1_000, **scope)}
    for word in ("hana", "vane", "lowani", "to"):
        found[f"search {word}"] = entities.search(word, **scope)
    for one in ids:
        found[f"page {one}"] = entities.page(one, limit=1_000, **scope)
    for one in ids[:4]:
        found[f"around {one}"] = entities.neighbourhood(one, depth=3, **scope)
    found |= {f"{one} to {other}": entities.paths(one, other, **scope) for one, other in pairwise(ids[:4])}
    return found


def comparable(value: Any) -> Any:
    """Without what tells one store's past from another's."""
    if isinstance(value, dict):
        moments = ("generation", "published_at", "revision")
        return {name: comparable(part) for name, part in value.items() if name not in moments}
    return [comparable(part) for part in value] if isinstance(value, list) else value


# ------------------------------------------------------------------ search


def test_search_ranks_by_shared_words(pumps: Evigraph) -> None:
    found = pumps.entities.search("Hana  SEFU")
    assert [(one.id, one.name, one.score) for one in found.entities] == [(SEFU, "Hana Sefu", 1.0)]
    assert (found.entities[0].mentions, found.entities[0].documents, found.entities[0].degree) == (2, 2, 2)
    begun = pumps.entities.search("lo")
    assert [(one.id, one.score) for one in begun.entities] == [
        ("location:lowani", 0.5),
        ("person:lowani committee", 0.25),
    ]
    assert pumps.entities.search("nobody").entities == ()
    assert pumps.entities.search("?!").total == 0


def test_without_text_all_are_listed_by_degree(pumps: Evigraph) -> None:
    found = pumps.entities.search(limit=1_000)
    assert found.total == len(found.entities) > 5
    assert found.entities[0].id == TARN
    order = [(-one.degree, one.id) for one in found.entities]
    assert order == sorted(order)
    paged = [pumps.entities.search(limit=2, offset=offset).entities for offset in range(0, found.total, 2)]
    assert tuple(one for page in paged for one in page) == found.entities


def test_a_type_narrows_both_lists(pumps: Evigraph) -> None:
    for text in ("", "hana sefu vane tarn"):
        found = pumps.entities.search(text, type="person")
        assert found.total == len(found.entities) > 1
        assert {one.type for one in found.entities} == {"PERSON"}
    assert pumps.entities.search(type="PERSON:").total == 0


# ------------------------------------------------------------------ page


def test_a_page_tells_what_passages_say(pumps: Evigraph) -> None:
    page = pumps.entities.page(VANE)
    assert (page.name, page.type, page.degree, page.weight) == ("Corrick Vane", "PERSON", 2, 2.0)
    assert [(one.predicate, one.object) for one in page.outgoing] == [("DELIVERED", TARN)]
    assert [(one.subject, one.predicate) for one in page.incoming] == [(SEFU, "ACCUSED")]
    delivered = page.outgoing[0]
    assert delivered.quote == "Corrick Vane delivered four pumps to Tarn."
    assert (delivered.chunk_id, delivered.source, str(delivered.date)) == ("tarn#0", "north/tarn.md", "2014-05-02")
    assert (delivered.revision, delivered.extractor, delivered.confidence) == (1, "rules", 0.9)
    assert delivered.verified
    assert delivered.quote == pumps.document_text("tarn")[delivered.start : delivered.end]
    assert {(one.document_id, one.mentions) for one in page.sources} == {("memo", 1), ("tarn", 1)}
    assert [(one.name, one.mentions) for one in page.names] == [("Corrick Vane", 2)]
    for mention in page.mentions:
        assert pumps.document_text(mention.document_id)[mention.start : mention.end] == mention.surface
    assert "rules" in page.description


def test_a_name_stands_for_the_one_entity_that_has_it(pumps: Evigraph) -> None:
    assert pumps.entities.page("Hana Sefu").id == SEFU
    assert pumps.entities.page("the HANA sefu's").id == SEFU


def test_relationships_sum_up_their_assertions(store: OneStore) -> None:
    engine = store.engine()
    engine.index([*RIVALS, item("fourth", "Hana Sefu visited Tarn.\n\nHana Sefu visited Tarn.", title="Four")])
    page = engine.entities.page(SEFU)
    tarn = next(one for one in page.relationships if one.object == TARN)
    assert (tarn.predicate, tarn.weight, tarn.max_weight, tarn.documents) == ("VISITED", 3.0, 1.0, 2)
    assert tarn.statements == 3 == len(tarn.assertions)
    assert page.totals.outgoing == len(page.outgoing) == 4
    first = engine.entities.page(SEFU, limit=1)
    assert (len(first.outgoing), len(first.mentions), len(first.relationships)) == (1, 1, 1)
    assert first.totals == page.totals
    second = engine.entities.page(SEFU, limit=1, offset=1)
    assert (first.outgoing + second.outgoing) == page.outgoing[:2]


def test_homographs_stay_apart(store: OneStore) -> None:
    class Typed(RuleExtractor):
        def extract(self, passages: Any, **options: Any) -> Any:
            found = super().extract(passages, **options)
            renamed = tuple(
                dataclasses.replace(one, type="PERSON", entity_id="person:tarn")
                if one.key == "tarn" and passages[0].document_id == "b"
                else one
                for one in found.mentions
            )
            return dataclasses.replace(found, mentions=renamed)

    engine = store.engine(extractor=Typed())
    engine.index([item("a", "Tolland supplied Tarn."), item("b", "The Tarn slept.")])
    with pytest.raises(AmbiguousEntity) as raised:
        engine.entities.page("Tarn")
    assert "location:tarn, person:tarn" in raised.value.hint
    (other,) = engine.entities.page(TARN).homographs
    assert (other.id, other.type) == ("person:tarn", "PERSON")
    assert [one.id for one in engine.entities.page(other.id).homographs] == [TARN]
    assert engine.entities.page(TARN, document_filter={"document_ids": ["a"]}).homographs == ()


# ------------------------------------------------------------------ around and between


def test_a_neighbourhood_is_bounded_and_says_so(pumps: Evigraph) -> None:
    near = pumps.entities.neighbourhood(TARN)
    assert [(one.id, one.distance) for one in near.entities] == [(VANE, 1), (SEFU, 1), ("location:tolland", 1)]
    assert near.truncated == ()
    # Sefu accused Vane: seen only once one of the two is expanded.
    assert ("ACCUSED" in {one.predicate for one in near.relationships}) is False
    wide = pumps.entities.neighbourhood(TARN, depth=2)
    assert "ACCUSED" in {one.predicate for one in wide.relationships}
    cut = pumps.entities.neighbourhood(TARN, per_node_limit=1)
    assert len(cut.entities) == 1
    assert "1 of 3 neighbours of location:tarn" in cut.truncated[0]
    few = pumps.entities.neighbourhood(TARN, depth=2, limit=1)
    assert len(few.entities) == 1
    assert any("(limit)" in sentence for sentence in few.truncated)
    assert pumps.entities.neighbourhood(TARN, depth=0).entities == ()


def test_direction_and_predicates_of_a_neighbourhood(pumps: Evigraph) -> None:
    entities = pumps.entities
    assert {one.id for one in entities.neighbourhood(SEFU, direction="out").entities} == {VANE, TARN}
    assert entities.neighbourhood(SEFU, direction="in").entities == ()
    only = entities.neighbourhood(SEFU, predicates=["ACCUSED"], depth=3)
    assert [one.id for one in only.entities] == [VANE]
    assert entities.neighbourhood(SEFU, predicates=[]).entities == ()


def test_paths_with_what_supports_each_hop(store: OneStore) -> None:
    engine = store.engine()
    engine.index(RIVALS)
    found = engine.entities.paths(AMARRA, TARN)
    assert found.length == 3
    (path,) = found.paths
    assert path.entities == (AMARRA, "location:lowani", SEFU, TARN)
    assert path.names == ("Joseph Amarra", "Lowani", "Hana Sefu", "Tarn")
    for hop, (one, other) in zip(path.hops, pairwise(path.entities), strict=True):
        assert (hop.source, hop.target) == (one, other)
        assert all({said.subject, said.object} == {one, other} for said in hop.statements)
        assert all(said.quote and said.chunk_id for said in hop.statements)
    assert engine.entities.paths(AMARRA, TARN, max_length=2).paths == ()
    assert engine.entities.paths(AMARRA, TARN, direction="out").paths == ()
    assert engine.entities.paths(AMARRA, TARN, predicates=["HEADED"]).length is None
    with pytest.raises(NotFound):
        engine.entities.paths(AMARRA, TARN, document_filter={"document_ids": ["first"]})
    with pytest.raises(InvalidValue):
        engine.entities.paths(TARN, "Tarn")


def test_a_hub_is_cut_and_reported(store: OneStore) -> None:
    engine = store.engine()
    names = [f"{chr(65 + n % 26)}{chr(97 + n // 26)}xo" for n in range(60)]
    engine.index([item(f"d{n}", f"Tolland supplied {name}.", title="") for n, name in enumerate(names)])
    found = engine.entities.paths(names[0], names[59], per_node_limit=5)
    assert "5 of 60 neighbours of location:tolland were followed (per_node_limit)" in found.truncated
    assert engine.entities.paths(names[0], names[59]).length == 2


# ------------------------------------------------------------------ contradictions


def test_without_a_schema_documents_that_disagree_are_possible_contradictions(store: OneStore) -> None:
    engine = store.engine()
    engine.index(RIVALS)
    found = engine.entities.contradictions()
    headed = next(one for one in found.contradictions if one.subject == VANE)
    assert (headed.kind, headed.predicate) == ("possible", "HEADED")
    shown = [(side.object_name, side.statements[0].document_id, side.statements[0].quote) for side in headed.sides]
    assert shown == [
        ("Lowani", "second", "Corrick Vane headed Lowani."),
        ("Tolland", "first", "Corrick Vane headed Tolland."),
    ]
    assert [str(side.statements[0].date) for side in headed.sides] == ["2015-01-01", "2014-01-01"]
    assert {one.subject for one in engine.entities.contradictions("Tolland").contradictions} == {VANE}
    assert engine.entities.contradictions(AMARRA).contradictions == ()
    assert engine.entities.contradictions(kind="negation").total == 0
    assert engine.entities.page(VANE).contradictions == (headed,)
    one_side = engine.entities.contradictions(metadata_filter={"region": "south"})
    assert one_side.contradictions == ()


def test_a_denial_and_a_functional_predicate(store: OneStore) -> None:
    engine = store.engine(extractor=Denying())
    engine.index([*RIVALS, item("fifth", "Hana Sefu never visited Tarn.", title="Five")])
    denied = engine.entities.contradictions(kind="negation").contradictions
    assert [(one.subject, one.predicate, [side.predicate for side in one.sides]) for one in denied] == [
        (SEFU, "VISITED", ["VISITED", "NOT_VISITED"])
    ]
    assert [side.statements[0].document_id for side in denied[0].sides] == ["first", "fifth"]

    leads = PredicateType(name="LEADS", functional=True, synonyms=("headed",))
    engine.set_schema(DomainSchema(types=(), predicates=(leads, PredicateType(name="VISITED"))))
    judged = engine.entities.contradictions()
    assert [(one.kind, one.subject, one.predicate) for one in judged.contradictions] == [
        ("negation", SEFU, "VISITED"),
        ("functional", VANE, "LEADS"),
    ]


def test_after_a_deletion_there_is_no_trace(store: OneStore) -> None:
    engine, other = store.engine(), store.engine()
    engine.index(RIVALS)
    assert "Corrick Vane headed Lowani" in text_of(everything(engine.entities))
    engine.delete("second")
    left = everything(engine.entities)
    assert "Corrick Vane headed Lowani" not in text_of(left)
    assert not [one for one in engine.entities.contradictions().contradictions if one.subject == VANE]
    other.index([one for one in RIVALS if one["document_id"] != "second"])
    assert comparable(plain(left)) == comparable(plain(everything(other.entities)))
    told = [(said.document_id, said.visible, said.ended_by) for said in engine.entities.history(VANE).statements]
    assert told == [("first", True, None), ("second", False, "deleted")]
    engine.prune()
    assert [said.document_id for said in engine.entities.history(VANE).statements] == ["first"]
    assert "Corrick Vane headed Lowani" not in text_of(engine.entities.history("Lowani"))


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        ({"document_filter": {"document_ids": ["tarn", "memo"]}}, {"tarn", "memo"}),
        ({"document_filter": {"pattern": "south/*"}}, {"memo", "lowani"}),
        ({"document_filter": {"date_from": "2017-01-01", "date_to": "2017-12-31"}}, {"memo"}),
        ({"metadata_filter": {"region": "south", "kind": "minutes"}}, {"lowani"}),
        ({"metadata_filter": {"region": "nowhere"}}, set()),
        ({"document_filter": {"document_ids": []}}, set()),
    ],
    ids=["ids", "pattern", "dates", "metadata", "no match", "empty"],
)
def test_a_filtered_graph_is_that_of_the_documents_left(
    store: OneStore, pumps: Evigraph, scope: dict[str, Any], kept: set[str]
) -> None:
    alone = store.engine()
    alone.index([one for one in PUMPS if one["document_id"] in kept])
    filtered = everything(pumps.entities, **scope)
    assert comparable(plain(filtered)) == comparable(plain(everything(alone.entities)))


def test_as_of_shows_the_earlier_graph(store: OneStore) -> None:
    engine = store.engine()
    engine.index(PUMPS)
    before = everything(engine.entities)
    generation = before["all"].generation
    engine.index([item("memo", "Corrick Vane thanked Tolland.", title="New memo")])
    engine.delete("tarn")
    assert plain(everything(engine.entities, as_of=generation)) == plain(before)
    assert "thanked" in text_of(everything(engine.entities))
    assert "accused" not in text_of(everything(engine.entities))
    assert "thanked" not in text_of(engine.entities.history(VANE, as_of=generation))
    engine.prune()
    with pytest.raises(BeforePruneHorizon):
        engine.entities.page(VANE, as_of=generation)
    with pytest.raises(BeforePruneHorizon):
        engine.entities.history(VANE, as_of=generation)


# ------------------------------------------------------------------ history


def test_history_tells_who_said_what_until_when(store: OneStore) -> None:
    engine = store.engine()
    first = item("note", "Hana Sefu visited Tarn. Hana Sefu visited Lowani.", title="N", metadata={"state": "draft"})
    second = item("note", "Hana Sefu visited Lowani again.", title="N", metadata={"state": "final"})
    engine.index([first])
    engine.index([second])
    history = engine.entities.history(SEFU)
    rows = [(s.object, s.revision, s.visible, s.ended_by, s.still_made) for s in history.statements]
    assert rows == [
        (TARN, 1, False, "replaced", False),
        ("location:lowani", 1, False, "replaced", True),
        ("location:lowani", 2, True, None, True),
    ]
    old, _, new = history.statements
    assert (old.until_generation, old.until) == (new.generation, new.published_at)
    assert old.quote == "Hana Sefu visited Tarn."
    assert (history.total, history.name, history.type) == (3, "Hana Sefu", "PERSON")
    assert [s.revision for s in engine.entities.history(SEFU, limit=1, offset=2).statements] == [2]

    draft = engine.entities.history(SEFU, metadata_filter={"state": "draft"})
    assert [(s.revision, s.visible) for s in draft.statements] == [(1, False), (1, False)]
    final = engine.entities.history(SEFU, metadata_filter={"state": "final"})
    assert [(s.revision, s.visible) for s in final.statements] == [(2, True)]
    earlier = engine.entities.history(SEFU, as_of=old.generation)
    assert [(s.revision, s.visible, s.until) for s in earlier.statements] == [(1, True, None), (1, True, None)]

    # Tarn is in no visible passage: only its history is left, and only until it is pruned.
    assert [s.object for s in engine.entities.history("Tarn").statements] == [TARN]
    with pytest.raises(NotFound):
        engine.entities.page(TARN)
    engine.prune()
    assert [s.revision for s in engine.entities.history(SEFU).statements] == [2]
    with pytest.raises(NotFound):
        engine.entities.history(TARN)


def test_history_hides_what_a_prune_is_removing(store: OneStore) -> None:
    """From the moment the horizon is published, whatever has been removed by then."""
    engine = store.engine()
    engine.index(RIVALS)
    engine.delete("second")
    engine.store.record_change(engine.workspace, "prune", {})
    assert [s.document_id for s in engine.entities.history(VANE).statements] == ["first"]


def test_workspaces_are_apart(store: OneStore, pumps: Evigraph) -> None:
    empty = store.engine()
    assert empty.entities.search().total == 0
    for read in (empty.entities.page, empty.entities.history, empty.entities.neighbourhood):
        with pytest.raises(NotFound) as raised:
            read(SEFU)
        assert SEFU not in raised.value.hint


# ------------------------------------------------------------------ merges


def test_merge_and_unmerge(store: OneStore) -> None:
    engine = store.engine()
    engine.index([*RIVALS, item("fourth", "Doctor Sefu visited Tolland.", title="Four")])
    before = everything(engine.entities)
    merge = engine.entities.merge(["Hana Sefu", "person:doctor sefu"], canonical=SEFU, reason="same badge")
    assert (merge.canonical, merge.entities) == (SEFU, ("person:doctor sefu", SEFU))

    page = engine.entities.page("Doctor Sefu")
    assert (page.id, page.name) == (SEFU, "Hana Sefu")
    assert [(one.name, one.entity) for one in page.names] == [
        ("Hana Sefu", SEFU),
        ("Doctor Sefu", "person:doctor sefu"),
    ]
    assert {said.document_id for said in page.outgoing} == {"first", "third", "fourth"}
    assert {said.subject for said in page.outgoing} == {SEFU}
    (log,) = page.merges
    assert (log.merge_id, log.reason) == (merge.merge_id, "same badge")
    assert str(merge.merge_id) in log.undo
    assert {one.id for one in engine.entities.search("sefu").entities} == {SEFU}
    assert SEFU in {one.id for one in engine.entities.neighbourhood("Tolland").entities}
    assert engine.entities.paths("Tolland", TARN).paths[0].entities == ("location:tolland", SEFU, TARN)
    assert len(engine.entities.history("Doctor Sefu").statements) == 3
    assert [one.merge_id for one in engine.entities.merges()] == [merge.merge_id]

    # Where only one of the two is in scope, nothing tells of the other.
    narrow = everything(engine.entities, document_filter={"document_ids": ["fourth"]})
    assert SEFU not in text_of(narrow)
    assert "Hana" not in text_of(narrow)

    assert plain(everything(engine.entities, as_of=merge.merge_id - 1)) == plain(before)
    engine.entities.unmerge(merge.merge_id)
    assert comparable(plain(everything(engine.entities))) == comparable(plain(before))
    assert engine.entities.merges() == []
    with pytest.raises(NotFound):
        engine.entities.unmerge(merge.merge_id)


def test_proposals_are_of_the_scope(store: OneStore) -> None:
    engine = store.engine()
    engine.index([*RIVALS, item("fourth", "Catherine Howard met. Catharine Howard visited Tolland.", title="Four")])
    (found,) = engine.entities.proposals()
    assert set(found.entities) == {"person:catherine howard", "person:catharine howard"}
    assert engine.entities.proposals(document_filter={"document_ids": ["first", "second"]}) == []
    engine.entities.merge(found.entities)
    assert engine.entities.proposals() == []


@pytest.mark.parametrize("entities", [["Hana Sefu"], [], ["Hana Sefu", SEFU], "Hana Sefu"])
def test_a_merge_needs_two(pumps: Evigraph, entities: Any) -> None:
    with pytest.raises(InputError):
        pumps.entities.merge(entities)


# ------------------------------------------------------------------ refusals


def test_an_unknown_entity_gets_near_names(pumps: Evigraph) -> None:
    with pytest.raises(NotFound) as raised:
        pumps.entities.page("person:hana sefo")
    assert SEFU in raised.value.hint
    with pytest.raises(NotFound) as raised:
        pumps.entities.page("Corrickk")
    assert VANE in raised.value.hint
    with pytest.raises(NotFound) as raised:
        pumps.entities.page("person:hana sefo", document_filter={"document_ids": ["ferry"]})
    assert "hana" not in raised.value.hint


@pytest.mark.parametrize(
    "call",
    [
        lambda e: e.page(""),
        lambda e: e.page(" "),
        lambda e: e.page("x" * 5_000),
        lambda e: e.page("a\x00b"),
        lambda e: e.page("\ud800"),
        lambda e: e.search("\ud800"),
        lambda e: e.search(7),
        lambda e: e.search(limit=0),
        lambda e: e.search(limit=True),
        lambda e: e.search(offset=-1),
        lambda e: e.search(type=""),
        lambda e: e.search(as_of="soon"),
        lambda e: e.search(document_filter={"author": "x"}),
        lambda e: e.search(metadata_filter=["x"]),
        lambda e: e.neighbourhood(SEFU, depth=6),
        lambda e: e.neighbourhood(SEFU, direction="up"),
        lambda e: e.neighbourhood(SEFU, predicates="ACCUSED"),
        lambda e: e.paths(SEFU, VANE, max_length=7),
        lambda e: e.contradictions(kind="odd"),
        lambda e: e.history(""),
    ],
)
def test_bad_arguments(pumps: Evigraph, call: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError):
        call(pumps.entities)


@pytest.mark.parametrize("given", ["'; DROP TABLE mentions; --", "{workspace:String}", "a\\'b", "%", "_", "person:"])
def test_an_injected_id_is_only_an_id(pumps: Evigraph, given: str) -> None:
    with pytest.raises(NotFound):
        pumps.entities.page(given)
    assert isinstance(pumps.entities.search(given).total, int)


# ------------------------------------------------------------------ entities that only assertions name

BOB = "location:bob"


class Unmentioned(RuleExtractor):
    """As the rule, but nothing mentions `Bob`, as an import may leave it."""

    def extract(self, passages: Any, **options: Any) -> Any:
        found = super().extract(passages, **options)
        bare = tuple(one for one in found.mentions if one.key != "bob")
        return dataclasses.replace(found, mentions=bare)


@pytest.fixture(scope="module")
def bob(store: OneStore) -> Evigraph:
    engine = store.engine(extractor=Unmentioned())
    engine.index(
        [item("one", "Hana Sefu trained Bob. Bob visited Tarn.", title=""), item("two", "Vane paid.", title="")]
    )
    return engine


def test_what_only_assertions_name_is_shown_wherever_it_is_walked(bob: Evigraph) -> None:
    [path] = bob.entities.paths(SEFU, TARN).paths
    assert (path.entities, path.names) == ((SEFU, BOB, TARN), ("Hana Sefu", "Bob", "Tarn"))
    near = bob.entities.neighbourhood(SEFU, depth=2)
    assert [(one.id, one.name, one.type, one.degree, one.distance) for one in near.entities] == [
        (BOB, "Bob", "LOCATION", 2, 1),
        (TARN, "Tarn", "LOCATION", 1, 2),
    ]


def test_what_only_assertions_name_is_read_by_its_id(bob: Evigraph) -> None:
    page = bob.entities.page(BOB)
    assert (page.name, page.type, page.degree, page.weight) == ("Bob", "LOCATION", 2, 2.0)
    assert (page.mentions, page.names, page.sources, page.totals.mentions) == ((), (), (), 0)
    assert [one.object for one in page.outgoing] == [TARN]
    assert "Bob visited Tarn" in page.description
    assert [one.id for one in bob.entities.neighbourhood(BOB).entities] == [TARN, SEFU]
    assert bob.entities.contradictions(BOB).total == 0
    assert bob.entities.paths(BOB, TARN).length == 1
    history = bob.entities.history(BOB)
    assert (history.name, history.type, history.total) == ("Bob", "LOCATION", 2)
    with pytest.raises(NotFound):
        bob.entities.page(BOB, document_filter={"document_ids": ["two"]})


def test_its_name_is_found_as_a_hint_and_it_is_not_merged(bob: Evigraph) -> None:
    assert bob.entities.search("bob").total == 0
    for read in (bob.entities.page, bob.entities.neighbourhood, bob.entities.history):
        with pytest.raises(NotFound) as raised:
            read("Bob")
        assert BOB in raised.value.hint
    with pytest.raises(NotFound):
        bob.entities.merge([BOB, SEFU])


# ------------------------------------------------------------------ what is cut


def test_statements_of_a_hop_that_are_not_shown_are_counted(store: OneStore) -> None:
    engine = store.engine()
    engine.index(
        [
            *(item(f"d{n}", "Hana Sefu visited Tarn.", title="") for n in range(4)),
            *(item(f"e{n}", "Tarn thanked Hana Sefu.", title="") for n in range(4)),
        ]
    )
    found = engine.entities.paths(SEFU, TARN)
    [hop] = found.paths[0].hops
    assert (len(hop.statements), hop.total) == (5, 8)
    assert found.truncated == (f"5 of 8 assertions between {SEFU} and {TARN} are shown",)
    [out] = engine.entities.paths(SEFU, TARN, direction="out").paths[0].hops
    assert (len(out.statements), out.total) == (4, 4)
    assert engine.entities.paths(SEFU, TARN, direction="out").truncated == ()


def test_a_page_says_that_there_may_be_more_contradictions(store: OneStore, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = store.engine()
    engine.index([*RIVALS, item("fourth", "Corrick Vane visited Lowani."), item("fifth", "Corrick Vane visited Ulwe.")])
    whole = engine.entities.page(VANE)
    assert (whole.totals.contradictions, whole.truncated) == (2, ())
    monkeypatch.setattr(claims, "PAIRS", 1)
    cut = engine.entities.page(VANE)
    assert cut.totals.contradictions == 1
    assert cut.truncated == ("not all claims were compared: there may be more than 1 contradictions",)
    assert "ask for one entity" in engine.entities.contradictions().truncated[0]


def test_two_spellings_of_a_predicate_contradict_each_other(store: OneStore) -> None:
    class Spelt(RuleExtractor):
        def _claim(self, passage: Any, left: Any, right: Any, sentence: Any) -> Any:
            found = super()._claim(passage, left, right, sentence)
            return [
                dataclasses.replace(one, predicate="bornIn" if passage.document_id == "a" else "BORN_IN")
                for one in found
            ]

    engine = store.engine(extractor=Spelt())
    engine.index([item("a", "Hana Sefu settled in Rome.", title=""), item("b", "Hana Sefu settled in Oslo.", title="")])
    [possible] = engine.entities.contradictions().contradictions
    assert (possible.kind, possible.predicate) == ("possible", "BORN_IN")
    engine.set_schema(DomainSchema(predicates=(PredicateType(name="BORN_IN", functional=True),)))
    [found] = engine.entities.contradictions().contradictions
    assert (found.kind, sorted(side.predicate for side in found.sides)) == ("functional", ["BORN_IN", "bornIn"])


# ------------------------------------------------------------------ merges count as one


def test_a_claim_is_still_made_under_another_name_of_the_entity(store: OneStore) -> None:
    engine = store.engine()
    told = [item("a", "Doctor Sefu visited Tarn.", title=""), item("b", "Hana Sefu met. Doctor Sefu met.", title="")]
    engine.index(told)
    merge = engine.entities.merge(["person:doctor sefu", SEFU], canonical=SEFU)
    engine.index([item("a", "Hana Sefu visited Tarn.", title="")])
    ended = [one for one in engine.entities.history(SEFU).statements if not one.visible]
    assert [(one.predicate, one.subject, one.still_made) for one in ended] == [("VISITED", SEFU, True)]
    engine.entities.unmerge(merge.merge_id)
    [apart] = engine.entities.history("person:doctor sefu").statements
    assert not apart.still_made


def test_a_merged_entity_is_found_by_the_type_of_any_member(store: OneStore) -> None:
    engine = store.engine()
    engine.index([item("a", "Hana Sefu visited Tarn.", title=""), item("b", "Big Sefu Works paid.", title="")])
    other = "concept:big sefu works"
    engine.entities.merge([SEFU, other], canonical=SEFU)
    for text in ("", "sefu"):
        for kind in ("CONCEPT", "PERSON"):
            found = engine.entities.search(text, type=kind)
            assert ([one.id for one in found.entities], found.total) == ([SEFU], 1), (text, kind)
        assert engine.entities.search(text, type="CONCEPT", document_filter={"document_ids": ["a"]}).total == 0
    assert [one.id for one in engine.entities.search(type="LOCATION").entities] == [TARN]


def test_an_exported_degree_counts_merged_neighbours_once(store: OneStore) -> None:
    engine = store.engine(extractor=Unmentioned())
    engine.index([item("a", "Hana Sefu trained Bob. Doctor Sefu trained Bob.", title="")])
    with engine.store.snapshot(engine.workspace) as snapshot:
        assert {one.id: one.degree for one in snapshot.export_entities()}[BOB] == 2
    engine.entities.merge([SEFU, "person:doctor sefu"])
    with engine.store.snapshot(engine.workspace) as snapshot:
        [bob] = [one for one in snapshot.export_entities() if one.id == BOB]
    assert (bob.name, bob.type, bob.degree, bob.passages, bob.members) == ("Bob", "LOCATION", 1, 0, ())
