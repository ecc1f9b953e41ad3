"""The web as the last resort of `corrective`: one search, whose results become passages beside those of the workspace.

What leaves the machine is the question that was asked, or what it means in its conversation in words that were asked
there. A refined one is not sent, nor one made to stand alone with words of an answer: their writers have read passages,
and a passage could have asked to be put in. Results are evidence of one question
and of nothing else. They are not stored, and no entity, degree or count of the workspace knows of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from evigraph.errors import EvigraphError, StageFailed
from evigraph.models.ports import WebResult, WebSearch
from evigraph.query.ledger import Stage
from evigraph.query.methods.attempt import attempt
from evigraph.query.run import Run
from evigraph.query.strategy import candidates
from evigraph.text.analysis import ENGLISH_STOP_WORDS
from evigraph.text.portions import portions
from evigraph.text.sentences import sentence_spans
from evigraph.text.wellformed import well_formed
from evigraph.types import Chunk, DocumentFilter

NAME = "web_search"
NOT_CONFIGURED = "no search service is configured (EVIGRAPH_WEB_SEARCH_KEY)"
RESULTS = 5
"""Results that are asked for."""
LONGEST_QUESTION = 400
"""Characters of a question that search services take."""
LONGEST_TEXT = 4_000
LONGEST_TITLE = 300
LONGEST_ADDRESS = 2_000
"""Characters of a result that are read. An address is not cut: one that is longer is none."""
MOST_PORTIONS = 16
"""Portions of a result that are compared with the question, where the embedding model does not read it whole."""


_PORTS = {"http": 80, "https": 443}
_Page = tuple[str, str, int, str, str]
"""Scheme, host, port, path and query of an address."""


_WORD = re.compile(r"\w+(?:'s\b)?")


@dataclass(kw_only=True, slots=True)
class _Read:
    """What became of the results: those that can be read, and why not the others."""

    kept: list[WebResult] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    cut: int = 0
    removed: int = 0


def tell_asked_in_vain(run: Run) -> None:
    """Say so where the request asks for the web by `web_search: true` and keeps the question off it, or nothing can
    search it. Raises `StageFailed` as `kept_off` does."""
    if "web_search" in run.request.given and run.request.web_search and (reason := kept_off(run)) is not None:
        run.ledger.degrade(f"{NAME}: it was asked for (web_search: true), but {reason}; the web was not searched")


def kept_off(run: Run) -> str | None:
    """Why the web is not to be searched for this question; None where it may be. None of these is a deviation: the
    caller said so, or nobody configured a search. Raises `StageFailed` where what is configured cannot be used."""
    request = run.request
    if not request.web_search:
        return "the request says so (web_search: false)"
    if _service(run) is None:
        return NOT_CONFIGURED
    if request.as_of is not None:
        return "the question is about an earlier state (as_of)"
    # Knowledge bases are where a question is put, as to a workspace; a filter says what it is about.
    asked = request.document_filter or DocumentFilter()
    if asked != DocumentFilter(knowledge_bases=asked.knowledge_bases) or request.metadata_filter:
        return "the question is about a part of the documents (filters)"
    return None


def skipped(reason: str) -> dict[str, Any]:
    """`method_details.web_search` where the web was not searched."""
    return {"query": None, "results": 0, "used": 0, "skipped": reason}


def search_web(run: Run) -> None:
    """Put what the web says on the question before the run's passages, and leave in `run.details` what was asked and
    found. Where that fails the evidence stays as it is, and the response says so."""
    told: dict[str, Any] = {"query": _query(run), "results": 0, "used": 0, "skipped": None}
    run.details[NAME] = told
    # The web answers the same question differently from day to day.
    run.repeatable = False
    attempt(run, NAME, lambda: _searched(run, told), instead="the evidence of the workspace was kept as it was")


def _query(run: Run) -> str:
    """The question as it is sent: on one line, cut where it is longer than services take."""
    text = " ".join(_own_words(run).split())
    if len(text) <= LONGEST_QUESTION:
        return text
    run.ledger.degrade(f"{NAME}: only the first {LONGEST_QUESTION} characters of the question were searched for")
    cut = text.rfind(" ", LONGEST_QUESTION // 2, LONGEST_QUESTION + 1)
    return text[: cut if cut > 0 else LONGEST_QUESTION]


def _own_words(run: Run) -> str:
    """What the question means in its conversation, if that has no word but those that were asked; else the question as
    it was asked. Earlier answers quote documents, and who makes a question stand alone has read them."""
    asked = [run.request.query, *(turn.question for turn in run.exchange.earlier)] if run.exchange else [run.query]
    own = {word for question in asked for word in _words(question)} | ENGLISH_STOP_WORDS
    if _words(run.query) <= own:
        return run.query
    run.ledger.degrade(
        f"{NAME}: the question was searched for as it was asked, since what it means in its conversation has words "
        "that nobody asked in it"
    )
    return run.request.query


def _words(text: str) -> set[str]:
    return {word.casefold().removesuffix("'s") for word in _WORD.findall(text.replace("’", "'"))}


def _service(run: Run) -> WebSearch | None:
    try:
        return run.web_search()
    except EvigraphError as error:
        raise StageFailed(NAME, f"{error}; {error.hint}" if error.hint else str(error)) from error


def _searched(run: Run, told: dict[str, Any]) -> None:
    limit = min(RESULTS, run.request.max_chunks)
    with run.ledger.stage(NAME) as stage:
        service = _service(run)
        assert service is not None, "`kept_off` says so beforehand"
        found = list(islice(service.search(told["query"], limit), limit + 1))
        found = stage.hand_on(found, because="the search found nothing", kind=WebResult, most=limit, check=_misshapen)
    told["results"] = len(found)
    with run.ledger.stage("web_passages", given=len(found) + len(run.chunks)) as stage:
        passages = _passages(run, found, stage)
        most = candidates(run.request)
        chunks = [*passages, *run.chunks][:most]
        stage.lose(len(passages) + len(run.chunks) - most, f"beyond max_chunks {most}")
        if passages:
            # Scores of the modes and cosines of results are not of one kind, so that `score` tells the place alone.
            chunks = [replace(chunk, score=round(1.0 / place, 9)) for place, chunk in enumerate(chunks, start=1)]
        run.chunks = stage.hand_on(
            chunks, because="no result can be read, and no passage was found", kind=Chunk, most=most, check=_repeated
        )
    told["used"] = sum(chunk.web for chunk in run.chunks)


def _misshapen(found: Sequence[WebResult]) -> str | None:
    """What is wrong with results, as a `check` says it: a search may be anybody's."""
    fine = all(isinstance(part, str) for one in found for part in (one.title, one.url, one.text))
    return None if fine else "it handed on a result whose title, address or text is no text"


