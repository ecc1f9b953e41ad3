"""Rows that no response may show, put beside those of a world once it is played.

Two other workspaces hold the same documents under the same keys, with other words; one of them under keys that were
passed round, so that what is hidden here is visible there. The workspace itself gets the rows of an index run that
never published, of a re-embedding that never switched, and of summaries, which only `raptor` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from evigraph import Evigraph

FOREIGN = {"a": "Aamuv", "z": "Zamuv"}
"""Begins every text of the other workspaces, sorted before and behind all others; `telling_words` knows both."""
FAR = 1_000_000
"""Generations, revision numbers and passages that lie beyond those of a world."""

_TEXTS = ("text", "description", "context", "title", "source", "name", "subject_name", "object_name")
_ROWS = (
    "passages",
    "document_texts",
    "passage_vectors",
    "terms",
    "mentions",
    "name_forms",
    "assertions",
    "fact_vectors",
)
_TURNED = "arrayElement({turned:Array(UInt128)}, indexOf({keys:Array(UInt128)}, revision_key))"
_UNCUT = {"sentence_starts": "[]", "sentence_ends": "[]"}
"""A passage that is one sentence."""
_MODELS = ("another", "some other")
"""Sorted before and behind the one in force."""
_OTHER = "arrayMap(i -> toFloat32(i = 1 + rowNumberInAllBlocks() % length(vector)), arrayEnumerate(vector))"


class Decoys:
    """Copies rows within one store. The tables' columns are read once."""

    def __init__(self) -> None:
        self._columns: dict[str, list[str]] = {}

    def add(self, graph: Evigraph, *, summaries: bool) -> None:
        """Around the rows of the graph's workspace as they are now. `summaries` in it are of no tree."""
        if not self._columns:
            self._columns = _columns(graph)
        own = graph.workspace
        first, last = ({**_UNCUT, **_begun_by(word)} for word in FOREIGN.values())
        opposite = {"vector": "arrayMap(x -> -x, vector)"}
        turned, keys = self._turned(graph)
        for table in _ROWS:
            self._copy(graph, table, {"workspace": f"'a {own}'", "revision_key": _TURNED, **first}, turned)
            self._copy(graph, table, {"workspace": f"'z {own}'", **last, **opposite})
            self._copy(graph, table, {"revision_key": f"revision_key + {FAR}"}, only=keys)
        # In one of them every name stands under every key, hidden ones under visible keys, too.
        everywhere = {"workspace": f"'z {own}'", "revision_key": "arrayJoin({keys:Array(UInt128)})"}
        self._copy(graph, "mentions", everywhere, {"keys": keys})
        for table in ("passages", "passage_vectors") if summaries else ():
            summary = {"level": "1", "passage_index": f"passage_index + {FAR}", **last}
            self._copy(graph, table, summary, only=keys)
        for table in ("passage_vectors", "fact_vectors"):
            for model in _MODELS:
                self._copy(graph, table, {"model": f"'{model}'", "vector": _OTHER, **last}, only=[*keys])
        # Of the workspace's bases, other workspaces have every revision.
        self._copy(graph, "knowledge_base_documents", everywhere, {"keys": keys})
        for table in ("publications", "stagings", "changes"):
            # So that the newest generation of all is another workspace's, which published what is only staged here.
            beyond = {column: f"{column} + {FAR}" for column in ("generation", "revision", "revision_key")}
            late = {"workspace": f"'a {own}'", **beyond, **first}
            self._copy(graph, table, late)
            if table == "publications":
                # What is deleted there last is deleted nowhere else.
                last_of_all = {column: f"{column} + {2 * FAR}" for column in beyond}
                self._copy(graph, table, {"workspace": f"'a {own}'", **last_of_all, **first, "deleted": "true"})
            self._copy(graph, table, {"workspace": f"'z {own}'", **last})
        self._communities(graph)
        for other in FOREIGN:
            graph.store.command(
                "INSERT INTO changes VALUES ({workspace:String}, {generation:UInt64}, now64(6), 'prune', '{}')",
                {"workspace": f"{other} {own}", "generation": FAR},
            )

    def _communities(self, graph: Evigraph) -> None:
        """Trees and editions of the other workspaces, and some that were never published. A name is of one workspace
        alone."""
        alone = {"path": "arrayMap(number -> number + 1 + rowNumberInAllBlocks(), path)"}
        for name, word in FOREIGN.items():
            renamed = {column: f"concat({column}, '{name}')" for column in ("tree", "edition")}
            told = {"text": f"concat('{word} ', text)", "supports": "[]"}
            for workspace in (f"'{name} {graph.workspace}'", "workspace"):
                members = {"workspace": workspace, "tree": renamed["tree"], **alone}
                self._copy(graph, "community_members", members)
                self._copy(graph, "community_summaries", {"workspace": workspace, **renamed, **told})
            self._copy(graph, "community_summaries", {"edition": renamed["edition"], **told})

    def _turned(self, graph: Evigraph) -> tuple[dict[str, list[int]], list[int]]:
        sql = "SELECT DISTINCT revision_key FROM passages WHERE workspace = {workspace:String} ORDER BY revision_key"
        keys = [row[0] for row in graph.store.rows(sql, {"workspace": graph.workspace})]
        return {"keys": keys, "turned": [*keys[1:], *keys[:1]]}, keys

    def _copy(
        self,
        graph: Evigraph,
        table: str,
        changed: Mapping[str, str],
        bound: Mapping[str, list[int]] | None = None,
        *,
        only: list[int] | None = None,
    ) -> None:
        columns = self._columns[table]
        chosen = ", ".join(f"{changed.get(column, column)}" for column in columns)
        where = "" if only is None else " AND revision_key IN {only:Array(UInt128)}"
        graph.store.command(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table}"
            f" WHERE workspace = {{own:String}}{where}",
            {"own": graph.workspace, **(bound or {}), **({} if only is None else {"only": only})},
        )


def _begun_by(word: str) -> dict[str, str]:
    return {column: f"concat('{word} ', {column})" for column in _TEXTS}


def _columns(graph: Evigraph) -> dict[str, list[str]]:
    sql = "SELECT table, name FROM system.columns WHERE database = currentDatabase() ORDER BY table, position"
    found: dict[str, list[str]] = {}
    for table, name in graph.store.rows(sql, {}):
        found.setdefault(table, []).append(name)
    return found
