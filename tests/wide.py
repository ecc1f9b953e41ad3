"""A corpus for corpus-wide questions: one difficulty in all of its regions, others beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from evigraph.testing.models import ScriptedOpenAIServer
from small import item

PLACES = {"north": ("Tarn", "Garrawe"), "south": ("Lowani", "Nkelo"), "east": ("Dembure", "Kessu")}
QUESTION = "Across all regions, why do pumps stand idle for want of spare parts?"
EVERYTHING = "What themes recur across all regions?"

CORPUS = [
    item(
        f"{place.lower()}-{programme}",
        text.format(place=place, other=places[at - 1], region=region.title()),
        title=f"{place} {programme} report",
        source=f"{region}/{place.lower()}-{programme}.md",
        date=f"201{at}-0{number + 1}-01",
        metadata={"region": region, "programme": programme},
    )
    for region, places in PLACES.items()
    for at, place in enumerate(places)
    for number, (programme, text) in enumerate(
        (
            (
                "water",
                "Mechanic {place} visited Pump {place} in March. The pumps of {place} stand idle for want of spare"
                " parts. {place} asked {other} for a rubber seal, and {other} had none.",
            ),
            (
                "school",
                "Teacher {place} counted the children of {place}. Lessons were held in the open air until the roof was"
                " mended. {place} thanked {region} Office for chalk.",
            ),
        )
    )
]
"""Twelve documents: two places in each of three regions, of each a report on water and one on a school."""


def partial(answer: str, usefulness: Any) -> str:
    return json.dumps({"answer": answer, "usefulness": usefulness})


def is_map(body: dict[str, Any]) -> bool:
    return '"usefulness"' in body["messages"][0]["content"]


def shown(body: dict[str, Any]) -> dict[int, str]:
    """Text of the numbered passages of a call."""
    found = re.findall(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', body["messages"][-1]["content"], re.DOTALL)
    return {int(number): text for number, text in found}


def citing(body: dict[str, Any]) -> str:
    """A partial answer that quotes the first passage it was shown."""
    number, text = next(iter(shown(body).items()))
    said = re.search(r"[^.\n]*idle[^.]*\.", text)
    return partial(f"{said.group().strip() if said else text.splitlines()[-1]} [{number}]", 80 if said else 5)


def server(
    mapped: Callable[[dict[str, Any]], str] = citing,
    reduced: Callable[[dict[str, Any]], str] | None = None,
    **options: Any,
) -> ScriptedOpenAIServer:
    """A chat server that answers map calls and the reduce call each by a function. By default the reduce step repeats
    the partial answers."""

    def repeat(body: dict[str, Any]) -> str:
        parts = re.findall(r"<facts>\nPart: [^\n]*\n(.*?)\n</facts>", body["messages"][-1]["content"], re.DOTALL)
        return " ".join(parts)

    return ScriptedOpenAIServer(lambda body: mapped(body) if is_map(body) else (reduced or repeat)(body), **options)
