"""Measures an engine on labelled questions, and compares measurements: `load_dataset`, `evaluate`, `EvalReport`,
`read_cases`, `compare`."""

from __future__ import annotations

from evigraph.evaluate.cases import AnswerCase, FoundDocument, RankingCase
from evigraph.evaluate.compare import DEFAULT_METRIC, Comparison, compare
from evigraph.evaluate.comparison_text import format_comparison
from evigraph.evaluate.datasets import Dataset, Question, load_dataset
from evigraph.evaluate.foreign import ForeignList, read_lists, score_lists
from evigraph.evaluate.report import EvalReport, format_report
from evigraph.evaluate.results import read_cases
from evigraph.evaluate.routing import RoutingReport, evaluate_routing, format_routing, load_routing
from evigraph.evaluate.run import Engine, evaluate, valid_modes

__all__ = [
    "DEFAULT_METRIC",
    "AnswerCase",
    "Comparison",
    "Dataset",
    "Engine",
    "EvalReport",
    "ForeignList",
    "FoundDocument",
    "Question",
    "RankingCase",
    "RoutingReport",
    "compare",
    "evaluate",
    "evaluate_routing",
    "format_comparison",
    "format_report",
    "format_routing",
    "load_dataset",
    "load_routing",
    "read_cases",
    "read_lists",
    "score_lists",
    "valid_modes",
]
