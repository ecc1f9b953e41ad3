from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from evigraph.config import Settings
from evigraph.errors import ModelBadResponse, ModelTimeout
from evigraph.models.factory import make_chat
from evigraph.models.meter import Metered
from evigraph.models.ports import ChatReply, Message
from evigraph.testing.models import ScriptedChat, ScriptedOpenAIServer

ASK = (Message(role="user", content="one two three"),)


def test_counts_calls_and_tokens_across_threads() -> None:
    metered = Metered(ScriptedChat(lambda messages: "four five"))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: metered.complete(ASK), range(40)))
    assert (metered.calls, metered.failed, metered.unreported) == (40, 0, 0)
    assert (metered.prompt_tokens, metered.completion_tokens, metered.total_tokens) == (120, 80, 200)
    assert metered.name == "scripted"


def test_failed_calls_are_counted_and_passed_on() -> None:
    metered = Metered(ScriptedChat([ModelTimeout("late"), "fine"]))
    with pytest.raises(ModelTimeout):
        metered.complete(ASK)
    assert metered.complete(ASK, model="other").model == "other"
    assert (metered.calls, metered.failed, metered.total_tokens) == (2, 1, 4)


def test_replies_without_an_account_are_told_apart() -> None:
    class Silent:
        name = "silent"

        def complete(self, messages: object, *, model: str | None = None) -> ChatReply:
            return ChatReply(text="", model="silent")

    metered = Metered(Silent())
    metered.complete(ASK)
    assert (metered.unreported, metered.prompt_tokens, metered.completion_tokens) == (1, None, None)
    assert metered.total_tokens is None


def test_half_an_account_leaves_the_other_half_unknown() -> None:
    class Half:
        name = "half"

        def complete(self, messages: object, *, model: str | None = None) -> ChatReply:
            return ChatReply(text="", model="half", prompt_tokens=7)

    metered = Metered(Half())
    metered.complete(ASK)
    metered.complete(ASK)
    assert (metered.unreported, metered.prompt_tokens, metered.completion_tokens) == (2, 14, None)


def test_what_is_no_text_is_removed_from_any_reply_and_told() -> None:
    said: list[str] = []
    metered = Metered(ScriptedChat(["a\ud800\0b \ud83d\ude00\n\x1b", "fine"]), degrade=said.append)
    assert metered.complete(ASK).text == "ab 😀\n"
    assert said == ["chat model: characters that are no text were removed from its reply (3)"]
    assert metered.complete(ASK).text == "fine" and len(said) == 1
    assert Metered(ScriptedChat(["\udfff"])).complete(ASK).text == ""


def test_a_reply_without_text_is_a_bad_response_and_odd_counts_are_none() -> None:
    class Odd:
        name = "odd"
        text: object = None

        def complete(self, messages: object, *, model: str | None = None) -> ChatReply:
            return ChatReply(text=self.text, model="odd", prompt_tokens=-1, completion_tokens=10**400)  # type: ignore[arg-type]

    odd = Odd()
    metered = Metered(odd)
    with pytest.raises(ModelBadResponse, match="NoneType"):
        metered.complete(ASK)
    odd.text = "x"
    metered.complete(ASK)
    assert (metered.failed, metered.unreported, metered.total_tokens) == (1, 1, None)


def test_a_reply_cut_at_its_longest_is_counted_and_told() -> None:
    said: list[str] = []
    with ScriptedOpenAIServer(["again and " * 100, "fine"]) as server:
        settings = Settings(chat_url=server.url, chat_model="m", chat_reply_tokens=64)
        chat = make_chat(settings)
        assert chat is not None
        metered = Metered(chat, degrade=said.append)
        assert len(metered.complete(ASK).text.split()) == 64
        assert (metered.cut, said) == (1, ["chat model: a reply was cut at its longest (EVIGRAPH_CHAT_REPLY_TOKENS)"])
        assert not metered.complete(ASK).cut
        assert (metered.cut, len(said)) == (1, 1)
