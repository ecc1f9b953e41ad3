"""The store: ClickHouse (embedded or remote) behind typed statements. The only package with SQL."""

from evigraph.store.snapshot import Snapshot
from evigraph.store.store import Store, open_store

__all__ = ["Snapshot", "Store", "open_store"]
