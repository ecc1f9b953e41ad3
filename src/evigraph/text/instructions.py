"""Sentences that give orders to a chat model: what a document holds that wants to steer whoever summarises it.

`gives_orders` knows a sentence by its form: it sets rules or a prompt aside, gives the model another part to play,
tells it what to say to the user or how to reply, speaks to it as a model, or imitates the tags that set off the parts
of a chat. Such sentences are evidence about nothing: they are left out of what models are shown and of what is quoted.

This mitigates, and proves nothing. The forms are English (of German, French and Spanish only the commonest are known),
an order can be put in words that none of them fits, and a few honest sentences do fit, say in a manual of chat models.
It stands beside fences (`text/fence.py`) and the check that cited passages hold what is said (`text/support.py`), which
do not hang on it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evigraph.text.analysis import analyse
from evigraph.text.markers import MARKER, sentences_with_markers
from evigraph.text.sentences import sentence_spans
from evigraph.types import Chunk

LEFT_OUT = "[…]"
"""Stands where such a sentence was."""
REPEATED = 0.6
"""Share of a sentence's content words that an order must hold for the sentence to repeat it."""
FEWEST_TERMS = 2
"""Content words below which a sentence repeats nothing."""

# Where an order can begin: a sentence, a clause, or after words that lead up to one.
_BEGIN = (
    r"(?:(?:^|[.:;,!?…\n\"“”'‘(\[*_>–—-])\s*"
    r"|\b(?:please|instead|now|then|and|always|only|just|you (?:must|should|shall|will|are to|have to|need to))\s+)"
    r"(?:(?:please|now|then|instead|always|simply|just|first|immediately|at\s+once)\s*,?\s+){0,3}"
)
_FEW = r"(?:[\w’'-]+\s+){0,4}?"
_RULES = (
    r"(?:instructions?|directions given|rules|prompts?|guidelines|directives?|guardrails|restrictions|safeguards)\b"
)
_AI = (
    r"(?:an?\s+|the\s+|any\s+|all\s+|every\s+|this\s+)?(?:(?:large\s+)?language\s+models?|llms?|chat\s?bots?|ai\b"
    r"(?:[\s-]+(?:language\s+)?(?:models?|assistants?|systems?|agents?))?|artificial\s+intelligence|chat\s?gpt|gpt)\b"
)
_ASSISTANT = rf"(?:{_AI}|(?:an?\s+|the\s+)?(?:(?:virtual|digital|helpful)\s+)?assistant\b)"
_ASKER = r"(?:the|your|every|any|each)\s+(?:users?|readers?|questioner|asker|person\s+asking)\b|who(?:m)?ever\s+asks\b"
_REPLY = r"(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|output)\b"

