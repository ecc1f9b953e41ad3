"""Schema, as numbered functions applied in order. A released migration is never edited, but for the layout of the
tables that it makes: add the next number.

Every table is insert-only. Rows carry `revision_key` (see `keys`), and only a row in `publications` makes them visible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evigraph.errors import StoreTooNew
from evigraph.store.names import FORM_COLUMNS, form_rows

Migration = Callable[[Any, bool], None]
"""Takes the client, and whether nobody else has the store open."""

FORMS_AT_ONCE = 500
"""Revisions whose name forms one insert of a migration writes."""

TABLES = (
    "publications",
    "changes",
    "stagings",
    "passages",
    "document_texts",
    "passage_vectors",
    "terms",
    "mentions",
    "name_forms",
    "assertions",
    "fact_vectors",
    "extraction_cache",
    "jobs",
    "community_members",
    "community_summaries",
    "conversations",
    "conversation_turns",
    "knowledge_bases",
    "knowledge_base_documents",
    "pipelines",
)

REVISION_TABLES = (
    "stagings",
    "passages",
    "document_texts",
    "passage_vectors",
    "terms",
    "mentions",
    "name_forms",
    "assertions",
    "fact_vectors",
    "extraction_cache",
    "knowledge_base_documents",
)
"""Tables whose rows belong to one document revision and go when it is pruned."""


_SETTINGS = "cleanup_delay_period = 1, max_cleanup_delay_period = 2, cleanup_delay_period_random_add = 0"
"""How often the engine looks for part files to remove, in seconds. Its own 30 to 300 is how long `prune` would wait."""


_PUBLICATIONS = f"""(
    workspace LowCardinality(String), document_id String, revision UInt32, revision_key UInt128,
    generation UInt64, published_at DateTime64(6, 'UTC'), deleted Bool,
    origin String, source String, title String, date Nullable(Date32), metadata Map(String, String),
    media_type LowCardinality(String), language LowCardinality(String), content_hash String,
    passages UInt32, terms UInt64, INDEX by_generation generation TYPE minmax GRANULARITY 1
) ENGINE = MergeTree ORDER BY (workspace, document_id, revision)
SETTINGS index_granularity = 256, {_SETTINGS}"""

_STAGINGS = f"""(
    workspace LowCardinality(String), document_id String, revision UInt32, revision_key UInt128,
    staged_at DateTime64(6, 'UTC')
) ENGINE = MergeTree ORDER BY (workspace, document_id, revision)
SETTINGS index_granularity = 256, {_SETTINGS}"""

_MENTIONS = f"""(
    workspace LowCardinality(String), key String, entity_id String, revision_key UInt128,
    passage_index UInt32, name String, type LowCardinality(String), start UInt64, end UInt64,
    role LowCardinality(String), weight Float32, confidence Float32, extractor LowCardinality(String),
    PROJECTION by_passage (SELECT * ORDER BY workspace, revision_key, passage_index),
    PROJECTION by_entity (SELECT * ORDER BY workspace, entity_id, revision_key, passage_index)
) ENGINE = MergeTree ORDER BY (workspace, key, revision_key, passage_index)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, max_compress_block_size = 65536, {_SETTINGS}"""

_ASSERTIONS = f"""(
    workspace LowCardinality(String), assertion_id String, revision_key UInt128, passage_index UInt32,
    document_id String, subject_id String, subject_name String, subject_type LowCardinality(String),
    predicate LowCardinality(String), object_id String, object_name String,
    object_type LowCardinality(String), description String, start UInt64, end UInt64,
    confidence Float32, weight Float32, extractor LowCardinality(String), verified Bool,
    PROJECTION by_object (SELECT * ORDER BY workspace, object_id, revision_key, passage_index),
    PROJECTION by_passage (SELECT * ORDER BY workspace, revision_key, passage_index)
) ENGINE = MergeTree ORDER BY (workspace, subject_id, revision_key, passage_index)
SETTINGS index_granularity = 256, min_compress_block_size = 4096, max_compress_block_size = 65536, {_SETTINGS}"""


def _m0001_documents(client: Any, alone: bool = False) -> None:
    client.command(f"CREATE TABLE IF NOT EXISTS publications {_PUBLICATIONS}")
    # What else moves the generation on: the embedding model in force, a prune, ...
    client.command(f"""
        CREATE TABLE IF NOT EXISTS changes (
            workspace LowCardinality(String), generation UInt64, at DateTime64(6, 'UTC'),
            kind LowCardinality(String), detail String
        ) ENGINE = MergeTree ORDER BY (workspace, generation)
        SETTINGS {_SETTINGS}""")
    # Reserves a revision number before any of its rows is written, so that a crash never has two attempts share one.
    client.command(f"CREATE TABLE IF NOT EXISTS stagings {_STAGINGS}")
    client.command(f"""
        CREATE TABLE IF NOT EXISTS jobs (
            workspace LowCardinality(String), job_id String, kind LowCardinality(String),
            state LowCardinality(String), started_at DateTime64(6, 'UTC'), updated_at DateTime64(6, 'UTC'),
            detail String
        ) ENGINE = MergeTree ORDER BY (workspace, job_id, updated_at)
        SETTINGS {_SETTINGS}""")


def _m0002_passages(client: Any, alone: bool = False) -> None:
    client.command(f"""
        CREATE TABLE IF NOT EXISTS passages (
            workspace LowCardinality(String), revision_key UInt128, passage_index UInt32,
            document_id String, revision UInt32, level UInt8, start UInt64, end UInt64,
            text String, context String, heading_path Array(String), page Nullable(UInt32),
            token_count UInt32, sentence_starts Array(UInt64), sentence_ends Array(UInt64)
        ) ENGINE = MergeTree ORDER BY (workspace, revision_key, passage_index)
        SETTINGS index_granularity = 256, {_SETTINGS}""")
    client.command(f"""
        CREATE TABLE IF NOT EXISTS document_texts (
            workspace LowCardinality(String), revision_key UInt128, start UInt64, text String
        ) ENGINE = MergeTree ORDER BY (workspace, revision_key, start)
        SETTINGS index_granularity = 64, {_SETTINGS}""")
    # Small granules: a re-scoring step fetches a few hundred scattered vectors.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS passage_vectors (
            workspace LowCardinality(String), model LowCardinality(String), revision_key UInt128,
            passage_index UInt32, level UInt8, vector Array(Float32)
        ) ENGINE = MergeTree ORDER BY (workspace, model, revision_key, passage_index)
        SETTINGS index_granularity = 64, {_SETTINGS}""")
    client.command(f"""
        CREATE TABLE IF NOT EXISTS terms (
            workspace LowCardinality(String), term String, revision_key UInt128, passage_index UInt32,
            tf UInt32, length UInt32
        ) ENGINE = MergeTree ORDER BY (workspace, term, revision_key, passage_index)
        SETTINGS {_SETTINGS}""")


