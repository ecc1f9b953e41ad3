"""Row identities: what they hold and how they sort."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evigraph.store.keys import assertion_id, revision_key

IDS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=30)
REVISIONS = st.integers(min_value=1, max_value=2**32 - 1)


@given(document_id=IDS, revision=REVISIONS)
def test_a_key_holds_its_revision_in_128_bits(document_id: str, revision: int) -> None:
    key = revision_key(document_id, revision)
    assert 0 <= key < 2**128
    assert key & 0xFFFFFFFF == revision


@given(ids=st.lists(IDS, min_size=2, max_size=2, unique=True), revisions=st.tuples(*[REVISIONS] * 4))
def test_keys_sort_by_document_whatever_the_revision_then_by_revision(
    ids: list[str], revisions: tuple[int, int, int, int]
) -> None:
    one, other = ids
    first = [revision_key(one, number) for number in revisions[:2]]
    second = [revision_key(other, number) for number in revisions[2:]]
    assert max(first) < min(second) or max(second) < min(first)
    assert (revision_key(one, revisions[0]) < revision_key(one, revisions[1])) == (revisions[0] < revisions[1])


def test_keys_are_the_same_in_every_store_and_release() -> None:
    """Stored rows carry them: another derivation would orphan every existing store."""
    assert revision_key("notes.md", 7) == 0x754B6DC3F8728B1991298D8300000007
    assert assertion_id("notes.md#0", "x:a", "P", "x:b", 3) == "4fe37d3c7c1659ee"


@given(parts=st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=8), min_size=4, max_size=4))
def test_an_assertion_id_depends_on_every_part(parts: list[str]) -> None:
    passage, subject, predicate, object_ = parts
    name = assertion_id(passage, subject, predicate, object_, 1)
    assert len(name) == 16
    assert name != assertion_id(passage, subject, predicate, object_, 2)
    assert name != assertion_id(passage, subject + "x", predicate, object_, 1)
    assert name != assertion_id(passage, subject, predicate + "x", object_, 1)
    assert name != assertion_id(passage + "x", subject, predicate, object_, 1)
