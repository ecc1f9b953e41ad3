"""Answers and reports as JSON: one shape for HTTP, `--json` and files (SPEC 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any

from evigraph.communities import Coverage, Quote, Staleness
from evigraph.plans import as_data
from evigraph.types import Answer, Chunk, Citation, Connections, Entity, Evidence, Path, Relationship

_DERIVED: Mapping[type, tuple[str, ...]] = {
    Staleness: ("stale", "documents", "assertions"),
    Coverage: ("assertion_share",),
}
"""Properties that a reader would otherwise have to work out: shares of counts."""


def answer_to_wire(answer: Answer) -> dict[str, Any]:
    """The response of `POST /api/v1/query`."""
    evidence = answer.evidence
    request = answer.request
    return {
        "answer": answer.text,
        "context": answer.context,
        "prompt": answer.prompt,
        "abstained": answer.abstained,
        "abstain_reason": answer.abstain_reason,
        "mode": evidence.mode.value,
        "method": answer.method.value,
        "requested": {"mode": request.mode.value, "method": request.method.value},
        "route": plain(evidence.route),
        "citations": [_citation(citation) for citation in answer.citations],
        "sources": _sources(answer) if request.include_sources else [],
        "chunks": [_chunk(chunk) for chunk in evidence.chunks],
        "entities": [_entity(entity) for entity in evidence.entities],
        "relationships": [_relationship(item) for item in evidence.relationships],
        "evidence": _connections(evidence.connections),
        "paths": [_path(path) for path in evidence.paths],
        "plan": _plan(evidence),
        "communities": plain(evidence.communities),
        "coverage": plain(evidence.coverage),
        "degraded": bool(answer.degraded),
        "method_details": {
            "degraded": list(answer.degraded),
            "retrieval": evidence.retrieval,
            "answered_by": answer.answered_by,
            "document_filter": plain(request.document_filter),
            "metadata_filter": None if request.metadata_filter is None else dict(request.metadata_filter),
            "conversation": plain(evidence.conversation),
            "unsupported": list(answer.unsupported),
            "removed_citations": list(answer.removed_citations),
            "attributed_citations": answer.stats.get("citations_attributed", 0),
            **plain(answer.details),
        },
        "stats": plain(answer.stats),
        "ledger": plain(answer.ledger),
        "generation": evidence.generation,
    }


def plain(value: Any) -> Any:
    """Dataclasses, dates and tuples as JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        names = (*(field.name for field in fields(value)), *_DERIVED.get(type(value), ()))
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "n": citation.n,
        "chunk_id": citation.chunk_id,
        "document_id": citation.document_id,
        "revision": citation.revision,
        "source": citation.source,
        "title": citation.title,
        "start": citation.start,
        "end": citation.end,
        "quote": citation.quote,
        "page": citation.page,
        "web": citation.web,
    }


def _sources(answer: Answer) -> list[dict[str, Any]]:
    """Documents of the evidence, in the order of their best passage; of summaries of documents, those cited, and of
    communities those quoted besides."""
    placed: list[tuple[str, Chunk | Citation | Quote]] = [
        (chunk.id, chunk) for chunk in answer.evidence.chunks if not chunk.level
    ]
    if answer.evidence.communities or any(chunk.level for chunk in answer.evidence.chunks):
        quotes = [quote for community in answer.evidence.communities for quote in community.quotes]
        placed += [(citation.chunk_id, citation) for citation in answer.citations]
        placed += [(quote.chunk_id, quote) for quote in quotes]
    seen: dict[tuple[bool, str], dict[str, Any]] = {}
    for chunk_id, one in placed:
        web = not isinstance(one, Quote) and one.web
        entry = seen.setdefault(
            (web, one.document_id),
            {
                "document_id": one.document_id,
                "revision": one.revision,
                "source": one.source,
                "title": one.title,
                "web": web,
                "chunks": [],
            },
        )
        if chunk_id not in entry["chunks"]:
            entry["chunks"].append(chunk_id)
    return list(seen.values())


def _chunk(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "text": chunk.text,
        "document_id": chunk.document_id,
        "revision": chunk.revision,
        "source": chunk.source,
        "title": chunk.title,
        "context": chunk.context,
        "page": chunk.page,
        "web": chunk.web,
        "start": None if chunk.level else chunk.start,
        "end": None if chunk.level else chunk.end,
        "level": chunk.level,
        "supports": list(chunk.supports),
        "matched": plain(chunk.matched),
        "kept": plain(chunk.kept),
        "vectorScore": chunk.vector_score,
        "vectorRank": chunk.vector_rank,
        "bm25Score": chunk.bm25_score,
        "bm25Rank": chunk.bm25_rank,
        "graphScore": chunk.graph_score,
        "graphRank": chunk.graph_rank,
        "fusedScore": chunk.fused_score,
        "rerankScore": chunk.rerank_score,
        "score": chunk.score,
    }


def _entity(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "description": entity.description,
        "degree": entity.degree,
        "score": entity.score,
        "sourceChunks": list(entity.source_chunks),
    }


def _connections(found: Connections | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "directRelationships": [_relationship(item) for item in found.direct],
        "extendedRelationships": [_relationship(item) for item in found.extended],
        "totalRelationships": found.total,
    }


def _plan(evidence: Evidence) -> dict[str, Any] | None:
    """A plan as it would be given, and each step with its bindings, their assertions and its time."""
    found = evidence.plan
    if found is None:
        return None
    return {
        "plan": None if found.plan is None else as_data(found.plan),
        "steps": [
            {
                "id": step.id,
                "op": step.op,
                "in": step.bindings_in,
                "out": len(step.bindings),
                "rows": step.rows,
                "truncated": step.truncated,
                "step_ms": evidence.stats.get(f"plan.{step.id}_ms"),
                "bindings": plain(step.bindings),
                "relationships": [_relationship(item) for item in step.relationships],
            }
            for step in found.steps
        ],
        "failed_step": found.failed_step,
        "reason": found.reason,
        "alternatives": list(found.alternatives),
        "proposed_by": found.proposed_by,
    }


def _path(path: Path) -> dict[str, Any]:
    return {
        "entities": list(path.entities),
        "names": list(path.names),
        "relationships": [_relationship(item) for item in path.relationships],
        "score": path.score,
    }


def _relationship(item: Relationship) -> dict[str, Any]:
    return {
        "id": item.id,
        "source": item.source,
        "target": item.target,
        "type": item.type,
        "description": item.description,
        "weight": item.weight,
        "sourceName": item.source_name,
        "sourceType": item.source_type,
        "targetName": item.target_name,
        "targetType": item.target_type,
        "chunk_id": item.chunk_id,
        "document_id": item.document_id,
        "revision": item.revision,
        "start": item.start,
        "end": item.end,
        "confidence": item.confidence,
        "extractor": item.extractor,
        "verified": item.verified,
    }
