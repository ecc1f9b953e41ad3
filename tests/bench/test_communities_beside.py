"""Our communities of an imported GraphRAG folder, beside those that came with it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from evigraph import Evigraph
from evigraph.community.cluster import modularity

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "communities_beside.py"
WORSE = 0.05
"""Modularity that ours, of our own links and weights, may lack over the folder's relationships."""
CITED = 5


@pytest.fixture(scope="module")
def beside() -> ModuleType:
    spec = importlib.util.spec_from_file_location("communities_beside", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.shared
@pytest.mark.verify
def test_ours_are_as_good_and_answer_from_the_text(shared_data: Path, beside: ModuleType, tmp_path: Path) -> None:
    folder = shared_data / "christmas_carol_graphrag"
    titles = beside.titles(folder)
    edges = beside.links(folder, titles)
    with Evigraph(tmp_path) as graph:
        graph.import_graph(folder)
        graph.communities.build()
        figures = {}
        for name, levels in (("ours", beside.ours(graph, titles)), ("theirs", beside.theirs(folder))):
            numbers = beside.numbers(levels[0], titles)
            reached = (numbers[edges[:, 0]] >= 0) & (numbers[edges[:, 1]] >= 0)
            figures[name] = modularity(numbers, edges), float(np.mean(reached))
        assert figures["ours"][0] >= figures["theirs"][0] - WORSE
        assert figures["ours"][1] >= figures["theirs"][1]

        answer = graph.ask(beside.QUESTION, mode="thematic_overview")
        assert len({(item.document_id, item.start, item.end) for item in answer.citations}) >= CITED
        for item in answer.citations:
            text = graph.document_text(item.document_id, revision=item.revision)
            assert text[item.start : item.end] == item.quote
            assert f"[{item.n}]" in (answer.text or "")
