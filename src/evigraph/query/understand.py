"""Question → lexical terms, vector and anchors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evigraph.models.ports import Embedder
from evigraph.query.aliases import Alias, Typed, by_form, by_spelling
from evigraph.query.parameters import MIX
from evigraph.query.run import Anchor, Question, Run
from evigraph.store.rows import NameInfo, ScopeCounts
from evigraph.text.analysis import ENGLISH_STOP_WORDS, analyse
from evigraph.text.forms import CONNECTIVES, PERSON_TITLES
from evigraph.text.names import Ngram, abbreviated, name_key, question_ngrams
from evigraph.types import Mode

MOSTLY_NAME = 0.7
"""A single lower-case word counts as a name only if this share of the passages with the word mention it as one."""
PLAIN_WORDS = 5
"""Words of a lower-case question that may be a form together."""

Span = tuple[int, int]


def understand(run: Run) -> None:
    """Leave the understood question in `run.question`. `bypass` and `plan` need none of it."""
    if run.request.mode in (Mode.BYPASS, Mode.PLAN):
        return
    text = run.query.strip()
    with run.ledger.stage("understand") as stage:
        run.question = stage.hand_on(
            understood(run, text),
            because="the question holds no term",
            kind=Question,
            count=lambda found: len(found.terms) + len(found.anchors),
            check=lambda found: _unsound(run, found),
        )
    run.ledger.count("anchors", list(dict.fromkeys(anchor.text for anchor in run.question.anchors)))


def understood(run: Run, text: str, *, by: str = "understand", what: str = "the question") -> Question:
    """A text as a question to the scope: the one asked, or one put in its place. `by` and `what` as for `embedded`."""
    anchors, unknown = find_anchors(run, text)
    return Question(
        text=text,
        terms=question_terms(text, run.counts.languages),
        vector=embedded(run, text, by=by, what=what) if run.counts.passages else np.zeros(1, dtype=np.float32),
        anchors=anchors,
        unknown_names=unknown,
        residual=residual(text, anchors),
    )


def embedded(run: Run, text: str, *, by: str, what: str, embedder: Embedder | None = None) -> NDArray[np.float32]:
    """The vector of a text to search with, by the model at hand or the one given. Where that reads the beginning of the
    text alone, `by` (a stage or a method) says so of it (`what`, as in a sentence)."""
    reader = run.embedder() if embedder is None else embedder
    most = reader.max_tokens
    # A model that is not configured reads nothing at all, which is said elsewhere.
    if most and (tokens := reader.count_tokens(text)) > most:
        run.ledger.degrade(
            f"{by}: {what} is longer than the embedding model reads ({most:,} of {tokens:,} tokens); the rest of it had"
            " no part in the search by vector"
        )
    vector: NDArray[np.float32] = reader.embed([text])[0]
    return vector


def _unsound(run: Run, question: Question) -> str | None:
    if not question.text:
        return "it handed on no question"
    if len(set(question.terms)) < len(question.terms):
        return "it handed on a term more than once"
    length = float(np.linalg.norm(question.vector))
    needed = run.counts.passages and not run.blind
    return "it handed on a vector that is none" if needed and not 0.9 < length < 1.1 else None


def question_terms(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Distinct terms of the question under the analysis of every language in scope, in order."""
    return tuple(dict.fromkeys(term for language in languages or ("en",) for term in analyse(text, language)))


Known = Mapping[str, Sequence[NameInfo]]
"""By typed key, the names under which the scope knows what it stands for."""


def find_anchors(run: Run, text: str) -> tuple[tuple[Anchor, ...], tuple[str, ...]]:
    """Known names in the question, longest first and not overlapping, and capitalised names that nothing carries.

    A run of words counts if it holds a capital that does not merely begin a sentence. A question without any such name
    ("users rarely type canonical names") is read again in lower case: several words that are a known name count, a
    single word only if the corpus uses it mostly as a name. Capitalised names that are not known as they were typed are
    looked up by form, then by spelling (`aliases`); in lower case by form, if there is no other name.
    """
    ngrams = question_ngrams(text)
    known = _known(run, [ngram.key for ngram in ngrams])
    chosen = _longest_first(ngram for ngram in ngrams if ngram.capital and ngram.key in known)
    if not chosen:
        chosen = _longest_first(ngram for ngram in _plain_names(run, ngrams, known))
    anchors = [
        _anchor(ngram.text, (ngram.start, ngram.end), info, known[ngram.key], run.counts)
        for ngram in chosen
        for info in known[ngram.key]
    ]
    unknown = _unknown_names(text, ngrams, chosen)
    aliases = _misspelt_wholes(run, text, ngrams, unknown)
    anchors = [anchor for anchor in anchors if not _within(anchor.start, anchor.end, aliases)]
    aliases += _aliases(run, text, [span for span in unknown if not _within(*span, aliases)])
    if not anchors and not any(alias.keys for alias in aliases):
        aliases += _plain_aliases(run, ngrams, unknown)
    anchors += _alias_anchors(run, aliases)
    if aliases:
        run.ledger.count("aliases", [alias.report() for alias in aliases])
    found = tuple(sorted(anchors, key=lambda anchor: (anchor.start, anchor.key)))
    left = [span for span in unknown if not any(span[0] < a.end and a.start < span[1] for a in found)]
    return found, tuple(text[start:end] for start, end in left)