def _m0003_graph(client: Any, alone: bool = False) -> None:
    client.command(f"CREATE TABLE IF NOT EXISTS mentions {_MENTIONS}")
    client.command(f"CREATE TABLE IF NOT EXISTS assertions {_ASSERTIONS}")
    # Vectors of entities (name and description) and of assertions, one row per revision that states them.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS fact_vectors (
            workspace LowCardinality(String), model LowCardinality(String), kind LowCardinality(String),
            revision_key UInt128, ref String, text String, vector Array(Float32)
        ) ENGINE = MergeTree ORDER BY (workspace, model, kind, revision_key, ref)
        SETTINGS index_granularity = 256, {_SETTINGS}""")


def _m0004_name_forms(client: Any, alone: bool = False) -> None:
    # Sorted by form: what somebody types is looked up, whatever the size of the corpus.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS name_forms (
            workspace LowCardinality(String), form String, kind LowCardinality(String), key String, entity_id String,
            revision_key UInt128
        ) ENGINE = MergeTree ORDER BY (workspace, form, revision_key, entity_id)
        SETTINGS {_SETTINGS}""")
    # Forms of what is indexed already; begun anew where a crash cut it short.
    client.command("TRUNCATE TABLE name_forms")
    listed = client.query("SELECT DISTINCT workspace, revision_key FROM mentions ORDER BY ALL").result_rows
    for first in range(0, len(listed), FORMS_AT_ONCE):
        _write_forms(client, listed[first : first + FORMS_AT_ONCE])


def _write_forms(client: Any, revisions: Sequence[tuple[str, int]]) -> None:
    sql = """
        SELECT workspace, revision_key, key, entity_id, type, min(name) FROM mentions
        WHERE (workspace, revision_key) IN {revisions:Array(Tuple(String, UInt128))}
        GROUP BY workspace, revision_key, key, entity_id, type"""
    names: dict[tuple[str, int], list[tuple[str, str, str, str]]] = {}
    for workspace, revision, *name in client.query(sql, parameters={"revisions": list(revisions)}).result_rows:
        names.setdefault((workspace, revision), []).append((name[0], name[1], name[2], name[3]))
    rows = [row for (workspace, revision), of in sorted(names.items()) for row in form_rows(workspace, revision, of)]
    if rows:
        client.insert("name_forms", rows, column_names=list(FORM_COLUMNS))


