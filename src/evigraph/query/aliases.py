"""What a name in a question stands for that no passage in scope carries as it was typed.

First by its form: `IBM` for International Business Machines, `J. Sefu`, `Sefu` or `Dr. Sefu` for Hana Sefu, `Acme Ltd`
for Acme, and the other way round. Then by spelling: names of the scope that are a letter or two away, compared word by
word (guards: `text.forms.same_spelling`). A form that several names share stands for all of them, each weighing less;
one that more than `MEANINGS` share stands for none. What was taken is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evigraph.query.run import Run
from evigraph.store.names import FormRow
from evigraph.text.forms import SHORTEST_MISSPELT, FormKind, fits, same_spelling, typed_forms
from evigraph.text.names import CALENDAR_WORDS, split_entity_id

MEANINGS = 4
"""Names that a form may stand for; one shared by more says nothing."""
TRUST: Mapping[str, float] = {
    "title": 1.0,
    "suffix": 1.0,
    "acronym": 0.9,
    "initials": 0.8,
    "shortened": 0.8,
    "surname": 0.6,
    "spelling": 1.0,
}
"""What an anchor found so weighs beside one that was typed as passages have it."""
SIMILAR = 0.8
"""Similarity of the whole name, letter by letter, from which it may be a misspelling."""
LONG = 9
"""Letters from which a name may be two letters off; a shorter one, one."""
NEAREST = 30
"""Names, nearest first, that are compared word by word."""
COMPARED = 4
"""Names of one question that are compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Typed:
    """A run of words of the question, `[start, end)`, that may be a name."""

    text: str
    key: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Alias:
    """What a typed name was taken for: the keys of the names it may stand for, none where there are too many."""

    typed: Typed
    via: Literal["form", "similar"]
    kind: str
    keys: tuple[str, ...]
    meanings: int

    @property
    def trust(self) -> float:
        """Weight of each of the names, 0-1."""
        return TRUST[self.kind] / len(self.keys)

    def report(self) -> dict[str, Any]:
        """An entry of `stats.aliases`."""
        told: dict[str, Any] = {"name": self.typed.text, "via": self.via, "kind": self.kind, "taken": list(self.keys)}
        return told if self.keys else {**told, "meanings": self.meanings}


def by_form(run: Run, typed: Sequence[Typed], *, short: bool = True) -> dict[Typed, Alias]:
    """What the typed names are forms of. `short` also takes what was typed for the long form of a name in scope."""
    typed = [item for item in typed if item.key not in CALENDAR_WORDS]
    made = {item: typed_forms(item.key) for item in typed}
    # Without its title or legal form the name may still be a form: "Dr. Sefu" of Hana Sefu.
    stripped = {item: [form.text for form in forms if form.kind in ("title", "suffix")] for item, forms in made.items()}
    looked_up = [text for item in typed for text in (item.key, _letters(item), *stripped[item])]
    forms = run.snapshot.forms(looked_up)
    names = run.snapshot.entity_ids([form.text for item in typed for form in made[item]])
    found: dict[Typed, Alias] = {}
    for item in typed:
        kinds = ("title", "suffix", "initials", "acronym") if short else ("title", "suffix")
        bare = [(form.kind, form.text) for form in made[item] if form.kind in kinds[:2]]
        cut = [(form.kind, form.text) for form in made[item] if form.kind in kinds[2:] and len(form.text) > 2]
        choices = [
            _named(bare, names),
            [row for row in forms.get(item.key, forms.get(_letters(item), [])) if _plausible(row.kind, item)],
            [row for text in stripped[item] for row in forms.get(text, [])],
            _named(cut, names),
        ]
        meant = next((rows for rows in choices if rows), None)
        if meant:
            keys = tuple(dict.fromkeys(row.key for row in meant))
            found[item] = _alias(item, "form", meant[0].kind, keys)
    return found


def by_spelling(run: Run, typed: Sequence[Typed]) -> dict[Typed, Alias]:
    """What the typed names may be misspellings of."""
    compared = [item for item in typed if _may_be_misspelt(item)][:COMPARED]
    found: dict[Typed, Alias] = {}
    if not compared or not run.counts.passages:
        return found
    near = run.snapshot.names_like({item.key: 1 + (len(item.key) >= LONG) for item in compared}, limit=NEAREST)
    for item in compared:
        alike: dict[str, float] = {}
        for key, shown in near.get(item.key, ()):
            likeness = same_spelling(item.key, key)
            if likeness >= SIMILAR:
                alike[shown] = max(alike.get(shown, 0.0), likeness)
        if alike:
            best = max(alike.values())
            found[item] = _alias(item, "similar", "spelling", tuple(sorted(k for k in alike if alike[k] == best)))
    return found


def _alias(item: Typed, via: Literal["form", "similar"], kind: str, keys: tuple[str, ...]) -> Alias:
    taken = keys if len(keys) <= MEANINGS else ()
    return Alias(typed=item, via=via, kind=kind, keys=taken, meanings=len(keys))


def _named(forms: Sequence[tuple[FormKind, str]], names: Mapping[str, list[tuple[str, int]]]) -> list[FormRow]:
    """Entities in scope that bear one of the forms as their name, and are of a type that fits."""
    return [
        FormRow(form=text, kind=kind, key=split_entity_id(entity_id)[0], entity_id=entity_id, documents=passages)
        for kind, text in forms
        for entity_id, passages in names.get(text, [])
        if fits(kind, split_entity_id(entity_id)[1])
    ]


def _may_be_misspelt(item: Typed) -> bool:
    return item.key not in CALENDAR_WORDS and any(len(word) >= SHORTEST_MISSPELT for word in item.key.split())


def _letters(item: Typed) -> str:
    """`I.B.M.` as one word."""
    words = item.key.split()
    return "".join(words) if len(words) > 1 and all(len(word) == 1 for word in words) else item.key


def _plausible(kind: FormKind, item: Typed) -> bool:
    """Two letters are an acronym only in capitals."""
    return kind != "acronym" or len(_letters(item)) > 2 or item.text.isupper()
