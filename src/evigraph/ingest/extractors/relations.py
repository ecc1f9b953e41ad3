"""Claims read off a dependency parse: subject, verb and object, with prepositions, negation and modality
kept.

    Northwind supplied valves.              Northwind SUPPLY valves
    Northwind supplied valves to Acme.      Northwind SUPPLY_VALVE_TO Acme
    The X-200 was supplied by Northwind.    Northwind SUPPLY X-200           (passive with agent: turned
    round) Marie Curie was born in Warsaw.         Marie Curie BORN_IN Warsaw       (passive without:
    participle kept) Acme did not acquire Globex.            Acme NOT_ACQUIRE Globex          (also MAY_,
    WILL_, MUST_, ...) Tim Cook is the head of Apple.          Tim Cook HEAD_OF Apple Jane
    Doe, founder of Acme, left.        Jane Doe FOUNDER_OF Acme

A sentence that states one attribute ("the wife of X is Y") is read without the parse, see `attributes`.
Labels are those of spaCy's English models (Penn tags, ClearNLP dependencies); other models give no claims.
Pronouns are not resolved, conditions ("if Acme buys ...") are no claims, and claims without a named entity at
either end are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evigraph.ingest.extractors.attributes import Attribute, attribute_of, span_of

ATTRIBUTE_CONFIDENCE = 0.85
"""A sentence that states one attribute and nothing else."""
VERBAL_CONFIDENCE = 0.8
"""A verb with its own subject and object."""
NOMINAL_CONFIDENCE = 0.7
"""Claims of a copula, an apposition or a possessive."""
INHERITED_CONFIDENCE = 0.6
"""The subject was taken from another verb of the sentence."""

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_CONDITIONS = frozenset({"if", "unless", "whether"})
_MAX_PHRASE = 6
_FAN_OUT = 8  # conjuncts followed per argument
_NAME_TAGS = frozenset({"NNP", "NNPS"})
_NOUN_TAGS = frozenset({"NN", "NNS"})
_PREPOSITION_TAGS = frozenset({"IN", "TO", "RP"})
_UNINFLECTED_TAGS = frozenset({"VB", "NN", "NNP", "NNPS", "JJ"})
_SHORT_MODALS = {
    "ca": "can",
    "wo": "will",
    "sha": "shall",
    "'ll": "will",
    "’ll": "will",
    "'d": "would",
    "’d": "would",
}
# Tagged as nouns, used as pronouns.
_INDEFINITE = frozenset(
    f"{some}{thing}" for some in ("some", "any", "every", "no") for thing in ("thing", "one", "body")
)


@dataclass(frozen=True, slots=True)
class End:
    """An endpoint: the head token of a noun phrase, and the index of the named entity it belongs to, or
    -1. `span` are the characters of a value whose words are known without the parse."""

    head: Any
    entity: int
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """Subject -predicate-> object as found in one sentence; `confidence` is one of this module's
    constants."""

    subject: End
    predicate: str
    object: End
    confidence: float


class SentenceReader:
    """Reads claims out of sentences of one doc.

    `entity_at` gives the entity index of a token index; `lemmatise` the base form of an inflected verb or
    noun.
    """

    def __init__(self, entity_at: Mapping[int, int], lemmatise: Callable[[Any, str], str]) -> None:
        self._entity_at = entity_at
        self._lemmatise = lemmatise

    def claims(self, sentence: Any) -> list[Claim]:
        """The claims of `sentence`, in order of their predicates' words, each once."""
        attribute = attribute_of(sentence)
        if attribute is not None and attribute.holder[0].i in self._entity_at:
            return list(self._of_attribute(attribute))
        found: dict[tuple[int, str, int], Claim] = {}
        for token in sentence:
            for claim in self._of_token(token):
                named = claim.subject.entity >= 0 or claim.object.entity >= 0
                same = claim.subject.entity >= 0 and claim.subject.entity == claim.object.entity
                if named and not same and claim.predicate:
                    found.setdefault((claim.subject.head.i, claim.predicate, claim.object.head.i), claim)
        return list(found.values())

    def _of_attribute(self, attribute: Attribute) -> Iterator[Claim]:
        """`the date of birth of X is Y` as X DATE_OF_BIRTH Y; a noun in the plural is one thing of several."""
        subject = End(attribute.holder[0], self._entity_at[attribute.holder[0].i])
        head = attribute.head
        words = (self._lemma(token) if token.i == head.i else _upper(token.text) for token in attribute.noun)
        predicate = "_".join(word for word in words if word)
        for item, named in attribute.objects:
            target = End(item[-1], self._entity_at.get(item[0].i, -1) if named else -1, span_of(item))
            if predicate and target.entity != subject.entity:
                yield Claim(subject, predicate, target, ATTRIBUTE_CONFIDENCE)

    def _of_token(self, token: Any) -> Iterator[Claim]:
        role = token.dep_
        if role == "appos":
            yield from self._of_apposition(token.head, token)
        elif role not in ("aux", "auxpass") and _is_verb(token):
            yield from self._of_verb(token)

    # ------------------------------------------------------------------ verbs

    def _of_verb(self, verb: Any) -> Iterator[Claim]:
        if any(child.dep_ == "mark" and child.lower_ in _CONDITIONS for child in verb.children):
            return
        subjects, passive, confidence = self._subjects(verb)
        if not subjects:
            return
        prefix = self._prefix(verb)
        if passive:
            yield from self._of_passive(verb, subjects, prefix, confidence)
            return
        base = self._lemma(verb)
        name = prefix + base
        for subject in subjects:
            for child in verb.children:
                if child.dep_ in ("attr", "oprd") and base in ("BE", "BECOME", "REMAIN"):
                    yield from self._of_role(subject, child, prefix, min(confidence, NOMINAL_CONFIDENCE))
                elif child.dep_ == "dobj":
                    through = list(self._through_object(subject, name, child, verb, confidence))
                    # SIGN_CONTRACT_WITH Acme says all that SIGN contract would.
                    if not through:
                        yield from (Claim(subject, name, target, confidence) for target in self._ends(child))
                    yield from through
                elif child.dep_ == "dative" and child.tag_ not in _PREPOSITION_TAGS:
                    for target in self._ends(child):
                        yield Claim(subject, f"{name}_TO", target, confidence)
            if base != "BE" or not any(child.dep_ == "attr" for child in verb.children):
                yield from self._through_prepositions(subject, name, verb, confidence)

    def _of_passive(self, verb: Any, patients: list[End], prefix: str, confidence: float) -> Iterator[Claim]:
        agents = [
            end
            for child in verb.children
            if child.dep_ == "agent"
            for argument in child.children
            if argument.dep_ == "pobj"
            for end in self._ends(argument)
        ]
        for patient in patients:
            for agent in agents:
                yield Claim(agent, prefix + self._lemma(verb), patient, confidence)
            # The participle, not the lemma: "was sold to Y" must not read as "sells to Y".
            yield from self._through_prepositions(patient, prefix + _upper(verb.text), verb, confidence)
            for child in verb.children:
                if child.dep_ == "oprd" or (child.dep_ == "dobj" and verb.lower_ in ("appointed", "elected", "named")):
                    yield from self._of_role(patient, child, prefix, min(confidence, NOMINAL_CONFIDENCE))

    def _through_prepositions(self, subject: End, name: str, verb: Any, confidence: float) -> Iterator[Claim]:
        for preposition in verb.children:
            if preposition.dep_ not in ("prep", "dative") or preposition.tag_ not in _PREPOSITION_TAGS:
                continue
            for path, argument in _prepositional(preposition):
                for target in self._ends(argument):
                    yield Claim(subject, f"{name}_{path}", target, confidence)

    def _through_object(self, subject: End, name: str, noun: Any, verb: Any, confidence: float) -> Iterator[Claim]:
        """`signed a contract with Acme`: SIGN_CONTRACT_WITH Acme, whether the parser hung "with" on noun or
        verb."""
        if noun.i in self._entity_at or noun.tag_ not in _NOUN_TAGS:
            return
        compound = f"{name}_{self._lemma(noun)}"
        hangers = [*noun.children, *(child for child in verb.children if child.i > noun.i)]
        for preposition in hangers:
            if preposition.dep_ not in ("prep", "dative") or preposition.tag_ not in _PREPOSITION_TAGS:
                continue
            for path, argument in _prepositional(preposition):
                for target in self._ends(argument):
                    if target.entity >= 0:
                        yield Claim(subject, f"{compound}_{path}", target, confidence)

    def _subjects(self, verb: Any) -> tuple[list[End], bool, float]:
        """Subjects of `verb`, whether they are its patients, and the confidence of claims about them."""
        for child in verb.children:
            if child.dep_ in _SUBJECTS:
                return self._of_subject(verb, child), child.dep_ == "nsubjpass", VERBAL_CONFIDENCE
        if verb.dep_ == "acl" and verb.tag_ == "VBN":
            return self._ends(verb.head), True, VERBAL_CONFIDENCE
        # The parser takes "Northwind Ltd." before a verb for an adverbial now and then; a name is none.
        adverbial = [child for child in verb.lefts if child.dep_ == "npadvmod" and child.i in self._entity_at]
        if adverbial and verb.dep_ == "ROOT":
            return self._ends(adverbial[-1]), False, INHERITED_CONFIDENCE
        governor = verb.head
        if verb.dep_ in ("conj", "xcomp") and _is_verb(governor) and governor.i != verb.i:
            for child in governor.children:
                if child.dep_ in _SUBJECTS:
                    # "was built and sold": still the patient; "was born and worked": now the agent.
                    patient = child.dep_ == "nsubjpass" and verb.dep_ == "conj" and verb.tag_ == "VBN"
                    return self._of_subject(governor, child), patient, INHERITED_CONFIDENCE
        return [], False, INHERITED_CONFIDENCE

    def _of_subject(self, verb: Any, subject: Any) -> list[End]:
        # "Acme, which bought Globex": the relative pronoun stands for the noun the clause hangs on.
        if verb.dep_ == "relcl" and subject.tag_ in ("WP", "WDT"):
            return self._ends(verb.head)
        return self._ends(subject)

    # ------------------------------------------------------------------ nouns

    def _of_role(self, subject: End, noun: Any, prefix: str, confidence: float) -> Iterator[Claim]:
        """`X is N of Y` as `X N_OF Y`, where Y is named, else `X IS N`."""
        for role in self._ends(noun):
            holders = [] if role.entity >= 0 else list(self._holders(role.head))
            if not holders:
                yield Claim(subject, f"{prefix}IS", role, confidence)
            for path, holder in holders:
                yield Claim(subject, f"{prefix}{self._lemma(role.head)}_{path}", holder, confidence)

    def _holders(self, noun: Any) -> Iterator[tuple[str, End]]:
        for child in noun.children:
            if child.dep_ == "prep" and child.tag_ in _PREPOSITION_TAGS:
                for path, argument in _prepositional(child):
                    for end in self._ends(argument):
                        if end.entity >= 0:
                            yield path, end
            elif child.dep_ == "poss" and child.i in self._entity_at:
                yield "OF", End(child, self._entity_at[child.i])

    def _of_apposition(self, head: Any, apposed: Any) -> Iterator[Claim]:
        """`Jane Doe, founder of Acme` and `the founder of Acme, Jane Doe`; two names in a row claim
        nothing."""
        named, role = head, apposed
        if apposed.i in self._entity_at:
            named, role = apposed, head
        if named.i not in self._entity_at or role.i in self._entity_at or role.tag_ not in _NOUN_TAGS:
            return
        subject = End(named, self._entity_at[named.i])
        yield from self._of_role(subject, role, "", NOMINAL_CONFIDENCE)

    def _ends(self, head: Any) -> list[End]:
        """The noun phrase at `head` and its conjuncts, without pronouns, numbers, dates and clauses."""
        ends = []
        for token in (head, *list(head.conjuncts)[:_FAN_OUT]):
            # `conjuncts` is symmetric; only those that follow belong to this phrase.
            if token.i < head.i:
                continue
            entity = self._entity_at.get(token.i, -1)
            if entity < 0 and (token.ent_type_ or not _is_noun(token)):
                continue
            ends.append(End(token, entity))
        return ends

    # ------------------------------------------------------------------ words

    def _prefix(self, verb: Any) -> str:
        """Negation and modality of `verb`, and the verb that governs it: NOT_, MAY_, PLAN_TO_."""
        parts = [_modal(child.lower_) for child in verb.children if child.dep_ == "aux" and child.tag_ == "MD"]
        if any(child.dep_ == "neg" for child in verb.children):
            parts.append("NOT")
        if verb.dep_ == "xcomp" and _is_verb(verb.head):
            joint = ("TO",) if any(child.tag_ == "TO" for child in verb.children) else ()
            parts = [self._prefix(verb.head).rstrip("_"), self._lemma(verb.head), *joint, *parts]
        return "".join(f"{part}_" for part in parts if part)

    def _lemma(self, token: Any) -> str:
        particles = [_upper(child.text) for child in token.children if child.dep_ == "prt"]
        base = token.lower_
        if token.tag_ not in _UNINFLECTED_TAGS:
            base = self._lemmatise(token, "VERB" if _is_verb(token) else "NOUN")
        return "_".join([_upper(base), *particles])