def _m0005_extraction_cache(client: Any, alone: bool = False) -> None:
    # The text of replies, under a hash of all that was asked.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS extraction_cache (
            workspace LowCardinality(String), key String, revision_key UInt128, at DateTime64(6, 'UTC'),
            model LowCardinality(String), reply String, prompt_tokens Nullable(UInt32),
            completion_tokens Nullable(UInt32)
        ) ENGINE = MergeTree ORDER BY (workspace, key, revision_key)
        SETTINGS index_granularity = 256, {_SETTINGS}""")


def _m0006_assertion_granules(client: Any, alone: bool = False) -> None:
    # A traversal looks up scattered entities, then fetches some dozens of scattered assertions whole. Small granules in
    # small compressed blocks make that a third of the work at a million assertions, for a fifth more space.
    _rebuild(client, "assertions", _ASSERTIONS, alone=alone)


def _m0007_publication_granules(client: Any, alone: bool = False) -> None:
    # Every write looks its document up here: small granules keep that from growing with the corpus.
    _rebuild(client, "publications", _PUBLICATIONS, alone=alone)
    _rebuild(client, "stagings", _STAGINGS, alone=alone)


def _m0008_communities(client: Any, alone: bool = False) -> None:
    # Names of trees and editions are random, each of one workspace, and looked up by alone. `path` holds the entity's
    # community at each level. What a community is follows from the paths of its members.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS community_members (
            workspace LowCardinality(String), tree String, entity_id String, path Array(UInt32),
            staged_at DateTime64(6, 'UTC')
        ) ENGINE = MergeTree ORDER BY (tree, entity_id)
        SETTINGS {_SETTINGS}""")
    # `supports` are sentences: `(revision_key, passage_index, start, end)`. Only a chat model's summary has a text.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS community_summaries (
            workspace LowCardinality(String), tree String, edition String, number UInt32, input_hash String,
            model LowCardinality(String), text String, supports Array(Tuple(UInt128, UInt32, UInt64, UInt64)),
            staged_at DateTime64(6, 'UTC')
        ) ENGINE = MergeTree ORDER BY (edition, number)
        SETTINGS index_granularity = 256, {_SETTINGS}""")


def _m0009_summary_nodes(client: Any, alone: bool = False) -> None:
    # Indexes of the leaves that a summary of its document's tree rests on; a passage of text rests on nothing.
    client.command("ALTER TABLE passages ADD COLUMN IF NOT EXISTS supports Array(UInt32) DEFAULT []")


def _m0010_conversations(client: Any, alone: bool = False) -> None:
    # A state of a conversation a row; the highest version is the one in force. `thread` is the random name under which
    # its turns are kept: one that is begun anew after a deletion has another.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS conversations (
            workspace LowCardinality(String), owner String, conversation_id String, version UInt64, thread String,
            shared Bool, deleted Bool, at DateTime64(6, 'UTC')
        ) ENGINE = MergeTree ORDER BY (workspace, owner, conversation_id, version)
        SETTINGS index_granularity = 256, {_SETTINGS}""")
    # `answer_rests_on` are the revisions that answer and `names` were taken from, `standalone_rests_on` those that the
    # stand-alone question was; each text is shown and kept as long as these are.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS conversation_turns (
            workspace LowCardinality(String), thread String, turn UInt32, asked_by String,
            asked_at DateTime64(6, 'UTC'), generation UInt64, question String, standalone String,
            standalone_rests_on Array(UInt128), abstained Bool, answer String, names Array(String),
            name_types Array(String), answer_rests_on Array(UInt128)
        ) ENGINE = MergeTree ORDER BY (workspace, thread, turn)
        SETTINGS index_granularity = 256, {_SETTINGS}""")


def _m0011_knowledge_bases(client: Any, alone: bool = False) -> None:
    # A state of a knowledge base or a pipeline a row; the highest version is the one in force.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS knowledge_bases (
            workspace LowCardinality(String), base_id String, version UInt64, name String, description String,
            llm_model String, deleted Bool, created_at DateTime64(6, 'UTC'), at DateTime64(6, 'UTC')
        ) ENGINE = MergeTree ORDER BY (workspace, base_id, version)
        SETTINGS index_granularity = 256, {_SETTINGS}""")
    # Which base a revision is published in, written before it is published.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS knowledge_base_documents (
            workspace LowCardinality(String), revision_key UInt128, base_id LowCardinality(String), document_id String
        ) ENGINE = MergeTree ORDER BY (workspace, revision_key)
        SETTINGS index_granularity = 256, {_SETTINGS}""")
    client.command(f"""
        CREATE TABLE IF NOT EXISTS pipelines (
            workspace LowCardinality(String), pipeline_id String, version UInt64, name String,
            knowledge_bases Array(String), llm_model String, defaults String, deleted Bool,
            created_at DateTime64(6, 'UTC'), at DateTime64(6, 'UTC')
        ) ENGINE = MergeTree ORDER BY (workspace, pipeline_id, version)
        SETTINGS index_granularity = 256, {_SETTINGS}""")


def _m0012_embedding_models(client: Any, alone: bool = False) -> None:
    # A base of an embedding model of its own, and the revisions published in such a base, which keep the model on
    # record whatever becomes of the base; "" for the workspace's.
    client.command("ALTER TABLE knowledge_bases ADD COLUMN IF NOT EXISTS embedding_model String DEFAULT ''")
    client.command("ALTER TABLE knowledge_bases ADD COLUMN IF NOT EXISTS embedding_dimension UInt32 DEFAULT 0")
    column = "embedding_model LowCardinality(String) DEFAULT ''"
    client.command(f"ALTER TABLE knowledge_base_documents ADD COLUMN IF NOT EXISTS {column}")


def _m0013_capitalised_runs(client: Any, alone: bool = False) -> None:
    # What of a passage's text may be names that other documents are about. Passages of before have none, until their
    # document is indexed anew.
    client.command("ALTER TABLE passages ADD COLUMN IF NOT EXISTS capitalised Array(String) DEFAULT []")


def _m0014_mention_granules(client: Any, alone: bool = False) -> None:
    # A question looks up some hundreds of scattered names, then all that some hundreds of scattered passages mention.
    # At two million mentions small granules make that a third of the work, for a fifth more space.
    _rebuild(client, "mentions", _MENTIONS, alone=alone)


def _rebuild(client: Any, table: str, layout: str, *, alone: bool) -> None:
    """Give a table made by an earlier evigraph the layout it has today. Begun anew where a crash cut it short; the
    table itself is whole at any time. Where others may write meanwhile it keeps its old layout, which is slower but as
    right: their rows would be lost."""
    sql = "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = {table:String}"
    if not alone or "index_granularity = 256" in client.query(sql, parameters={"table": table}).result_rows[0][0]:
        return
    client.command(f"CREATE TABLE {table}_rebuilt {layout}")
    client.command(f"INSERT INTO {table}_rebuilt SELECT * FROM {table}")
    client.command(f"EXCHANGE TABLES {table}_rebuilt AND {table}")
    client.command(f"DROP TABLE {table}_rebuilt SYNC")


def _drop_leftovers(client: Any) -> None:
    """Drop what a rebuilding that was cut short left: a table begun, or the old one, which no prune would find."""
    sql = "SELECT name FROM system.tables WHERE database = currentDatabase() AND name IN {tables:Array(String)}"
    named = {"tables": [f"{table}_rebuilt" for table in TABLES]}
    for (table,) in client.query(sql, parameters=named).result_rows:
        client.command(f"DROP TABLE {table} SYNC")


MIGRATIONS: tuple[Migration, ...] = (
    _m0001_documents,
    _m0002_passages,
    _m0003_graph,
    _m0004_name_forms,
    _m0005_extraction_cache,
    _m0006_assertion_granules,
    _m0007_publication_granules,
    _m0008_communities,
    _m0009_summary_nodes,
    _m0010_conversations,
    _m0011_knowledge_bases,
    _m0012_embedding_models,
    _m0013_capitalised_runs,
    _m0014_mention_granules,
)


def migrate(client: Any, *, alone: bool = False) -> int:
    """Bring the database to the newest schema; return its version. Refuses one written by a newer evigraph. `alone`
    says that nobody else has it open."""
    client.command("""
        CREATE TABLE IF NOT EXISTS migrations (
            version UInt32, name String, applied_at DateTime64(6, 'UTC') DEFAULT now64(6)
        ) ENGINE = MergeTree ORDER BY version""")
    current = int(client.query("SELECT max(version) FROM migrations").result_rows[0][0])
    if current > len(MIGRATIONS):
        raise StoreTooNew(
            f"the store has schema version {current}, this evigraph knows up to {len(MIGRATIONS)}",
            hint="upgrade evigraph, or open another store",
        )
    if alone:
        _drop_leftovers(client)
    for version, migration in enumerate(MIGRATIONS[current:], start=current + 1):
        migration(client, alone)
        client.insert("migrations", [[version, migration.__name__]], column_names=["version", "name"])
    return len(MIGRATIONS)