def _known(run: Run, keys: Sequence[str]) -> Known:
    shown = {key: run.snapshot.identities.keys_of(key) for key in keys}
    names = run.snapshot.names([name for among in shown.values() for name in among])
    known = {key: [names[name] for name in among if name in names] for key, among in shown.items()}
    return {key: infos for key, infos in known.items() if infos}


def _plain_names(run: Run, ngrams: Sequence[Ngram], known: Known) -> list[Ngram]:
    """Known names that the scope uses mostly as names, and of several words those that some passage is about."""
    candidates = [ngram for ngram in ngrams if ngram.key in known and ngram.key not in ENGLISH_STOP_WORDS]
    titles = {
        ngram.key
        for ngram in candidates
        if any(info.alias_weight >= MIX.title_like for info in known[ngram.key])
        and sum(word not in ENGLISH_STOP_WORDS for word in ngram.key.split()) > 1
    }
    rest = [ngram for ngram in candidates if ngram.key not in titles]
    passages = {ngram.key: sum(info.passages for info in known[ngram.key]) for ngram in rest}
    mostly = _mostly_names(run, {ngram.key: ngram.text for ngram in rest}, passages)
    return [ngram for ngram in candidates if ngram.key in titles or ngram.key in mostly]


def _mostly_names(run: Run, texts: Mapping[str, str], passages: Mapping[str, int]) -> set[str]:
    """Keys of the texts whose words the scope uses mostly in names, whichever of its languages they are read in.
    `passages` counts those with the name."""
    languages = run.counts.languages or ("en",)
    words = {key: [analyse(text, language) for language in languages] for key, text in texts.items()}
    frequencies = run.snapshot.term_frequencies([term for read in words.values() for terms in read for term in terms])

    def is_name(key: str) -> bool:
        read = [terms for terms in words[key] if terms]
        if not read:
            return False
        commonest = max(min(frequencies.get(term, 0) for term in terms) for terms in read)
        return passages[key] >= MOSTLY_NAME * commonest

    return {key for key in texts if is_name(key)}


def _longest_first(ngrams: Iterable[Ngram]) -> list[Ngram]:
    chosen: list[Ngram] = []
    for ngram in ngrams:
        if all(ngram.end <= other.start or ngram.start >= other.end for other in chosen):
            chosen.append(ngram)
    return sorted(chosen, key=lambda ngram: ngram.start)


def _anchor(text: str, span: Span, info: NameInfo, among: Sequence[NameInfo], counts: ScopeCounts) -> Anchor:
    return Anchor(
        key=info.key,
        text=text,
        start=span[0],
        end=span[1],
        passages=info.passages,
        alias_weight=info.alias_weight,
        weight=rarity(info.passages, counts.passages),
        keys=tuple(other.key for other in among),
    )


# ---------------------------------------------------------------- names that are not known as they were typed


def _aliases(run: Run, text: str, unknown: Sequence[Span]) -> list[Alias]:
    """What the unknown names are forms of, several joined by a small word ("Bureau of Works") before each alone, then
    what they may be misspellings of."""
    if not unknown:
        return []
    singles = [_typed(text, span) for span in unknown]
    joined = [_typed(text, span) for span in _joined(text, unknown)]
    found = by_form(run, [*joined, *singles])
    taken = [found[item] for item in joined if item in found]
    free = [item for item in singles if not any(_overlap(item, alias.typed) for alias in taken)]
    taken += [found[item] for item in free if item in found]
    rest = [item for item in free if item not in found]
    whole = [item for item in joined if all(single in rest for single in singles if _overlap(single, item))]
    similar = by_spelling(run, [*whole, *rest])
    wider = [similar[item] for item in whole if item in similar]
    taken += wider
    taken += [similar[i] for i in rest if i in similar and not any(_overlap(i, alias.typed) for alias in wider)]
    return taken


def _plain_aliases(run: Run, ngrams: Sequence[Ngram], unknown: Sequence[Span]) -> list[Alias]:
    """What runs of a lower-case question are forms of, if the scope uses their words mostly in those names. No part of
    an unknown name is: Zorba Sefu is not Hana Sefu."""
    edges = {word.start: word.key for word in ngrams if word.size == 1}
    ends = {word.end: word.key for word in ngrams if word.size == 1}
    candidates = [
        Typed(text=ngram.text, key=ngram.key, start=ngram.start, end=ngram.end)
        for ngram in ngrams
        if ngram.size <= PLAIN_WORDS
        and len(ngram.key) > 2
        and not any(ngram.start < end and start < ngram.end for start, end in unknown)
        and not {edges.get(ngram.start, ""), ends.get(ngram.end, "")} & ENGLISH_STOP_WORDS
    ]
    found = [alias for alias in by_form(run, candidates, short=False).values() if alias.keys]
    names = run.snapshot.names([key for alias in found for key in alias.keys])
    passages = {a.typed.key: sum(names[key].passages for key in a.keys if key in names) for a in found}
    mostly = _mostly_names(run, {alias.typed.key: alias.typed.text for alias in found}, passages)
    taken: list[Alias] = []
    for alias in found:
        if alias.typed.key in mostly and not any(_overlap(alias.typed, other.typed) for other in taken):
            taken.append(alias)
    return taken


