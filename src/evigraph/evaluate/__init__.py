"""Measures an engine on labelled questions: `load_dataset`, `evaluate`, `EvalReport`."""

from __future__ import annotations

from evigraph.evaluate.datasets import Dataset, Question, load_dataset
from evigraph.evaluate.report import AnswerCase, EvalReport, RankingCase, format_report
from evigraph.evaluate.routing import RoutingReport, evaluate_routing, format_routing, load_routing
from evigraph.evaluate.run import Engine, evaluate, valid_modes

__all__ = [
    "AnswerCase",
    "Dataset",
    "Engine",
    "EvalReport",
    "Question",
    "RankingCase",
    "RoutingReport",
    "evaluate",
    "evaluate_routing",
    "format_report",
    "format_routing",
    "load_dataset",
    "load_routing",
    "valid_modes",
]
