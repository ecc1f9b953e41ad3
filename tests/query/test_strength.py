"""When the evidence is enough to answer from."""

from __future__ import annotations

from pathlib import Path

import pytest

from evigraph import Evigraph
from evigraph.query.answer.strength import ALL_WORDS, ENOUGH, ENOUGH_FOR_A_MODEL, Strength, strength
from evigraph.query.answer.support import question_weights
from evigraph.query.pipeline import RETRIEVAL
from evigraph.query.request import parse
from evigraph.testing.models import ScriptedChat
from small import PUMPS, CountingEmbedder, RuleExtractor, item


def measured(**signs: float | tuple[str, ...]) -> Strength:
    values = {"cosine": 0.3, "coverage": 0.5, "best_passage": 0.3, "unknown": (), **signs}
    return Strength(**values)  # type: ignore[arg-type]


def test_a_near_passage_is_enough() -> None:
    assert measured(cosine=ENOUGH).weakness is None
    assert measured(cosine=ENOUGH - 0.1, coverage=0.0).weakness is not None


def test_a_passage_with_every_word_is_enough_however_short_the_question() -> None:
    assert measured(cosine=0.2, best_passage=ALL_WORDS).weakness is None
    assert measured(cosine=0.2, coverage=1.0, best_passage=ALL_WORDS - 0.1).weakness is not None


def test_a_name_that_the_passages_lack_counts_against_them() -> None:
    assert measured(cosine=0.45).weakness is None
    weakness = measured(cosine=0.45, unknown=("Merrow Heights",)).weakness
    assert weakness == "the nearest passages do not mention 'Merrow Heights'"


BORN = [
    item("hord", "Allen Hord was born on 12 May 1957. He repaired the pumps of Tarn.", title="Allen Hord"),
    item("code", "Part SKU-8847 was ordered for the pumps of Tarn in the year 1994.", title="Order"),
]


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("Who was born on 1957-05-12?", ()),  # a passage spells it in another way
        ("Who was born on 1957-05-13?", ("1957-05-13",)),
        ("Who ordered part SKU-8847?", ()),
        ("Who ordered part SKU-8848?", ("sku-8848", "8848")),
        ("What was ordered in 1994?", ()),
        ("What was ordered in 1995?", ("1995",)),
        ("What was ordered in the 1990s?", ()),
        ("Which 12 pumps of Tarn did he repair in 36 days?", ()),  # short numbers say little
    ],
)
def test_a_date_or_code_that_no_passage_has_is_unknown(tmp_path: Path, question: str, unknown: tuple[str, ...]) -> None:
    with Evigraph(tmp_path / "store", embedder=CountingEmbedder(), extractor=RuleExtractor()) as graph:
        graph.index(BORN)
        with graph.queries.open(parse({"query": question})) as run:
            for step in RETRIEVAL:
                step(run)
            assert strength(run, question_weights(run)).unknown == unknown


def test_a_model_is_given_weaker_evidence_and_may_decline_itself() -> None:
    assert measured(cosine=0.3, coverage=0.0, needed=ENOUGH_FOR_A_MODEL).weakness is None
    assert measured(cosine=0.1, coverage=0.0, needed=ENOUGH_FOR_A_MODEL).weakness is not None


def test_a_bare_name_is_answered_and_an_unheard_one_is_not(tmp_path: Path) -> None:
    with Evigraph(tmp_path / "store", embedder=CountingEmbedder(), extractor=RuleExtractor()) as graph:
        graph.index(PUMPS)
        known = graph.ask("Corrick Vane")
        assert not known.abstained
        assert known.citations
        unheard = graph.ask("Who is Zora Quillfeather?")
        assert unheard.abstained
        assert (unheard.abstain_reason or "").startswith(("evidence:", "retrieval:"))


def test_the_reply_of_a_model_is_asked_for_only_where_there_is_evidence(tmp_path: Path) -> None:
    chat = ScriptedChat(["Corrick Vane delivered four pumps to Tarn [1]."])
    with Evigraph(tmp_path / "store", embedder=CountingEmbedder(), extractor=RuleExtractor(), chat=chat) as graph:
        graph.index(PUMPS)
        assert not graph.ask("Corrick Vane").abstained
        assert graph.ask("Corrick Vane", metadata_filter={"region": "nowhere"}).abstained
        assert len(chat.calls) == 1
