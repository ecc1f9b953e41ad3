"""Health, readiness, capabilities, jobs, prune, reembed."""

from __future__ import annotations

import httpx2
import pytest

from evigraph import Evigraph
from evigraph.errors import ModelUnavailable
from evigraph.reports import PruneReport
from evigraph.testing.models import HashEmbedder

from .serving import problem_of, running


def test_up_and_ready(client: httpx2.Client) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    ready = client.get("/ready")
    assert ready.status_code == 200
    assert ready.json()["embedder"] == "hash-64"


def test_not_ready_names_the_cause(engine: Evigraph, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(workspace: str) -> int:
        raise ModelUnavailable("the model's file is gone", hint="restore it")

    with running(engine) as client:
        monkeypatch.setattr(engine.store, "generation", refuse)
        body = problem_of(client.get("/ready"), 503, "not_ready")
        assert body["detail"] == "model_unavailable: the model's file is gone"
        assert body["hint"] == "restore it"
        assert client.get("/health").status_code == 200


def test_capabilities_name_what_is_active(client: httpx2.Client) -> None:
    short, full = client.get("/capabilities").json(), client.get("/api/v1/capabilities").json()
    assert short == full
    assert full["embedder"]["name"] == "hash-64"
    assert full["modes"]["bypass"]["available"] is False


def test_prune_reports_and_earlier_states_are_gone(
    engine: Evigraph, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"X-Workspace-ID": "pruned"}
    for text in ("Old words.", "New words."):
        client.post("/api/v1/documents", json={"document_id": "d", "text": text}, headers=mine)

    def without_waiting(view: Evigraph) -> PruneReport:
        # Removing part files from disk takes the store half a minute; its own tests wait for that.
        horizon = view.store.record_change(view.workspace, "prune", {})
        return PruneReport(documents=1, revisions=1, horizon=horizon, seconds=0.5)

    monkeypatch.setattr(Evigraph, "prune", without_waiting)
    done = client.post("/api/v1/prune", headers=mine)
    assert done.status_code == 200, done.text
    assert done.json()["revisions"] == 1
    early = client.post("/api/v1/query", json={"query": "words", "as_of": 1}, headers=mine)
    problem_of(early, 410, "before_prune_horizon")
    problem_of(client.get("/api/v1/documents", params={"as_of": 1}, headers=mine), 410, "before_prune_horizon")
    jobs = client.get("/api/v1/jobs", headers=mine).json()["jobs"]
    assert [(job["kind"], job["state"]) for job in jobs] == [("index", "done"), ("index", "done")]


def test_another_model_is_refused_until_reembedded(engine: Evigraph) -> None:
    mine = {"X-Workspace-ID": "moved"}
    document = {"document_id": "d", "text": "Hana Sefu trained the mechanics."}
    with running(engine) as client:
        assert client.post("/api/v1/documents", json=document, headers=mine).status_code == 200
    with (
        Evigraph(engine.data, settings=engine.settings, embedder=HashEmbedder(dimension=32)) as other,
        running(other) as client,
    ):
        refused = client.post("/api/v1/documents", json=document, headers=mine)
        assert "reembed" in problem_of(refused, 409, "embedder_mismatch")["hint"]
        assert client.post("/api/v1/reembed", headers=mine).json()["generation"] > 1
        again = client.post("/api/v1/documents", json=document, headers=mine)
        assert again.json()["documents"][0]["status"] == "unchanged"