def _repeated(chunks: Sequence[Chunk]) -> str | None:
    ids = [(chunk.web, chunk.id) for chunk in chunks]
    return None if len(set(ids)) == len(ids) else "it handed on a passage more than once"


def _passages(run: Run, found: Sequence[WebResult], stage: Stage) -> list[Chunk]:
    """The results as passages, those nearest to the question first."""
    read = _read(found)
    for reason in read.lost:
        stage.lose(1, reason)
    if read.cut:
        run.ledger.degrade(f"{NAME}: {read.cut} results were longer than what is read of one, and cut")
    if read.removed:
        run.ledger.degrade(f"{NAME}: characters that are no text were removed from results ({read.removed})")
    if found and not read.kept:
        run.ledger.degrade(f"{NAME}: none of {len(found)} results can be read ({_counted(read.lost)})")
    language = (*run.counts.languages, "en")[0]
    cosines = _cosines(run, read.kept, language)
    least = run.request.min_score
    near = [(cosine, one) for cosine, one in zip(cosines, read.kept, strict=True) if cosine is None or cosine >= least]
    stage.lose(len(read.kept) - len(near), f"below min_score {least:g}")
    # Sorting is stable: results that are equally near keep the order of the search.
    return [_chunk(run, one, cosine, language) for cosine, one in sorted(near, key=lambda pair: -(pair[0] or 0.0))]


