"""Words of general English by which a follow-up points back. None belongs to any corpus.

A reference has tiers of entity types: what it stands for is looked for among the types of the first tier in the whole
window, then among those of the next. Extractors err about types, so the later tiers hold what is often mistaken for the
right one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

UNKNOWN = ""
"""Type of a name that somebody typed and nothing in scope carries."""
OTHER = "OTHER"
"""Stands for every type of a domain schema that is none of the seven common ones."""
TIME = "TIME"
"""Type of years and months, which are no entities."""

Tier = frozenset[str]
Tiers = tuple[Tier, ...]
Form = Literal["name", "possessive", "place", "time"]
"""How a name is put in: as it is, with 's, as a place or as a time with its preposition."""

_VAGUE = frozenset({UNKNOWN, OTHER, "CONCEPT"})

PERSON: Tiers = (frozenset({"PERSON"}), frozenset({UNKNOWN, OTHER}))
FIRM: Tiers = (frozenset({"ORGANIZATION"}), _VAGUE | {"PRODUCT", "TECHNOLOGY"}, frozenset({"PERSON"}))
PLACE: Tiers = (frozenset({"LOCATION"}), _VAGUE, frozenset({"ORGANIZATION"}))
EVENT: Tiers = (frozenset({"EVENT"}), _VAGUE)
DEVICE: Tiers = (frozenset({"PRODUCT", "TECHNOLOGY"}), _VAGUE)
THING: Tiers = (
    _VAGUE | {"ORGANIZATION", "PRODUCT", "TECHNOLOGY", "EVENT", "LOCATION"},
    frozenset({"PERSON"}),
)
SEVERAL: Tiers = (frozenset({"ORGANIZATION", "PERSON"}), _VAGUE | {"PRODUCT", "TECHNOLOGY"})
MOMENT: Tiers = (frozenset({TIME}),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A way to point back: what it looks like, what it may stand for, and how that is put in its place."""

    pattern: re.Pattern[str]
    tiers: Tiers
    form: Form
    pronoun: bool = True


def _words(words: str, after: str = "") -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'’-])(?:{words})(?![\w'’-]){after}", re.IGNORECASE)


_POINTING = r"(?:that|this|the\s+(?:very\s+)?same|the\s+said|said)\s+(?:\w+\s+)?"
_RESTRICTED = r"(?!\s+(?:of|that|which|who|whom|whose|in|at|on|from|near|with|for|called|named|responsible|[A-Z]))"
"""What follows a definite noun that is told apart by what follows it, and does not point back."""

NOUNS: dict[str, Tiers] = {
    "company|firm|supplier|vendor|contractor|manufacturer|maker|dealer|business|organi[sz]ation|agency|bureau|ministry"
    "|department|committee|council|association|cooperative|union|bank|charity|foundation|institute|university|school"
    "|hospital|team|group|party|employer|customer|client|partner|donor|subsidiary|publisher|club|band": FIRM,
    "person|man|woman|boy|girl|engineer|manager|director|chair|chairman|chairwoman|minister|doctor|author|officer"
    "|teacher|mechanic|president|founder|owner|leader|writer|artist|player|scientist|politician|mayor|boss": PERSON,
    "place|town|village|city|district|region|province|country|county|state|area|site|location|street|island|river"
    "|lake|settlement|neighbou?rhood|station|camp|depot|port": PLACE,
    "event|meeting|conference|flood|drought|war|battle|election|accident|incident|crisis|festival|ceremony": EVENT,
    "product|device|machine|tool|model|pump|engine|system|technology|method|software|vehicle|ship|boat|drug": DEVICE,
}
"""Nouns after "that", "this", "the same", with the types they name."""

_DEFINITE = {
    "company|firm|supplier|vendor|contractor|manufacturer|organi[sz]ation|agency": FIRM,
    "person|man|woman": PERSON,
    "place|town|village|city|district|region|country": PLACE,
}
"""Nouns that point back after a mere "the", where nothing tells them apart."""

REFERENCES: tuple[Reference, ...] = (
    *(
        Reference(pattern=_words(rf"{_POINTING}(?:{nouns})"), tiers=tiers, form="name", pronoun=False)
        for nouns, tiers in NOUNS.items()
    ),
    *(
        Reference(
            pattern=re.compile(rf"(?<![\w'’-])the\s+(?:{nouns})(?![\w-]){_RESTRICTED}"),
            tiers=tiers,
            form="name",
            pronoun=False,
        )
        for nouns, tiers in _DEFINITE.items()
    ),
    Reference(
        pattern=_words(r"(?:that|this|the\s+same)\s+(?:year|month|day|time|period)"),
        tiers=MOMENT,
        form="time",
        pronoun=False,
    ),
    Reference(pattern=_words(r"(?<=\b(?:by)\s)then|(?<=\bsince\s)then|(?<=\buntil\s)then"), tiers=MOMENT, form="time"),
    Reference(pattern=_words(r"(?:back\s+)?then", r"(?=\s*[?.!]*\s*$)"), tiers=MOMENT, form="time"),
    # "her" before a word that it can own; at the end of a clause it is an object.
    Reference(
        pattern=_words(r"his|her(?=\s+(?!(?:in|at|on|to|for|from|with|by|and|or|when|about|after|before)\b)\w)"),
        tiers=PERSON,
        form="possessive",
    ),
    Reference(pattern=_words(r"he|him|himself|she|her|hers|herself"), tiers=PERSON, form="name"),
    Reference(pattern=_words(r"its"), tiers=THING, form="possessive"),
    Reference(pattern=_words(r"it|itself"), tiers=THING, form="name"),
    Reference(pattern=_words(r"their|theirs"), tiers=SEVERAL, form="possessive"),
    Reference(pattern=_words(r"they|them|themselves"), tiers=SEVERAL, form="name"),
    Reference(
        pattern=re.compile(
            r"(?<![\w'’-])(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bhas )(?<!\bhave )(?<!\bhad )(?<!\bwill )"
            r"there(?![\w'’-])(?!\s+(?:is|are|was|were|has|have|had|be|been|will|may|might|can|could|would|exists?)\b)",
            re.IGNORECASE,
        ),
        tiers=PLACE,
        form="place",
    ),
)
"""In the order in which they are tried at a place."""

EXPLETIVE = re.compile(
    r"\bit\s+(?:is|was|has\s+been)\s+(?:said|known|true|possible|likely|clear|reported|necessary|the\s+case)\b"
    r"|\b(?:is|was)\s+it\s+(?:true|possible|known|likely|clear|necessary|the\s+case)\b"
    r"|\b(?:does|did|will|would)\s+it\s+(?:take|rain|snow)\b|\bwhat\s+time\s+is\s+it\b"
    r"|\bhow\s+(?:far|long)\s+(?:is|was)\s+it\b",
    re.IGNORECASE,
)
""""It" that stands for nothing."""

_LINKS = (
    r"\b(?:that|say|says|said|think|thinks|claim|claims|because|before|after|when|while|if|until|since|as|and|or|but"
    r"|than|what|which|how|why|where|whether|though|although)\b"
)
BOUNDARY = re.compile(_LINKS, re.IGNORECASE)
"""What may begin a further clause."""
LINK = re.compile(rf"{_LINKS}\s+$", re.IGNORECASE)
"""The same right before its subject."""
NOUN_PHRASE = re.compile(
    r"\b(?:the|a|an|each|every|any|some|all|most|no)\s+[a-z]\w+"
    # Without an article a plural looks like a verb ("who manages its depot"), but not after an auxiliary.
    r"|\b(?:do|did|have|had|are|were|will|can|could|should|would)\s+(?:[a-z]+\s+)?[a-z]{2,}[a-rt-z]s\b"
)
"""A noun that a pronoun in the same question may stand for."""

PREPOSITION = (
    r"(?:in|at|on|to|for|from|with|by|about|near|of|during|after|before|since|until|till|around|under|over|between)"
)
TIMES = re.compile(
    r"\b(?:(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+)?"
    r"(?:1[5-9]|20)\d\d\b"
)

_LEAD = r"(?:(?:and|but|or|so|also|ok|okay|then)\b[,\s]*)*"
_ASKING = (
    r"(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would"
    r"|should|may|might|tell|list|name|show|describe|explain|give|please|i|we|you)\b"
)
FRAGMENT = re.compile(
    rf"^\s*(?:(?P<about>{_LEAD}(?:(?:what|how)\s+(?:about|of)|(?:the\s+)?same\s+(?:question\s+)?(?:for|about)))\s+"
    rf"|(?P<lead>(?:and|but|or|also)\b[,\s]*))?(?P<rest>(?!{_ASKING}).+?)\s*[?.!]*\s*$",
    re.IGNORECASE | re.DOTALL,
)
"""A question without a verb of its own: "And in Tarn?", "What about 2016?"."""
FRAGMENT_WORDS = 7
"""Longer ones say enough to be asked as they are."""
WITH_PREPOSITION = re.compile(rf"^(?P<preposition>{PREPOSITION})\s+(?P<object>.+)$", re.IGNORECASE | re.DOTALL)

BARE = re.compile(
    rf"^\s*{_LEAD}(?P<word>(?:{PREPOSITION}\s+)?(?:who|whom|what|when|where|why|which(?:\s+ones?)?"
    r"|how(?:\s+(?:many|much|long|often|far|old|big))?)(?:\s+(?:else|exactly|precisely|from))?"
    r"|(?:any(?:thing|one|body|where)|some(?:thing|one|where))\s+else|since\s+when|until\s+when)"
    r"(?:\s+(?:is|was)\s+(?:that|this|it)|\s+(?:so|come|then|though))?\s*[?.!]*\s*$",
    re.IGNORECASE,
)
"""A question word alone: "Why?", "Who else?", "By whom?"."""
MORE = re.compile(
    rf"^\s*{_LEAD}(?:please\s+)?(?:(?:tell\s+me|say|give\s+me)\s+more(?:\s+about\s+(?:that|this|it))?|more(?:\s+details?)?"
    r"|go\s+on|continue|elaborate|explain(?:\s+(?:that|this|it))?|(?:can|could)\s+you\s+(?:elaborate|explain)"
    r"(?:\s+(?:on\s+)?(?:that|this|it))?|really|are\s+you\s+sure|is\s+(?:that|this|it)\s+(?:right|true|so|correct))"
    r"(?:\s*,?\s*please)?\s*[?.!]*\s*$",
    re.IGNORECASE,
)
"""An ask for more of the same."""
HEAD = re.compile(
    rf"^\s*{_LEAD}(?:{PREPOSITION}\s+)?(?:who|whom|what|which|when|where|why|how(?:\s+(?:many|much|long|often|far|old))?)\b"
    r"(?P<rest>\s+(?P<verb>did|do|does|is|are|was|were|has|have|had|will|would|can|could|should)?.*)$",
    re.IGNORECASE | re.DOTALL,
)
"""The question word that another takes the place of. With a `verb` right after it, the sentence stays a sentence."""
EXHAUSTIVE = re.compile(r"\belse$", re.IGNORECASE)

ASKED: tuple[tuple[re.Pattern[str], Tier], ...] = (
    (re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE), frozenset({"PERSON", "ORGANIZATION"})),
    (re.compile(r"\bwhere\b", re.IGNORECASE), frozenset({"LOCATION"})),
    (re.compile(r"\bwhen\b|\b(?:what|which)\s+(?:year|month|day|date)\b", re.IGNORECASE), frozenset({TIME})),
    *(
        (re.compile(rf"\b(?:what|which)\s+(?:\w+\s+)?(?:{nouns})\b", re.IGNORECASE), tiers[0])
        for nouns, tiers in NOUNS.items()
    ),
)
"""What an answer to the question gives: the types that its question word asks for."""

TOPIC = re.compile(
    r"^\W*(?:(?:who|what)(?:['’]s|\s+(?:exactly\s+)?(?:is|was|are|were))"
    r"|(?:please\s+|can\s+you\s+|could\s+you\s+)*(?:tell\s+(?:me|us)\s+(?:more\s+|something\s+)?about|describe|introduce)"
    r"|what\s+(?:do|can)\s+(?:you|we)\s+(?:know|tell\s+(?:me|us)|say)\s+about)"
    r"\s+(?:(?:the|a|an)\s+)?",
    re.IGNORECASE,
)
"""How a question begins that asks about the name which follows, and so about nothing that its answer names."""
