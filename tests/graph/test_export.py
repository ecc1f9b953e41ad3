"""GraphML and JSON Lines, whatever the names are."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from evigraph.graph.export import graphml, jsonl
from evigraph.store.exporting import ExportedAssertion, ExportedEntity, ExportedText
from evigraph.types import Assertion

NS = "{http://graphml.graphdrawing.org/xmlns}"
HOSTILE = [
    "<script>&\"'",
    "a\0b\x0bc",
    "👩🏽‍🚀 \U0010ffff",
    "שלום \u202eabc",
    "]]>",
    "\ufffe\ud800",
    "tab\tline\nend\r",
    "-->",
]


def entity(name: str, number: int) -> ExportedEntity:
    return ExportedEntity(id=f"x:{name}{number}", name=name, type="PERSON", degree=1, passages=2)


def assertion(source: str, target: str, name: str, id: str = "a") -> ExportedAssertion:
    made = Assertion(
        passage_index=3,
        subject_id=source,
        subject_name=name,
        subject_type="PERSON",
        predicate="KNOWS",
        object_id=target,
        object_name=name,
        object_type="PERSON",
        description=f"{name} knows {name}",
        start=1,
        end=2,
        confidence=0.5,
        weight=1.5,
        extractor="x",
        verified=False,
    )
    return ExportedAssertion(id=id, document_id=f"doc {name}", source=source, target=target, assertion=made)


def parsed(names: list[str]) -> tuple[ElementTree.Element, str]:
    entities = [entity(name, number) for number, name in enumerate(names)]
    edges = [assertion(entities[0].id, other.id, other.name, id="same") for other in entities]
    text = "".join(graphml(7, iter(entities), iter(edges)))
    return ElementTree.fromstring(text.encode("utf-8")), text


def data(element: ElementTree.Element) -> dict[str, str]:
    return {item.attrib["key"]: item.text or "" for item in element.findall(f"{NS}data")}


def test_hostile_names_give_valid_xml() -> None:
    root, _ = parsed(HOSTILE)
    graph = root.find(f"{NS}graph")
    assert graph is not None
    nodes, edges = graph.findall(f"{NS}node"), graph.findall(f"{NS}edge")
    ids = [node.attrib["id"] for node in nodes]
    assert len(set(ids)) == len(HOSTILE)
    assert len({edge.attrib["id"] for edge in edges}) == len(edges)
    assert all(edge.attrib["source"] in ids and edge.attrib["target"] in ids for edge in edges)
    names = [data(node)["n_name"] for node in nodes]
    assert names[0] == HOSTILE[0]
    assert names[1] == "abc"
    assert names[2:5] == HOSTILE[2:5]
    assert names[6] == HOSTILE[6]
    # Two characters, in one name, two descriptions and the document's id twice; another two in the other.
    assert int(data(graph)["g_characters_removed"]) == 4 * (1 + 2 + 2)
    assert data(graph)["g_generation"] == "7"


def test_attributes_are_declared_and_typed() -> None:
    root, _ = parsed(["Ann", "Bo"])
    declared = {key.attrib["id"]: key.attrib["attr.type"] for key in root.findall(f"{NS}key")}
    used = {item.attrib["key"] for item in root.iter(f"{NS}data")}
    assert used <= declared.keys()
    graph = root.find(f"{NS}graph")
    assert graph is not None
    edge = graph.findall(f"{NS}edge")[1]
    assert data(edge) == {
        "e_predicate": "KNOWS",
        "e_description": "Bo knows Bo",
        "e_chunk_id": "doc Bo#3",
        "e_document_id": "doc Bo",
        "e_start": "1",
        "e_end": "2",
        "e_confidence": "0.5",
        "e_weight": "1.5",
        "e_extractor": "x",
        "e_verified": "false",
    }
    assert declared["e_verified"] == "boolean"


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=5))
def test_any_text_gives_valid_xml(names: list[str]) -> None:
    root, _ = parsed(names)
    assert len(list(root.iter(f"{NS}node"))) == len(names)


def test_merged_ids_are_kept() -> None:
    merged = ExportedEntity(id="x:a", name="A", type="T", degree=0, passages=1, members=("x:a", "x:b"))
    root = ElementTree.fromstring("".join(graphml(1, [merged], [])))
    (node,) = root.iter(f"{NS}node")
    assert data(node)["n_members"] == "x:a\nx:b"


def test_each_line_of_json_is_one_object() -> None:
    text = ExportedText(document_id="d", start=0, text="a\u2028b\nc")
    made = list(jsonl({"generation": 3}, [text], [], [entity("A\nB", 0)]))
    assert [line.count("\n") for line in made] == [1, 1, 1]
    assert [json.loads(line)["kind"] for line in made] == ["graph", "text", "entity"]
    assert json.loads(made[0]) == {"kind": "graph", "format": "evigraph", "version": 1, "generation": 3}
