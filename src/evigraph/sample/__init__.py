"""The sample corpus: ten years of field reports of an invented aid organisation.

The documents are in ``corpus/`` (Markdown, HTML, DOCX, PDF and CSV), labelled
questions about them in ``questions.jsonl``, and a description of both in
``README.md``. The organisation, its country and its people do not exist.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["corpus_path", "questions_path"]

_HERE = Path(__file__).resolve().parent


def corpus_path() -> Path:
    """Return the folder that holds the documents of the sample corpus."""
    return _HERE / "corpus"


def questions_path() -> Path:
    """Return the JSON Lines file with the labelled questions."""
    return _HERE / "questions.jsonl"
