"""Schema, as numbered functions applied in order. A released migration is never edited: add the next number.

Every table is insert-only. Rows carry `revision_key` (see `keys`), and only a row in `publications` makes them visible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evigraph.errors import StoreTooNew

Migration = Callable[[Any], None]

TABLES = (
    "publications",
    "changes",
    "stagings",
    "passages",
    "document_texts",
    "passage_vectors",
    "terms",
    "mentions",
    "assertions",
    "fact_vectors",
    "jobs",
)

REVISION_TABLES = (
    "stagings",
    "passages",
    "document_texts",
    "passage_vectors",
    "terms",
    "mentions",
    "assertions",
    "fact_vectors",
)
"""Tables whose rows belong to one document revision and go when it is pruned."""


_SETTINGS = "cleanup_delay_period = 1, max_cleanup_delay_period = 2, cleanup_delay_period_random_add = 0"
"""How often the engine looks for part files to remove, in seconds. Its own 30 to 300 is how long `prune` would wait."""


def _m0001_documents(client: Any) -> None:
    client.command(f"""
        CREATE TABLE IF NOT EXISTS publications (
            workspace LowCardinality(String), document_id String, revision UInt32, revision_key UInt128,
            generation UInt64, published_at DateTime64(6, 'UTC'), deleted Bool,
            origin String, source String, title String, date Nullable(Date32), metadata Map(String, String),
            media_type LowCardinality(String), language LowCardinality(String), content_hash String,
            passages UInt32, terms UInt64
        ) ENGINE = MergeTree ORDER BY (workspace, document_id, revision)
        SETTINGS {_SETTINGS}""")
    # What else moves the generation on: the embedding model in force, a prune, ...
    client.command(f"""
        CREATE TABLE IF NOT EXISTS changes (
            workspace LowCardinality(String), generation UInt64, at DateTime64(6, 'UTC'),
            kind LowCardinality(String), detail String
        ) ENGINE = MergeTree ORDER BY (workspace, generation)
        SETTINGS {_SETTINGS}""")
    # Reserves a revision number before any of its rows is written, so that a crash never has two attempts share one.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS stagings (
            workspace LowCardinality(String), document_id String, revision UInt32, revision_key UInt128,
            staged_at DateTime64(6, 'UTC')
        ) ENGINE = MergeTree ORDER BY (workspace, document_id, revision)
        SETTINGS {_SETTINGS}""")
    client.command(f"""
        CREATE TABLE IF NOT EXISTS jobs (
            workspace LowCardinality(String), job_id String, kind LowCardinality(String),
            state LowCardinality(String), started_at DateTime64(6, 'UTC'), updated_at DateTime64(6, 'UTC'),
            detail String
        ) ENGINE = MergeTree ORDER BY (workspace, job_id, updated_at)
        SETTINGS {_SETTINGS}""")


def _m0002_passages(client: Any) -> None:
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


def _m0003_graph(client: Any) -> None:
    client.command(f"""
        CREATE TABLE IF NOT EXISTS mentions (
            workspace LowCardinality(String), key String, entity_id String, revision_key UInt128,
            passage_index UInt32, name String, type LowCardinality(String), start UInt64, end UInt64,
            role LowCardinality(String), weight Float32, confidence Float32, extractor LowCardinality(String),
            PROJECTION by_passage (SELECT * ORDER BY workspace, revision_key, passage_index),
            PROJECTION by_entity (SELECT * ORDER BY workspace, entity_id, revision_key, passage_index)
        ) ENGINE = MergeTree ORDER BY (workspace, key, revision_key, passage_index)
        SETTINGS {_SETTINGS}""")
    client.command(f"""
        CREATE TABLE IF NOT EXISTS assertions (
            workspace LowCardinality(String), assertion_id String, revision_key UInt128, passage_index UInt32,
            document_id String, subject_id String, subject_name String, subject_type LowCardinality(String),
            predicate LowCardinality(String), object_id String, object_name String,
            object_type LowCardinality(String), description String, start UInt64, end UInt64,
            confidence Float32, weight Float32, extractor LowCardinality(String), verified Bool,
            PROJECTION by_object (SELECT * ORDER BY workspace, object_id, revision_key, passage_index),
            PROJECTION by_passage (SELECT * ORDER BY workspace, revision_key, passage_index)
        ) ENGINE = MergeTree ORDER BY (workspace, subject_id, revision_key, passage_index)
        SETTINGS {_SETTINGS}""")
    # Vectors of entities (name and description) and of assertions, one row per revision that states them.
    client.command(f"""
        CREATE TABLE IF NOT EXISTS fact_vectors (
            workspace LowCardinality(String), model LowCardinality(String), kind LowCardinality(String),
            revision_key UInt128, ref String, text String, vector Array(Float32)
        ) ENGINE = MergeTree ORDER BY (workspace, model, kind, revision_key, ref)
        SETTINGS index_granularity = 256, {_SETTINGS}""")


MIGRATIONS: tuple[Migration, ...] = (_m0001_documents, _m0002_passages, _m0003_graph)


def migrate(client: Any) -> int:
    """Bring the database to the newest schema; return its version. Refuses one written by a newer evigraph."""
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
    for version, migration in enumerate(MIGRATIONS[current:], start=current + 1):
        migration(client)
        client.insert("migrations", [[version, migration.__name__]], column_names=["version", "name"])
    return len(MIGRATIONS)
