"""Knowledge bases and pipelines over one engine: what belongs to which, what a question sees, who answers it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evigraph import Evigraph
from evigraph.config import Settings
from evigraph.errors import (
    EmbedderMismatch,
    InvalidCombination,
    InvalidQuery,
    InvalidValue,
    NameTaken,
    NotFound,
    UnknownEmbedder,
    UnknownField,
    UnknownMethod,
)
from evigraph.store.knowledge_bases import TABLES, add_base, delete_base
from evigraph.testing.models import ScriptedChat
from evigraph.wire import answer_to_wire
from small import CountingEmbedder, OneStore, item
from summary_trees import report

QUESTION = "Who delivered pumps to Tarn?"
FOUR = {"text": "Corrick Vane delivered four pumps to Tarn.", "source": "tarn.md", "metadata": {"region": "north"}}
NINE = {"text": "Hana Sefu delivered nine pumps to Tarn.", "source": "tarn.md"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneStore]:
    opened = OneStore(tmp_path_factory.mktemp("bases"))
    yield opened
    opened.close()


@pytest.fixture
def graph(store: OneStore) -> Evigraph:
    return store.engine()


def filled(graph: Evigraph, name: str, *items: dict[str, Any], **fields: Any) -> str:
    """A base of that name with these documents."""
    base = graph.knowledge_bases.create(name, **fields)
    done = graph.knowledge_bases.index(base.id, items)
    assert not done.errors, done.errors
    return base.id


def sources(graph: Evigraph, pipeline: str, **fields: Any) -> set[tuple[str, str]]:
    """Documents and texts that an answer's evidence shows."""
    answer = graph.pipelines.query(pipeline, QUESTION, **fields)
    return {(chunk.document_id, chunk.text) for chunk in answer.evidence.chunks}


def test_a_base_is_made_changed_and_listed(graph: Evigraph) -> None:
    made = graph.knowledge_bases.create(" Wells ", description="Of the north.", llm_model="small")
    assert (made.name, made.description, made.llm_model) == ("Wells", "Of the north.", "small")
    assert (made.embedding_model, made.documents, made.passages) == ("hash-64", 0, 0)
    other = graph.knowledge_bases.create("Pumps", embedding_model="hash-64")
    assert [base.name for base in graph.knowledge_bases.list()] == ["Pumps", "Wells"]
    changed = graph.knowledge_bases.update(made.id, name="Springs", llm_model=None)
    assert (changed.name, changed.description, changed.llm_model) == ("Springs", "Of the north.", None)
    assert changed.created_at == made.created_at and changed.updated_at > made.updated_at
    with pytest.raises(NameTaken):
        graph.knowledge_bases.create("Pumps")
    with pytest.raises(NameTaken):
        graph.knowledge_bases.update(made.id, name="Pumps")
    assert graph.knowledge_bases.update(other.id, name="Pumps") == other
    for name in ("", "a\nb", "x" * 201, 5):
        with pytest.raises(InvalidValue):
            graph.knowledge_bases.create(name)  # type: ignore[arg-type]
    for call in (graph.knowledge_bases.show, graph.knowledge_bases.delete, graph.knowledge_bases.documents):
        with pytest.raises(NotFound, match="no knowledge base 'kb-none'"):
            call("kb-none")


def test_a_base_has_the_embedding_model_of_its_workspace(store: OneStore, graph: Evigraph) -> None:
    base = graph.knowledge_bases.create("a")
    with pytest.raises(UnknownEmbedder, match="unknown embedding model 'other'"):
        graph.knowledge_bases.create("b", embedding_model="other")
    other = store.engine(graph.workspace, embedder=CountingEmbedder(dimension=32))
    with pytest.raises(EmbedderMismatch):
        other.knowledge_bases.create("b")
    with pytest.raises(EmbedderMismatch):
        other.knowledge_bases.index(base.id, [FOUR])
    graph.knowledge_bases.index(base.id, [FOUR])
    pipeline = graph.pipelines.create("p", [base.id])
    with pytest.raises(EmbedderMismatch):
        other.pipelines.query(pipeline.id, QUESTION)
    other.reembed()
    assert other.knowledge_bases.show(base.id).embedding_model == "hash-32"
    assert other.pipelines.query(pipeline.id, QUESTION).citations


