"""`docs/methods.md`: what each method does with a chat model and without one, and what goes with what."""

from __future__ import annotations

from collections.abc import Iterator

from evigraph.query.capabilities import METHODS
from evigraph.query.methods.combinations import refusal
from evigraph.query.strategy import ignored
from evigraph.types import Method, Mode, QueryRequest

ENHANCERS = ("rerank", "compress", "parent_context", "hybrid")
RUNS = "runs"


def methods_reference(generated: str) -> str:
    """The page as Markdown; `generated` says who wrote it."""
    lines = ["# Methods, modes and enhancers", "", generated, ""]
    lines += [
        "A mode says where evidence comes from, a method how the question is asked, an enhancer what is done to the"
        " evidence. What happened is in `ledger` and `method_details` of a response; whatever was done otherwise than"
        " asked is a sentence in `method_details.degraded`.",
        "",
        "## Methods",
        "",
        "| method | with a chat model | without one |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{name}` | {done.with_model} | {done.without} |" for name, done in METHODS.items()]
    lines += [
        "",
        "The web is searched by `corrective` alone: once, with the question as it was asked or as it stands alone"
        " in its conversation, where EVIGRAPH_WEB_SEARCH_KEY is set and the evidence is graded weak even after"
        " searching again. A question with filters, `as_of` or `web_search: false` (its own, or in its pipeline's"
        " defaults) stays at home; that, a search that is not configured, and one that finds nothing are"
        " no degradation, unless the question itself says `web_search: true`. `method_details.web_search` has"
        " `query`, `results`, `used`, and why it was `skipped`."
        " Results are chunks with `web` true: they come before the passages that were graded weak, within"
        " `max_chunks`; `source` is their address and `revision` 0. An answer that asked the web is never kept in a"
        " cache.",
        "",
        "What a method could not take whole is told: a question, a rephrasing or a hypothetical answer of which the"
        " embedding model reads the beginning alone, passages beyond the 20 that `corrective` has graded"
        " (`method_details.corrective` has `graded` and `ungraded`), and passages that `rerank` by a chat model shows"
        " in part. `method_details.multi_query.left_out` has the texts that were not searched for, with their reasons;"
        " where none is left, and where nothing in scope is searched by vector under `hyde`, the method in effect is"
        " `standard`.",
        "",
        "## Every combination",
        "",
        "*Refused* requests are answered with status 422 and code `invalid_combination`. An *ignored* flag is reported"
        " in `degraded`; the rest of the request runs.",
        "",
        f"| mode | method | alone | {' | '.join(f'`{name}`' for name in ENHANCERS)} |",
        f"| --- | --- | --- | {' | '.join('---' for _ in ENHANCERS)} |",
    ]
    lines += list(_rows())
    return "\n".join(lines) + "\n"


def outcome(mode: Mode, method: Method, enhancer: str | None) -> str:
    """`runs`, `ignored: why` or `refused: why`."""
    reason = refusal(mode, method)
    if reason is not None:
        return f"refused: {reason}"
    flags = {} if enhancer is None else {enhancer: True}
    request = QueryRequest(query="q", mode=mode, method=method, **flags)
    said = [sentence for sentence in ignored(request) if enhancer is not None]
    return f"ignored: {said[0]}" if said else RUNS


def _rows() -> Iterator[str]:
    for mode in Mode:
        for method in Method:
            cells = [outcome(mode, method, enhancer) for enhancer in (None, *ENHANCERS)]
            if cells[0] != RUNS:
                yield f"| `{mode}` | `{method}` | {cells[0]} | {' | '.join('refused' for _ in ENHANCERS)} |"
            else:
                yield f"| `{mode}` | `{method}` | {' | '.join(cells)} |"