_FORMS = (
    # Sets aside what the model was told.
    rf"{_BEGIN}(?:ignore|disregard|forget|override|overrule|bypass|discard)\s+{_FEW}{_RULES}",
    rf"\b(?:ignore|disregard|forget|override|overrule|bypass|discard)\s+{_FEW}your\s+{_FEW}{_RULES}",
    rf"{_BEGIN}(?:ignore|disregard|forget)\s+(?:everything|all|anything|what(?:ever)?)\s+"
    r"(?:(?:that\s+)?(?:you\s+(?:were|have\s+been)|was|said|written|stated|comes?|came)\s+)?"
    r"(?:above|before\s+this|so\s+far|told)\b",
    rf"\b(?:do\s+not|don[’']t|stop|no\s+longer)\s+(?:follow|obey|following|obeying)\s+{_FEW}"
    rf"(?:your|previous|prior|above|earlier|system)\s+{_FEW}{_RULES}",
    r"\byour\s+(?:new|real|actual|true|updated|only)\s+(?:instructions?|task|goal|objective|role|purpose)\s+(?:is|are)\b",
    rf"^\W*(?:new|updated|system|hidden)\s+instructions?\s*(?:for\s+(?:you|{_ASSISTANT})\s*)?:",
    # Gives it another part to play.
    r"\byou\s+are\s+(?:now|henceforth|from\s+now\s+on)\s+(?:an?|my|called|known\s+as|free\s+(?:of|from)|no\s+longer|un\w+"
    r"|in\s+[\w-]+\s+mode|dan)\b",
    r"\b(?:from\s+now\s+on|henceforth),?\s+(?:you\s+(?:are|will|must|shall)|act|answer|reply|respond)\b",
    rf"{_BEGIN}(?:act|behave|respond|answer|speak)\s+as\s+(?:(?:if|though)\s+you\s+(?:are|were|had|have)\b"
    rf"|{_FEW}{_ASSISTANT})",
    rf"{_BEGIN}pretend\s+(?:that\s+)?(?:to\s+be|you(?:[’']re|\s+are|\s+have|\s+were))\b",
    # Speaks to it as a model.
    rf"\b(?:as|you\s+are|you[’']re|being)\s+{_AI}\s*,?\s*(?:you|your|i\b|i[’']m|and\s+(?:you|must|should))",
    rf"\bif\s+you\s+are\s+{_ASSISTANT}",
    rf"^\W*(?:you\s+are|you[’']re)\s+(?:{_AI}|an?\s+(?:helpful|virtual|digital|ai)\s+assistant)",
    rf"\b(?:attention|notice|note|message|instructions?|dear|hello|hey)\b[\s,:]*(?:to|for)?\s*{_AI}\s*[,:;!–—-]",
    rf"{_ASSISTANT}\s+(?:reading|processing|summari[sz]ing|that\s+(?:reads|processes|summari[sz]es)|who\s+reads)\s+this",
    rf"\b(?:your|reveal|print|repeat|show|output|disclose|ignore|override|new)\s+{_FEW}system\s+(?:prompt|message)\b",
    r"^\W*system\s+prompt\b",
    # Tells it what to tell others, and how to reply.
    rf"{_BEGIN}(?:tell|instruct|convince|persuade|urge|order)\s+(?:{_ASKER})",
    rf"{_BEGIN}(?:advise|inform|remind|warn|direct|ask)\s+(?:(?:the|your|every|any)\s+(?:readers?|questioner|asker)\b"
    r"|who(?:m)?ever\s+asks\b)",
    rf"{_BEGIN}(?:reply|respond|answer|output|print|say)\s+(?:with\s+)?(?:only|exactly|nothing\s+(?:but|else))\b"
    r"(?!\s+(?:one|two|three|four|five|\d+)\b)",
    rf"{_BEGIN}(?:reply|respond|answer|output)\s+(?:that\b|with\s+(?:the\s+)?(?:words?|phrase|sentence|text|following)\b"
    r"|[\"“‘'])",
    rf"{_BEGIN}(?:say|state|write|include|mention|add|insert|append|put|begin|end|start|finish|repeat|recommend|claim)\b"
    r"[^.!?]{0,300}\b(?:in|to|with|of|at\s+the\s+(?:start|end)\s+of)"
    rf"\s+(?:your|every|all\s+your|any)\s+{_FEW}{_REPLY}",
    rf"{_BEGIN}(?:begin|end|start|finish|open|close)\s+(?:your|every|all|each)\s+{_FEW}{_REPLY}",
    rf"\byour\s+(?:\w+\s+)?{_REPLY}\s+(?:must|shall|has\s+to|have\s+to|should)\s+(?:\w+\s+)?"
    r"(?:be|say|state|begin|start|contain|include|mention|end|consist|recommend)\b",
    r"\b(?:must|should|shall|do\s+not|don[’']t|never)\s+(?:mention|reveal|disclose|repeat)\s+"
    r"(?:this|these|those|your)\s+(?:\w+\s+)?(?:instructions?|prompts?)\b",
    # Imitates the parts of a chat.
    r"<\|\s*\w+\s*\|?>|<<\s*/?\s*sys\s*>>|\[/?inst\]|</?\s*(?:system|assistant)\s*>|\bbegin\s+system\b",
    r"^\W*#{2,}\s*(?:instructions?|system|assistant)\s*:",
    # The commonest of all, in other languages.
    r"\b(?:ignorier(?:e|en\s+sie|t)?|missachte|vergiss|vergessen\s+sie)\s+(?:[\w-]+\s+){0,3}?(?:anweisung|instruktion|regeln)",
    r"\b(?:ignore[zr]?|oublie[zr]?)\s+(?:toutes\s+)?(?:les|vos|tes|ces)\s+(?:[\w’'-]+\s+){0,2}?(?:instructions|consignes|règles)\b",
    r"\b(?:ignor[ae]|olvid[ae])\s+(?:[\w-]+\s+){0,3}?(?:instrucciones|reglas)\b",
)
_ORDER = re.compile("|".join(f"(?:{form})" for form in _FORMS), re.IGNORECASE)
_TELLING_TEXT = """
act add advise ai answer anweisung anweisungen append ask assistant begin behave bypass chat chatbot chatbots chatgpt
claim close consignes convince direct discard disclose disregard end finish follow following forget gpt henceforth
ignora ignore ignoren ignorer ignorez ignoriere ignorieren ignoriert include inform insert inst instruct instruction
instructions instrucciones instruktion instruktionen intelligence llm llms mention message missachte model models now
obey obeying olvida olvide open order oublie oublier oubliez output override overrule persuade pretend print prompt
prompts put recommend regeln reglas règles remind repeat reply respond reveal say show speak start state sys system tell
urge vergessen vergiss warn write you your
"""
_TELLING = frozenset(_TELLING_TEXT.split())
"""A form holds one of these words, or a tag: most sentences need no closer look."""
_WORD = re.compile(r"[^\W_]+")
_TAG = re.compile(r"<\|")
# In small letters these are words of reports: "System: gravity-fed".
_ROLE = re.compile(r"^\W*(?:SYSTEM|ASSISTANT)(?:\s+(?:PROMPT|MESSAGE|NOTE|OVERRIDE))?\s*:")