def test_the_same_file_in_two_bases_is_two_documents(graph: Evigraph) -> None:
    graph.index(FOUR)
    a, b = filled(graph, "a", FOUR), filled(graph, "b", NINE)
    ids = {info.document_id: info.source for info in graph.documents()}
    assert len(ids) == 3 and set(ids.values()) == {"tarn.md"}
    ours = graph.knowledge_bases.documents(a)
    assert [info.source for info in ours] == ["tarn.md"]
    again = graph.knowledge_bases.index(a, [FOUR]).documents[0]
    assert (again.status, again.document_id) == ("unchanged", ours[0].document_id)
    one, both = graph.pipelines.create("one", [a]), graph.pipelines.create("both", [b, a])
    assert {text for _, text in sources(graph, one.id)} == {FOUR["text"]}
    assert {text for _, text in sources(graph, both.id)} == {FOUR["text"], NINE["text"]}
    inside = {"knowledge_bases": [b]}
    assert {chunk.text for chunk in graph.retrieve(QUESTION, document_filter=inside).chunks} == {NINE["text"]}
    assert not graph.retrieve(QUESTION, document_filter={"knowledge_bases": []}).chunks
    assert len(graph.retrieve(QUESTION).chunks) == 3, "the workspace as a whole holds all of them"


def test_a_document_belongs_to_one_base_and_stays_there(graph: Evigraph) -> None:
    a = filled(graph, "a", item("doc", "Corrick Vane delivered four pumps to Tarn."))
    b = graph.knowledge_bases.create("b").id
    graph.index(item("free", "Hana Sefu trained the mechanics."))
    for name, where in (("doc", f"knowledge base {a}"), ("free", "no knowledge base")):
        refused = graph.knowledge_bases.index(b, [item(name, "Another text entirely.")]).errors
        assert [error.code for error in refused] == ["other_base"]
        assert f"belongs to {where}" in refused[0].message
    graph.index(item("doc", "Corrick Vane delivered five pumps to Tarn."))
    assert [info.revision for info in graph.knowledge_bases.documents(a)] == [2]
    graph.delete("doc")
    assert graph.knowledge_bases.show(a).documents == 0
    graph.index(item("doc", "Corrick Vane delivered six pumps to Tarn."))
    assert graph.knowledge_bases.show(a).documents == 0, "what ended with the deletion does not come back"
    graph.delete("doc")
    assert not graph.knowledge_bases.index(b, [item("doc", "Seven pumps came.")]).errors
    assert graph.knowledge_bases.show(b).documents == 1


def test_one_document_is_removed_from_its_own_base_alone(graph: Evigraph) -> None:
    a, b = filled(graph, "a", FOUR), filled(graph, "b", NINE)
    theirs = graph.knowledge_bases.documents(b)[0].document_id
    with pytest.raises(NotFound):
        graph.knowledge_bases.remove(a, theirs)
    graph.knowledge_bases.remove(b, theirs)
    assert not graph.knowledge_bases.documents(b) and len(graph.knowledge_bases.documents(a)) == 1


def test_deleting_a_base_deletes_its_documents_and_nothing_else(graph: Evigraph) -> None:
    graph.index(item("free", "Hana Sefu trained the mechanics of Tarn."))
    a, b = filled(graph, "a", FOUR), filled(graph, "b", NINE)
    pipeline = graph.pipelines.create("p", [a, b])
    before = graph.store.generation(graph.workspace)
    done = graph.knowledge_bases.delete(a)
    assert (done.documents, done.generation > before) == (1, True)
    assert sorted(info.source for info in graph.documents()) == ["free", "tarn.md"]
    answer = graph.pipelines.query(pipeline.id, QUESTION)
    assert {chunk.text for chunk in answer.evidence.chunks} == {NINE["text"]}
    assert f"scope: there is no knowledge base '{a}'; it was left out" in answer.degraded
    assert answer.ledger and answer_to_wire(answer)["degraded"]
    assert graph.pipelines.show(pipeline.id).knowledge_bases == (a, b)
    with pytest.raises(NotFound):
        graph.knowledge_bases.index(a, [FOUR])
    again = graph.knowledge_bases.create("a").id
    assert again != a, "a pipeline still means the other one by that id"
    assert graph.knowledge_bases.delete(again).documents == 0


def test_a_base_deleted_during_a_run_gets_nothing(graph: Evigraph) -> None:
    base = graph.knowledge_bases.create("a").id
    extract = graph.extractor.extract

    def deleting(*args: Any, **options: Any) -> Any:
        delete_base(graph.store, graph.workspace, base)
        return extract(*args, **options)

    graph.extractor.extract = deleting  # type: ignore[method-assign]
    with pytest.raises(NotFound):
        graph.knowledge_bases.index(base, [FOUR])
    assert not graph.documents()


def test_sync_sees_the_documents_of_its_own_base(graph: Evigraph, tmp_path: Any) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "one.md").write_text("Corrick Vane delivered four pumps to Tarn.")
    (folder / "two.md").write_text("Hana Sefu trained the mechanics.")
    base = graph.knowledge_bases.create("a").id
    graph.index(folder)
    graph.knowledge_bases.index(base, folder)
    (folder / "two.md").unlink()
    graph.index(folder, sync=True)
    assert len(graph.knowledge_bases.documents(base)) == 2, "a base is not mirrored by what is indexed beside it"
    graph.knowledge_bases.index(base, folder, sync=True)
    assert [info.source for info in graph.knowledge_bases.documents(base)] == ["one.md"]
    assert len(graph.documents()) == 2


