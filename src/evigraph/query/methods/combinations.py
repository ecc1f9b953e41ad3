"""Which method goes with which mode, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping

from evigraph.types import Method, Mode

_NONE: Mapping[Mode, str] = {
    Mode.BYPASS: "`bypass` retrieves nothing",
    Mode.PLAN: "a plan says itself what is read, and its bindings are the answer",
    Mode.THEMATIC_OVERVIEW: "`thematic_overview` reads every community whatever the words, and grades its parts itself",
}
"""Modes that know no method but `standard`."""
_WORDED = "`traverse` starts from seeds, so that other words find nothing else"
_SOME: Mapping[tuple[Mode, Method], str] = {
    **{(Mode.TRAVERSE, method): _WORDED for method in (Method.HYDE, Method.MULTI_QUERY, Method.CORRECTIVE)},
    **{
        (mode, Method.RAPTOR): "the summary tree is searched by vector, as passages are under `naive`, and in no other"
        for mode in Mode
        if mode is not Mode.NAIVE
    },
}


def refusal(mode: Mode, method: Method) -> str | None:
    """Why a method makes no sense under a mode; None where it does. What `auto` (the mode) chooses is not known yet:
    of the methods only `raptor` is refused there."""
    if method is Method.STANDARD:
        return None
    return _NONE.get(mode) or _SOME.get((mode, method))
