"""Replies of a model: what is harmless is put right, what is cut off is refused."""

from __future__ import annotations

import json

import pytest

from evigraph.errors import InvalidPlan
from evigraph.query.plan.reply import json_of

PLAN = {
    "steps": [
        {"id": "a", "op": "match", "entity": 'Ada\'s "Bea"'},
        {"id": "b", "op": "hop", "source": "a", "predicates": ["KNOWS", "LIKES"]},
        {"id": "c", "op": "count", "source": "b", "by": None},
    ]
}
TEXT = json.dumps(PLAN)


@pytest.mark.parametrize(
    "text", [TEXT, f"```json\n{TEXT}\n```", f"It's this:\n{TEXT}\nI hope it's right.", f" {TEXT} "]
)
def test_a_whole_object_is_read_as_it_is(text: str) -> None:
    assert json_of(text) == (PLAN, "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (TEXT.replace("}]", "},\n ]"), "a comma too many"),
        (TEXT.replace("{", "{ // it's a note }\n", 1), "comments"),
        (TEXT.replace("{", "{ /* don't } */", 1), "comments"),
        (TEXT.replace(", ", ", # }\n"), "comments"),
        (TEXT.replace("Ada's", "Ada\\u0027s").replace('\\"', "`").replace('"', "'").replace("`", '"'), "single quotes"),
        (TEXT.replace('\\"', "`").replace('"', "'").replace("`", '"'), "single quotes"),
    ],
)
def test_harmless_faults_are_put_right_and_said(text: str, fault: str) -> None:
    assert json_of(text) == (PLAN, fault)


def test_a_reply_cut_off_anywhere_is_refused() -> None:
    for size in range(len(TEXT)):
        for ending in ("", "\n```", "\nThat is the plan."):
            with pytest.raises(InvalidPlan):
                json_of(TEXT[:size] + ending)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no plan",
        "{" * 5_000,
        '{"a": [}',
        '{"steps": [{"id": "a"}, ...]}',
        '{"steps": [1 2]}',
        '{"steps" [1]}',
        '{"steps": }',
        "{steps: []}",
        TEXT + TEXT,
        TEXT + '\n{"steps": [',
        '{"a": "' + "x" * 20_000 + '"}',
        "{" + "'" * 5_000,
    ],
)
def test_what_is_ambiguous_is_refused(text: str) -> None:
    with pytest.raises(InvalidPlan):
        json_of(text)
