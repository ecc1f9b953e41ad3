"""Answers by a chat model, from fenced evidence; every citation is checked afterwards."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evigraph.query.answer.prompt import NO_ANSWER, messages
from evigraph.query.answer.sentences import Sentence, cite, sentences_of
from evigraph.query.answer.support import LONGEST_ANSWER, marker_missing, unsupported_reason
from evigraph.query.ledger import LONGEST_REPLY
from evigraph.query.run import Run
from evigraph.text.analysis import analyse
from evigraph.text.markers import MARKER, marker_numbers
from evigraph.text.sentences import sentence_spans
from evigraph.types import Citation

WRITING = ("generation", "rewrite", "check_citations")
"""Stages in which a chat model's answer is written: what they say is said of that answer alone."""
NOTHING_SAID = "the model said nothing that is text"
"""Why there is no answer where a reply is empty, or holds nothing but signs and markers."""
_MARKERS = re.compile(rf"(?:{MARKER.pattern})+", re.IGNORECASE)
_DECLINED = re.compile(rf"\b{NO_ANSWER}\b", re.IGNORECASE)
_WORD = re.compile(r"\w")
_FEWEST_WORDS = 3


def answer_by_model(run: Run) -> None:
    """Ask the model, then check: unknown numbers are removed, unsupported sentences listed, markers renumbered.

    The model's numbers are passages; ours are citations, one per passage and supporting sentence.
    """
    assert run.chat is not None
    with run.ledger.stage("generation") as stage:
        reply = run.chat.complete(messages(run.posed, run.context), model=run.request.llm_model)
        text = stage.hand_on(reply.text, because=NOTHING_SAID, kind=str, most=LONGEST_REPLY)
    take_reply(run, text)


def take_reply(run: Run, reply: str) -> None:
    """Leave a model's reply in the run, its citations checked against `run.citable`; or the reason for abstaining. What
    is to be said of the reply is said of its stage `check_citations`, so that it can be taken back with the reply."""
    text = reply.strip()
    run.answered_by = "model"
    declined = False
    if _DECLINED.search(text):
        rest = _DECLINED.sub("", text).lstrip(" .\n").rstrip()
        if not MARKER.search(rest) or len(MARKER.sub("", rest).split()) < _FEWEST_WORDS:
            run.abstain_reason = "generation: the model found no answer in the evidence"
            return
        # A document could get the word quoted; what the model cites beside it is still checked and shown.
        declined, text = True, rest
    if says_nothing(MARKER.sub("", text)):
        abstain_from_nothing(run)
        return
    with run.ledger.stage("check_citations") as stage:
        if declined:
            run.ledger.degrade(f"generation: the model wrote {NO_ANSWER} and yet cited passages; the word was removed")
        run.text = stage.hand_on(
            _checked(run, text), kind=str, most=LONGEST_ANSWER, check=lambda said: marker_missing(said, run.citations)
        )
        if not run.citations:
            run.ledger.degrade("generation: the model's answer cites no passage; nothing in it is verified")


def says_nothing(text: str) -> bool:
    """Whether a text holds neither a letter nor a digit."""
    return not any(map(str.isalnum, text))


def abstain_from_nothing(run: Run) -> None:
    """Abstain for a reply that says nothing, and say so: another call may do better, so none is kept."""
    with run.ledger.stage("check_citations") as stage:
        run.ledger.degrade(f"generation: {NOTHING_SAID}")
        stage.hand_on("", because=NOTHING_SAID, kind=str)
    run.text, run.abstain_reason = None, f"generation: {NOTHING_SAID}"
    run.repeatable = False


def _checked(run: Run, text: str) -> str:
    language = (run.counts.languages or ("en",))[0]
    parts, position = [], 0
    for start, end in [*_with_markers(text, sentence_spans(text, language)), (len(text), len(text))]:
        between = text[position:start]
        # Rules and code fences are no sentences, but a marker in one is a citation all the same.
        parts.append(_check_sentence(run, between) if MARKER.search(between) else between)
        parts.append(_check_sentence(run, text[start:end]))
        position = end
    return "".join(parts).strip()


def _with_markers(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sentence spans, each drawn out over the markers that stand after its full stop."""
    drawn: list[tuple[int, int]] = []
    for span_start, span_end in spans:
        start = max(span_start, drawn[-1][1] if drawn else 0)
        trailing = _MARKERS.match(text, max(start, span_end))
        end = trailing.end() if trailing else span_end
        if text[start:end].strip():
            drawn.append((start, end))
    return drawn


def _check_sentence(run: Run, raw: str) -> str:
    """The sentence with our markers; its citations go into the run."""
    lead = raw[: len(raw) - len(raw.lstrip())]
    numbers = [number for group in MARKER.findall(raw) for number in marker_numbers(group)]
    claim = MARKER.sub("", raw).strip()
    known = [number for number in dict.fromkeys(numbers) if 1 <= number <= len(run.citable)]
    for number in dict.fromkeys(numbers):
        if number not in known and number not in run.removed_citations:
            run.removed_citations.append(number)
            run.ledger.degrade(f"generation: the model cited passage [{number}], which does not exist; removed")
    if not numbers:
        known = _attributed(run, claim)
    cited = [run.citable[number - 1] for number in known]
    passages = [f"{chunk.context}\n{chunk.text}" for chunk in cited]
    reason = (
        unsupported_reason(claim, passages, run.counts.languages) if cited else "it cites no passage of the evidence"
    )
    if reason is not None and _WORD.search(claim) and (cited or not claim.startswith("#")):
        run.unsupported.append(f"{claim} ({reason})")
    marks = "".join(f"[{_citation(run, claim, number - 1).n}]" for number in known)
    if marks and claim.endswith("|"):
        return f"{lead}{claim[:-1].rstrip()} {marks} |"
    return f"{lead}{claim} {marks}".rstrip() if marks else f"{lead}{claim}"


def _attributed(run: Run, claim: str) -> list[int]:
    """The first passage that supports a claim which the model left without a citation; small models often do.

    A claim of fewer than two content words is in too many passages to be from one.
    """
    language = (run.counts.languages or ("en",))[0]
    if len(set(analyse(claim, language))) < 2:
        return []
    for number, chunk in enumerate(run.citable, start=1):
        if unsupported_reason(claim, [f"{chunk.context}\n{chunk.text}"], run.counts.languages) is None:
            run.ledger.count("citations_attributed", run.ledger.counts.get("citations_attributed", 0) + 1)
            return [number]
    return []


def _citation(run: Run, claim: str, chunk: int) -> Citation:
    """The citation of the chunk's sentence that shares most words with the claim; made once."""
    sentence = _supporting(run, claim, chunk)
    made = cite(len(run.citations) + 1, sentence, run.citable[chunk])
    for citation in run.citations:
        if (citation.chunk_id, citation.start, citation.end) == (made.chunk_id, made.start, made.end):
            return citation
    run.citations.append(made)
    return made


def _supporting(run: Run, claim: str, chunk: int) -> Sentence:
    language = (run.counts.languages or ("en",))[0]
    wanted = set(analyse(claim, language))
    candidates = list(sentences_of(run.citable[chunk : chunk + 1]))

    def shared(sentence: Sentence) -> tuple[float, int]:
        held = set(analyse(sentence.text, language))
        return len(wanted & held) - 0.01 * len(held), -sentence.start

    best = max(candidates, key=shared)
    return Sentence(chunk=chunk, start=best.start, end=best.end, text=best.text)