def _misspelt_wholes(run: Run, text: str, ngrams: Sequence[Ngram], unknown: Sequence[Span]) -> list[Alias]:
    """What capitalised runs may be misspellings of that hold an unknown name beside a known one: of "Siege of Csasel"
    the siege is known. Runs that small words join come before each alone."""
    runs = _unknown_names(text, ngrams, [])
    partly = [
        _typed(text, (start, end))
        for start, end in (*_joined(text, runs), *runs)
        if any(start <= one and other <= end and (one, other) != (start, end) for one, other in unknown)
    ]
    taken: list[Alias] = []
    for alias in by_spelling(run, partly).values():
        if not _within(alias.typed.start, alias.typed.end, taken):
            taken.append(alias)
    return taken


def _within(start: int, end: int, aliases: Sequence[Alias]) -> bool:
    return any(start < alias.typed.end and alias.typed.start < end for alias in aliases)


def _alias_anchors(run: Run, aliases: Sequence[Alias]) -> list[Anchor]:
    """An anchor for each name that a typed one may stand for, weighing as much as that is to be trusted."""
    names = run.snapshot.names([key for alias in aliases for key in alias.keys])
    anchors = []
    for alias in aliases:
        among = [names[key] for key in alias.keys if key in names]
        for info in among:
            found = _anchor(alias.typed.text, (alias.typed.start, alias.typed.end), info, among, run.counts)
            weight, about = found.weight * alias.trust, found.alias_weight * alias.trust
            anchors.append(replace(found, via=alias.via, weight=weight, alias_weight=about))
    return anchors


def _typed(text: str, span: Span) -> Typed:
    return Typed(text=text[span[0] : span[1]], key=name_key(text[span[0] : span[1]]), start=span[0], end=span[1])


def _overlap(one: Typed, other: Typed) -> bool:
    return one.start < other.end and other.start < one.end


def _joined(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans of neighbours that only small words part."""
    joined: list[Span] = []
    last: Span | None = None
    for start, end in spans:
        between = text[last[1] : start].split() if last else []
        if last is not None and between and all(word in CONNECTIVES for word in between):
            last = (last[0], end)
            joined.append(last)
        else:
            last = (start, end)
    return _longest_first_spans(joined)


def _longest_first_spans(spans: Sequence[Span]) -> list[Span]:
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0] - span[1], span)):
        if all(span[1] <= other[0] or span[0] >= other[1] for other in chosen):
            chosen.append(span)
    return sorted(chosen)


def rarity(passages: int, total: int) -> float:
    """Inverse frequency of a name scaled to 0-1: `ln((N+1)/df) / ln(N+1)`."""
    return math.log((total + 1) / max(passages, 1)) / math.log(total + 1) if total else 0.0


def _unknown_names(text: str, ngrams: Sequence[Ngram], chosen: Sequence[Ngram]) -> list[Span]:
    """Maximal capitalised runs that overlap no known name. An initial or a title with its full stop runs on."""
    singles = [
        ngram
        for ngram in sorted(ngrams, key=lambda ngram: ngram.start)
        if ngram.size == 1
        and ngram.capital
        and (
            ngram.key not in ENGLISH_STOP_WORDS or (text[ngram.end : ngram.end + 1] == "." and abbreviated(ngram.text))
        )
    ]
    free = [
        ngram for ngram in singles if not any(ngram.start < other.end and other.start < ngram.end for other in chosen)
    ]
    runs: list[Span] = []
    for ngram in free:
        if runs and (
            not text[runs[-1][1] : ngram.start].strip(" -")
            or (text[runs[-1][1] : ngram.start].strip() == "." and abbreviated(text[: runs[-1][1]]))
        ):
            runs[-1] = (runs[-1][0], ngram.end)
        else:
            runs.append((ngram.start, ngram.end))
    begins = {ngram.start for ngram in chosen}
    return [span for span in runs if not _is_title(text, span, begins)]


def _is_title(text: str, span: Span, begins: Set[int]) -> bool:
    """Whether a run is but the title of a known name that follows it: "Dr." before Hana Sefu."""
    following = len(text) - len(text[span[1] :].lstrip(" ."))
    words = name_key(text[span[0] : span[1]]).split()
    return following in begins and all(word in PERSON_TITLES for word in words)


def residual(text: str, anchors: Sequence[Anchor]) -> str:
    """The question without its anchors, or the whole question if nothing is left."""
    kept, position = [], 0
    for anchor in anchors:
        if anchor.start < position:
            continue  # another meaning of the name before
        kept.append(text[position : anchor.start])
        position = anchor.end
    rest = re.sub(r"\s+", " ", " ".join([*kept, text[position:]])).strip()
    return rest if re.search(r"\w", rest) else text