def phrase_span(head: Any) -> tuple[int, int]:
    """Character span of the noun phrase around `head` (modifiers to its left), at most six words."""
    first = head.i
    for child in head.lefts:
        if child.dep_ in ("compound", "amod", "nmod", "nummod", "poss"):
            first = min(first, child.left_edge.i)
    first = max(first, head.i - _MAX_PHRASE + 1)
    doc = head.doc
    while first < head.i and doc[first].dep_ in ("det", "case", "punct", "poss") and doc[first].tag_ not in _NAME_TAGS:
        first += 1
    return doc[first].idx, head.idx + len(head)


def _prepositional(preposition: Any) -> Iterator[tuple[str, Any]]:
    """`(PREPOSITION, object)` pairs: `in Paris`, and `out of Paris` as OUT_OF."""
    for child in preposition.children:
        if child.dep_ == "pobj":
            yield _upper(preposition.text), child
        elif child.dep_ == "prep" and child.tag_ in _PREPOSITION_TAGS:
            for path, argument in _prepositional(child):
                yield f"{_upper(preposition.text)}_{path}", argument


def _modal(word: str) -> str:
    return _upper(_SHORT_MODALS.get(word, word))


def _is_verb(token: Any) -> bool:
    return bool(token.tag_.startswith("VB"))


def _is_noun(token: Any) -> bool:
    tag = token.tag_
    return tag in _NAME_TAGS or (tag in _NOUN_TAGS and token.lower_ not in _INDEFINITE)


def _upper(text: str) -> str:
    return "_".join(re.findall(r"[^\W_]+", text)).upper()
