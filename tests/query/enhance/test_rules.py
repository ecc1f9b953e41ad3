"""The reranker without a model of its own."""

from __future__ import annotations

from evigraph.query.enhance.rules import RuleReranker
from evigraph.query.relevance import Words
from evigraph.testing.models import HashEmbedder

WEIGHTS = {"pump": 2.0, "tarn": 3.0, "repair": 1.0}
QUESTION = "Who repaired the pump at Tarn?"


def order(*texts: str, languages: tuple[str, ...] = ("en",)) -> list[int]:
    scores = RuleReranker(HashEmbedder(256), Words(weights=WEIGHTS, languages=languages)).score(QUESTION, texts)
    return sorted(range(len(texts)), key=lambda at: -scores[at])


def test_words_of_the_question_bring_a_passage_up() -> None:
    assert order("The ferry is late again today.", "Hana Sefu repaired the pump at Tarn.") == [1, 0]


def test_rare_words_weigh_more() -> None:
    assert order("They had the repair done soon.", "They went to Tarn quite soon.") == [1, 0]


def test_words_together_beat_words_apart() -> None:
    apart = "The pump was old and grey. Nobody came for a year. People of Tarn were patient with it."
    together = "The pump of Tarn was old. Nobody came for a year. People there were patient with it."
    assert order(apart, together) == [1, 0]


def test_a_long_passage_is_as_good_as_its_best_sentence() -> None:
    long = "The weather was dry all year. " * 20 + "Hana Sefu repaired the pump at Tarn."
    assert order("The pump was bought in a market of Tarn by somebody.", long) == [1, 0]


def test_without_any_sign_the_order_before_stays() -> None:
    texts = ["Barley grew well this year."] * 5
    assert order(*texts) == [0, 1, 2, 3, 4]
    assert order("", "?", "# Heading") == [0, 1, 2]
    assert RuleReranker(HashEmbedder(), Words(weights={}, languages=())).score("?", []) == []


def test_scores_do_not_depend_on_what_stands_beside_a_passage_but_on_its_place() -> None:
    words = Words(weights=WEIGHTS, languages=("en",))
    reranker = RuleReranker(HashEmbedder(), words)
    alone = reranker.score(QUESTION, ["Tarn has a pump now."])[0]
    assert alone == reranker.score(QUESTION, ["Tarn has a pump now.", "The ferry is late again."])[0]


def test_unspaced_scripts_are_read() -> None:
    words = Words(weights={"水泵": 2.0, "修理": 2.0}, languages=("zh",))
    scores = RuleReranker(HashEmbedder(), words).score("谁修理水泵？", ["天气很好。今天没有风。", "他修理水泵。"])
    assert scores[1] > scores[0]
