"""A cross-encoder small enough to write down: its logit is the sum of the token ids of the second text.

The file is put together byte by byte in the wire format of protocol buffers (field numbers from onnx.proto), so that
the tests run a real model without a package to build one.
"""

from __future__ import annotations

import json
from pathlib import Path

INT64, FLOAT = 7, 1
VOCABULARY = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3, "pump": 100, "tarn": 40, "ferry": 10, "who": 4}


def write_cross_encoder(
    folder: Path, *, inputs: tuple[str, ...] = ("input_ids", "token_type_ids"), labels: int = 1
) -> None:
    """`model.onnx` and `tokenizer.json` in `folder`; `labels` is how many numbers it gives a pair."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(_model(inputs, labels))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer()))


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    dims = b"".join(_bytes(1, _bytes(2, dim) if isinstance(dim, str) else _number(1, dim)) for dim in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def _node(kind: str, inputs: tuple[str, ...], output: str, attribute: tuple[str, int] | None = None) -> bytes:
    node = b"".join(_bytes(1, name) for name in inputs) + _bytes(2, output) + _bytes(4, kind)
    if attribute is not None:
        node += _bytes(5, _bytes(1, attribute[0]) + _number(3, attribute[1]) + _number(20, 2))
    return node


def _model(inputs: tuple[str, ...], labels: int) -> bytes:
    masked = "masked" if "token_type_ids" in inputs else inputs[0]
    nodes = [_node("Mul", ("input_ids", "token_type_ids"), "masked")] if masked == "masked" else []
    nodes += [
        _node("Cast", (masked,), "numbers", ("to", FLOAT)),
        _node("ReduceSum", ("numbers", "axes"), "sum", ("keepdims", 1)),
        _node("Concat", ("sum",) * labels, "logits", ("axis", 1)),
    ]
    axes = _number(1, 1) + _number(2, INT64) + _bytes(8, "axes") + _bytes(9, (1).to_bytes(8, "little"))
    graph = b"".join(_bytes(1, node) for node in nodes) + _bytes(2, "tiny") + _bytes(5, axes)
    graph += b"".join(_bytes(11, _value(name, INT64, ("batch", "tokens"))) for name in inputs)
    graph += _bytes(12, _value("logits", FLOAT, ("batch", labels)))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, 13))


def _tokenizer() -> dict[str, object]:
    def special(name: str, segment: int) -> dict[str, object]:
        return {"SpecialToken": {"id": name, "type_id": segment}}

    first = [special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]", 0)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": first,
            "pair": [*first, {"Sequence": {"id": "B", "type_id": 1}}, special("[SEP]", 1)],
            "special_tokens": {
                name: {"id": name, "ids": [VOCABULARY[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "[UNK]"},
    }
