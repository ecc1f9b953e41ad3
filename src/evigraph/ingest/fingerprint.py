"""What a publication records of the payload it was made of, so that the next run knows whether there is work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TreeMark(Enum):
    """Whether a tree of summaries was asked for. A document too short for one was asked like any other."""

    NONE = ""
    WHOLE = "tree"
    INCOMPLETE = "tree.incomplete"
    """Calls to a chat model failed: asked again, the tree is made anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """`payload` is the hash of content and rules. `incomplete` says that calls to an extractor's model failed."""

    payload: str
    incomplete: bool = False
    tree: TreeMark = TreeMark.NONE

    @classmethod
    def read(cls, recorded: str) -> Fingerprint:
        payload, *marks = recorded.split("-")
        tree = next((mark for mark in TreeMark if mark.value and mark.value in marks), TreeMark.NONE)
        return cls(payload=payload, incomplete="incomplete" in marks, tree=tree)

    @property
    def recorded(self) -> str:
        """As a publication's `content_hash`."""
        return "-".join([self.payload, *["incomplete"] * self.incomplete, *[self.tree.value] * bool(self.tree.value)])

    def serves(self, payload: str, *, build_tree: bool) -> bool:
        """Whether indexing this payload now would change nothing. Where no tree is asked for, one that is there is
        kept."""
        return self.payload == payload and not self.incomplete and (not build_tree or self.tree is TreeMark.WHOLE)

    def keeps_tree(self, payload: str) -> bool:
        """Whether a revision that replaces this one gets a tree unasked: it holds the same, and this one has one."""
        return self.payload == payload and self.tree is not TreeMark.NONE
