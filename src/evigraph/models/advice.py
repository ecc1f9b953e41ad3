"""The remedies that errors of a server name: which setting to look at, in the words of what kind of server it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """Settings by name, and hints. `url`, `key`, `timeout` and `concurrency` are settings; `server` says what the
    address should be that of, `wrong_shape` what to check where a reply is no JSON object, `not_found` where nothing
    answers under the path, `refused` where the request is not taken, `unusable` where a reply is JSON of other
    fields."""

    url: str
    key: str
    server: str
    wrong_shape: str
    not_found: str
    refused: str
    unusable: str = ""
    timeout: str = "EVIGRAPH_MODEL_TIMEOUT"
    concurrency: str = "EVIGRAPH_MODEL_CONCURRENCY"

    def for_status(self, status: int) -> str:
        """The remedy for a status that is no success."""
        if status in (401, 403):
            return f"set {self.key} to a key this server accepts"
        if status == 404:
            return self.not_found
        if status == 429:
            return f"lower {self.concurrency}, or try again later"
        if status >= 500:
            return f"the server at {self.url} is in trouble; look at its log or try again later"
        if 300 <= status < 400:
            return f"redirects are not followed; set {self.url} to the final address"
        return self.refused


def model_advice(setting: str) -> Advice:
    """For an OpenAI-compatible server whose settings have this stem, such as `EVIGRAPH_CHAT`."""
    return server_advice(url=f"{setting}_URL", key=f"{setting}_API_KEY", model=f"{setting}_MODEL")


def server_advice(*, url: str, key: str, model: str) -> Advice:
    """For an OpenAI-compatible server whose address, key and model are set under these names."""
    return Advice(
        url=url,
        key=key,
        server="a model server",
        wrong_shape=f"check that {url} is an OpenAI-compatible address ending in `/v1`",
        not_found=f"check {url} (up to and including `/v1`) and {model}",
        refused=f"check {model} and that the request fits the model's context",
        unusable=f"check {model} and that {url} speaks the OpenAI interface",
    )
