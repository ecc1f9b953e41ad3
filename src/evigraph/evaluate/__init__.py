"""Measures an engine on labelled questions: `load_dataset`, `evaluate`, `EvalReport`."""

from __future__ import annotations

from evigraph.evaluate.datasets import Dataset, Question, load_dataset
from evigraph.evaluate.report import AnswerCase, EvalReport, RankingCase, format_report
from evigraph.evaluate.run import Engine, evaluate, valid_modes

__all__ = [
    "AnswerCase",
    "Dataset",
    "Engine",
    "EvalReport",
    "Question",
    "RankingCase",
    "evaluate",
    "format_report",
    "load_dataset",
    "valid_modes",
]
