from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evigraph.errors import ModelBadResponse, ModelUnavailable
from evigraph.models.ports import ChatModel, Embedder, Message
from evigraph.testing.models import HashEmbedder, ScriptedChat

ASK = (Message(role="user", content="Who supplied the valves?"),)


@given(st.lists(st.text(max_size=30), max_size=5))
def test_hash_embedder_keeps_the_contract(texts: list[str]) -> None:
    embedder: Embedder = HashEmbedder(32)
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), 32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    alone = [embedder.embed([text])[0] for text in texts]
    assert all(np.array_equal(one, row) for one, row in zip(alone, vectors, strict=True))


def test_hash_embedder_prefers_shared_words() -> None:
    valve, valves, poem = HashEmbedder().embed(["valve for the pump", "the pump valve", "roses are red"])
    assert valve @ valves > 0.7 > valve @ poem


def test_scripted_chat_in_order() -> None:
    chat: ChatModel = ScriptedChat(["one", lambda messages: messages[0].content[:3], ModelUnavailable("down")])
    assert [chat.complete(ASK).text, chat.complete(ASK).text] == ["one", "Who"]
    with pytest.raises(ModelUnavailable):
        chat.complete(ASK)
    with pytest.raises(ModelBadResponse, match="3 replies"):
        chat.complete(ASK)


def test_scripted_chat_by_content_records_calls() -> None:
    chat = ScriptedChat.by_content([("valves", "Northwind [1]")], default="no idea")
    assert chat.complete(ASK, model="big").text == "Northwind [1]"
    assert chat.complete([Message(role="user", content="?")]).text == "no idea"
    assert chat.calls[0] == ASK
    assert chat.models == ["big", None]