def test_pruning_forgets_the_names_of_what_was_deleted(graph: Evigraph) -> None:
    gone = filled(graph, "Zwischenruf", FOUR, description="Zwischenruf")
    renamed = graph.knowledge_bases.create("Zwischenspiel")
    graph.knowledge_bases.update(renamed.id, name="kept")
    pipeline = graph.pipelines.create("Zwischenruf", [gone])
    graph.pipelines.delete(pipeline.id)
    graph.knowledge_bases.delete(gone)
    graph.prune()
    for table in (*TABLES, "knowledge_base_documents"):
        rows = graph.store.rows(f"SELECT * FROM {table} WHERE workspace = {{w:String}}", {"w": graph.workspace})
        assert "Zwischen" not in str(rows)
        assert len(rows) == (table == "knowledge_bases")
    assert [base.name for base in graph.knowledge_bases.list()] == ["kept"]


def test_ids_are_the_same_for_the_same_steps(store: OneStore, graph: Evigraph) -> None:
    first = add_base(graph.store, "elsewhere", "a", "", "")
    delete_base(graph.store, "elsewhere", first.base_id)
    assert add_base(graph.store, "elsewhere", "a", "", "").base_id != first.base_id
    assert graph.knowledge_bases.create("a").id != first.base_id, "ids of another workspace are others"


# ------------------------------------------------------------------ pipelines


@pytest.fixture(scope="module")
def asked(store: OneStore) -> Evigraph:
    """Two bases, an empty one, and a pipeline on each."""
    graph = store.engine("asked")
    a = filled(graph, "a", FOUR, llm_model="model-of-a")
    b = filled(graph, "b", NINE, llm_model="model-of-b")
    bare = graph.knowledge_bases.create("bare").id
    graph.pipelines.create("both", [b, a])
    graph.pipelines.create("own", [a, b], llm_model="model-of-pipeline")
    graph.pipelines.create("bare", [bare, a])
    graph.pipelines.create("empty", [bare])
    return graph


def named(graph: Evigraph, name: str) -> str:
    return next(pipeline.id for pipeline in graph.pipelines.list() if pipeline.name == name)


def test_a_pipeline_is_made_changed_and_deleted(graph: Evigraph) -> None:
    a, b = graph.knowledge_bases.create("a").id, graph.knowledge_bases.create("b").id
    made = graph.pipelines.create("p", [a, a], defaults={"method": "HyDE", "top_k": 3, "rerank": None})
    assert (made.knowledge_bases, made.defaults) == ((a,), {"method": "hyde", "top_k": 3})
    assert graph.pipelines.show(made.id) == made
    changed = graph.pipelines.update(made.id, knowledge_bases=[b, a], llm_model="m", defaults={"hybrid": True})
    assert (changed.name, changed.knowledge_bases, changed.llm_model) == ("p", (b, a), "m")
    assert changed.defaults == {"hybrid": True}
    with pytest.raises(NameTaken):
        graph.pipelines.create("p", [a])
    with pytest.raises(NotFound, match="kb-none"):
        graph.pipelines.create("q", ["kb-none"])
    for bad in ([], "kb", None, [5]):
        with pytest.raises(InvalidValue):
            graph.pipelines.create("q", bad)  # type: ignore[arg-type]
    for defaults, error in (
        ({"question": "x"}, UnknownField),
        ({"top_k": 0}, InvalidValue),
        ({"method": "no"}, UnknownMethod),
        ({"mode": "mix", "method": "raptor"}, InvalidCombination),
        ({"rerank": "yes"}, InvalidValue),
        *((wrong, InvalidValue) for wrong in ([], "", 0, False)),
    ):
        with pytest.raises(error):
            graph.pipelines.create("q", [a], defaults=defaults)
    graph.pipelines.delete(made.id)
    assert graph.pipelines.list() == () and len(graph.knowledge_bases.list()) == 2
    with pytest.raises(NotFound, match="no pipeline"):
        graph.pipelines.query(made.id, QUESTION)