def _read(found: Sequence[WebResult]) -> _Read:
    read = _Read()
    seen: set[_Page] = set()
    for one in found:
        address = one.url.strip()
        same = _same(address)
        text, removed = well_formed(one.text)
        title, more = well_formed(" ".join(one.title.split()))
        if same is None:
            read.lost.append("its address is not http(s)")
        elif "@" in urlsplit(address).netloc:
            read.lost.append("its address names a user")
        elif same in seen:
            read.lost.append("its address is there already")
        elif not any(map(str.isalnum, text)):
            read.lost.append("it has no text")
        else:
            seen.add(same)
            read.removed += removed + more
            read.cut += len(text.strip()) > LONGEST_TEXT or len(title) > LONGEST_TITLE
            text = text.strip()[:LONGEST_TEXT].rstrip()
            read.kept.append(WebResult(title=title[:LONGEST_TITLE], url=address, text=text))
    return read


def _same(address: str) -> _Page | None:
    """What two addresses of one page have in common, whatever case their scheme and host are in and whichever place on
    it they point to. None for one that may not be shown as a source: nothing that a click would run is one."""
    if len(address) > LONGEST_ADDRESS or not address.isprintable() or " " in address:
        return None
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme], parts.path or "/", parts.query


def _cosines(run: Run, results: Sequence[WebResult], language: str) -> list[float] | list[None]:
    """Cosine of each result with the question as asked, the best of its portions; None where no embedding model is at
    hand."""
    if not results or run.blind:
        return [None] * len(results)
    texts: list[str] = []
    owners: list[int] = []
    partly = 0
    for number, one in enumerate(results):
        found = _portions(run, one, language)
        partly += len(found) > MOST_PORTIONS
        texts += found[:MOST_PORTIONS]
        owners += [number] * len(found[:MOST_PORTIONS])
    if partly:
        run.ledger.degrade(f"{NAME}: {partly} results were compared with the question by their beginning alone")
    best = [-1.0] * len(results)
    for number, vector in zip(owners, run.embedder().embed(texts), strict=True):
        best[number] = max(best[number], round(float(vector @ run.asked.vector), 9))
    return best


def _portions(run: Run, one: WebResult, language: str) -> list[str]:
    """A result as texts that the embedding model reads whole, each with the title."""
    embedder = run.embedder()
    whole = f"{one.title}\n{one.text}" if one.title else one.text
    if embedder.count_tokens(whole) <= embedder.max_tokens:
        return [whole]
    # A title that leaves little room would make many portions of little text.
    roomy = 2 * embedder.count_tokens(one.title) <= embedder.max_tokens
    lead = f"{one.title}\n" if one.title and roomy else ""

    def fits(text: str) -> bool:
        return embedder.count_tokens(lead + text) <= embedder.max_tokens

    return [lead + piece for piece in portions(one.text, sentence_spans(one.text, language), fits)]


def _chunk(run: Run, one: WebResult, cosine: float | None, language: str) -> Chunk:
    read = f"{one.title}\n{one.text}" if one.title else one.text
    document_id = f"web:{one.url}"
    return Chunk(
        id=f"{document_id}#0",
        document_id=document_id,
        revision=0,
        source=one.url,
        title=one.title,
        context=one.title,
        text=one.text,
        start=0,
        end=len(one.text),
        token_count=run.embedder().count_tokens(read),
        sentences=sentence_spans(one.text, language),
        vector_score=None if cosine is None else min(1.0, max(0.0, cosine)),
        web=True,
    )


def _counted(reasons: Sequence[str]) -> str:
    counts: Mapping[str, int] = {reason: reasons.count(reason) for reason in sorted(set(reasons))}
    return ", ".join(f"{reason}: {number}" for reason, number in counts.items())