def gives_orders(sentence: str) -> bool:
    """Whether a sentence speaks to a model, or gives it orders. White space, and characters that show nothing, are
    no disguise."""
    plain = _plain(sentence)
    if _TELLING.isdisjoint(_WORD.findall(plain.casefold())) and not _TAG.search(plain):
        return False
    return bool(_ROLE.search(plain) or _ORDER.search(plain))


def order_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Half-open spans of the sentences of a text that give orders."""
    return [(start, end) for start, end in sentence_spans(text, language) if gives_orders(text[start:end])]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleaned:
    """A text without its orders, and these."""

    text: str
    orders: tuple[str, ...] = ()


def without_orders(text: str, language: str) -> Cleaned:
    """The text with `LEFT_OUT` in place of each sentence that gives orders."""
    parts, position, orders = [], 0, []
    for start, end in order_spans(text, language):
        parts += [text[position:start], LEFT_OUT]
        orders.append(text[start:end])
        position = end
    return Cleaned(text="".join([*parts, text[position:]]), orders=tuple(orders))


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanedChunk:
    """A passage without its orders, and these; no passage where nothing else was in it."""

    chunk: Chunk | None
    orders: tuple[str, ...] = ()


def chunk_without_orders(chunk: Chunk, language: str) -> CleanedChunk:
    """The passage with `LEFT_OUT` and blanks in place of each sentence that gives orders: all others stand where they
    stood, so that they can be cited by their spans."""
    own = [(start + chunk.start, end + chunk.start) for start, end in sentence_spans(chunk.text, language)]
    spans = list(chunk.sentences) or own or [(chunk.start, chunk.end)]
    flagged = [span for span in spans if gives_orders(chunk.text[span[0] - chunk.start : span[1] - chunk.start])]
    context = without_orders(chunk.context, language) if chunk.context else Cleaned(text="")
    if not flagged and not context.orders:
        return CleanedChunk(chunk=chunk)
    text, orders = chunk.text, list(context.orders)
    for start, end in flagged:
        first, last = start - chunk.start, end - chunk.start
        orders.append(chunk.text[first:last])
        text = text[:first] + LEFT_OUT[: last - first].ljust(last - first) + text[last:]
    left = tuple(span for span in spans if span not in flagged)
    kept = replace(chunk, text=text, context=context.text, sentences=left) if left else None
    return CleanedChunk(chunk=kept, orders=tuple(orders))


@dataclass(frozen=True, kw_only=True, slots=True)
class Obedience:
    """What is kept of a model's reply, and how many of its sentences gave or repeated an order."""

    text: str
    dropped: int


def without_obedience(
    reply: str, orders: Sequence[str], evidence: Sequence[str], languages: Sequence[str]
) -> Obedience:
    """A reply without the sentences that give an order themselves, or repeat one of those that were left out of what
    the model was shown, unless a sentence of the `evidence` says as much of it."""
    language = (*languages, "en")[0]
    kept, dropped = [], 0
    for said in sentences_with_markers(reply, language):
        claim = " ".join(MARKER.sub("", said).split())
        if gives_orders(claim) or _repeats(claim, orders, evidence, languages):
            dropped += 1
        else:
            kept.append(said)
    return Obedience(text=" ".join(kept) if dropped else reply, dropped=dropped)


def _repeats(claim: str, orders: Sequence[str], evidence: Sequence[str], languages: Sequence[str]) -> bool:
    terms = _terms(claim, languages)
    if not orders or len(terms) < FEWEST_TERMS:
        return False
    shared = max(len(terms & _terms(order, languages)) for order in orders)
    if shared < REPEATED * len(terms):
        return False
    return shared > max((len(terms & _terms(sentence, languages)) for sentence in evidence), default=0)


def _terms(text: str, languages: Sequence[str]) -> set[str]:
    return {term for language in languages or ("en",) for term in analyse(text, language)}


def _plain(text: str) -> str:
    """Compatibility forms made plain, invisible characters dropped, white space folded."""
    if text.isascii():
        return " ".join(text.split())
    shown = (letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf")
    return " ".join("".join(shown).split())