@pytest.mark.parametrize(
    ("pipeline", "fields", "expected"),
    [
        ("own", {"llm_model": "model-of-question"}, ("model-of-question", "request")),
        ("own", {}, ("model-of-pipeline", "pipeline")),
        ("both", {}, ("model-of-b", "knowledge_base")),
        ("bare", {}, ("model-of-a", "knowledge_base")),
    ],
)
def test_the_most_specific_chat_model_answers(
    store: OneStore, asked: Evigraph, pipeline: str, fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    chat = ScriptedChat(lambda _: "Corrick Vane delivered pumps to Tarn [1].")
    graph = store.engine("asked", chat=chat)
    answer = graph.pipelines.query(named(graph, pipeline), QUESTION, **fields)
    assert chat.models == [expected[0]]
    details = answer_to_wire(answer)["method_details"]
    assert details["llm_model"] == {"name": expected[0], "from": expected[1]}


def test_the_configured_model_answers_where_nobody_names_one(store: OneStore, graph: Evigraph) -> None:
    chat = ScriptedChat(lambda _: "Corrick Vane delivered four pumps to Tarn [1].")
    served = store.engine(graph.workspace, chat=chat)
    pipeline = served.pipelines.create("p", [filled(served, "a", FOUR)])
    answer = served.pipelines.query(pipeline.id, QUESTION)
    assert chat.models == [None]
    assert answer.details["llm_model"] == {"name": "scripted", "from": "default"}
    offline = graph.pipelines.query(pipeline.id, QUESTION)
    assert offline.details["llm_model"] == {"name": None, "from": "none"}


def test_summaries_are_written_by_the_model_of_the_base(store: OneStore) -> None:
    chat = ScriptedChat(lambda _: "Corrick Vane delivered hand pumps to Tarn.")
    graph = store.engine("summarised", chat=chat, settings=Settings(model_concurrency=1))
    base = graph.knowledge_bases.create("a", llm_model="model-of-a")
    done = graph.knowledge_bases.index(base.id, [{"text": report(15), "source": "long.md"}], build_tree=True)
    assert chat.models and set(chat.models) == {"model-of-a"}
    assert done.trees is not None and done.trees.model == "model-of-a"


def test_an_empty_base_is_an_empty_scope(asked: Evigraph) -> None:
    answer = asked.pipelines.query(named(asked, "empty"), QUESTION)
    assert answer.abstained and not answer.evidence.chunks
    assert answer.abstain_reason == "scope: the knowledge bases hold no document"
    assert answer.stats["documents_in_scope"] == 0
    narrowed = asked.pipelines.query(named(asked, "both"), QUESTION, metadata_filter={"region": "south"})
    assert narrowed.abstain_reason == "scope: no document matches the filters"


def test_what_is_left_open_has_the_defaults_of_the_pipeline(graph: Evigraph) -> None:
    base = filled(graph, "a", *({"text": f"Corrick Vane delivered {n} pumps to Tarn."} for n in range(3, 12)))
    plain = graph.pipelines.create("plain", [base])
    own = graph.pipelines.create("own", [base], defaults={"mode": "mix", "top_k": 2, "rerank": True})
    answer = graph.pipelines.query(plain.id, QUESTION)
    assert (answer.evidence.mode, answer.evidence.retrieval, len(answer.evidence.chunks)) == ("naive", "dense", 5)
    answer = graph.pipelines.query(own.id, QUESTION)
    assert (answer.evidence.mode, len(answer.evidence.chunks), answer.request.rerank) == ("mix", 2, True)
    answer = graph.pipelines.query(own.id, QUESTION, mode="naive", top_k=7, rerank=False)
    assert (answer.evidence.mode, len(answer.evidence.chunks), answer.request.rerank) == ("naive", 7, False)
    assert graph.pipelines.query(own.id, QUESTION, method="raptor").evidence.mode == "naive"
    decided = graph.pipelines.query(plain.id, "Which pumps were delivered in all, by whom?", method="auto")
    assert decided.details["decision"]["applied"]["top_k"] == decided.details["decision"]["top_k"]
    kept = graph.pipelines.query(plain.id, "Which pumps were delivered in all, by whom?", method="auto", top_k=5)
    assert kept.details["decision"]["applied"]["top_k"] == 5


def test_fields_are_those_of_a_pipeline_query(asked: Evigraph) -> None:
    pipeline = named(asked, "both")
    for field in ("max_chunks", "document_filter", "as_of", "context_only", "query"):
        with pytest.raises(UnknownField, match=field) as refused:
            asked.pipelines.query(pipeline, QUESTION, **{field: 1})
        assert "question" in refused.value.valid
    for field in ("embedding_model", "embedder"):
        with pytest.raises(UnknownField, match=field) as refused:
            asked.pipelines.query(pipeline, QUESTION, **{field: "other"})
        assert "embedded by the model that embedded the documents" in refused.value.hint
        with pytest.raises(UnknownField) as refused:
            asked.ask(QUESTION, **{field: "other"})
        assert "embedded by the model that embedded the documents" in refused.value.hint
    for top_k in (0, 201, "5", True):
        with pytest.raises(InvalidValue, match="top_k"):
            asked.pipelines.query(pipeline, QUESTION, top_k=top_k)
    with pytest.raises(InvalidQuery):
        asked.pipelines.query(pipeline, " ")
