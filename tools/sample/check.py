"""Check the sample corpus and its questions; exit with 1 if something is wrong.

Usage: python tools/sample/check.py

Prints the counts of documents (per region, programme, format and year) and of
questions (per type), and checks that

- every document has a title, a date, a region and a programme;
- prose documents have 250 to 900 words and CSV files 10 to 40 rows;
- every gold path exists, and answers are given or left out as the type requires;
- the answer (or an alias) of each lookup, paraphrase and multi-hop question
  occurs in the text of one of its gold documents;
- the documents of each theme in ``themes.json`` exist and cover enough regions
  and years.

Needs python-docx, pypdfium2 and PyYAML.
"""

from __future__ import annotations

import csv
import datetime as dt
import html
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pypdfium2
import yaml
from docx import Document

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parents[1] / "src" / "evigraph" / "sample"
CORPUS = SAMPLE / "corpus"
REGIONS = {"eastern", "northern", "western", "southern", "central", "coastal"}
PROGRAMMES = {"water", "health", "livelihoods", "education"}
MINIMUM_FORMATS = {"md": 1, "html": 8, "docx": 6, "pdf": 6, "csv": 5}
MINIMUM_TYPES = {"lookup": 20, "paraphrase": 15, "multi_hop": 24, "corpus_wide": 10, "absent": 12}
MINIMUM_DOCUMENTS, MINIMUM_QUESTIONS = 66, 80
LITERAL = {
    "What did the water programme in the eastern districts report about borehole maintenance?",
    "What themes recur across all regions over the decade?",
}

Documents = dict[str, tuple[dict[str, str], str]]

errors: list[str] = []


def fail(message: str) -> None:
    errors.append(message)


def read(path: Path) -> tuple[dict[str, str], str]:
    """Return the metadata and the plain text of a document."""
    kind = path.suffix[1:]
    if kind == "md":
        _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
        return {k: str(v) for k, v in yaml.safe_load(front).items()}, text
    sidecar = path.with_name(path.name + ".meta.json")
    meta = json.loads(sidecar.read_text(encoding="utf-8")) if sidecar.exists() else {}
    if kind == "html":
        raw = re.sub(r"(?s)<(script|style).*?</\1>", " ", path.read_text(encoding="utf-8"))
        text = html.unescape(re.sub(r"</?(p|h\d|li|td|th|div|tr)\b[^>]*>", " ", raw))
        text = re.sub(r"<[^>]+>", "", text)
    elif kind == "docx":
        document = Document(str(path))
        cells = [c.text for t in document.tables for r in t.rows for c in r.cells]
        text = "\n".join([p.text for p in document.paragraphs] + cells)
    elif kind == "pdf":
        pdf = pypdfium2.PdfDocument(path)
        text = "\n".join(page.get_textpage().get_text_bounded() for page in pdf)
    else:
        text = path.read_text(encoding="utf-8").replace(",", " , ")
    return meta, text


def squash(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[*_]", "", text)).casefold()


def contains(text: str, needle: str) -> bool:
    return re.search(rf"(?<![\w.])(?<!\d,){re.escape(squash(needle))}(?!\w)", text) is not None


def check_document(path: Path, name: str, meta: dict[str, str], text: str) -> None:
    for key in ("title", "date", "region", "programme"):
        if not meta.get(key):
            fail(f"{name}: no {key}")
    if meta.get("region") not in REGIONS or meta.get("programme") not in PROGRAMMES:
        fail(f"{name}: unknown region or programme")
    dt.date.fromisoformat(meta["date"])
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as handle:
            rows = list(csv.reader(handle))
        if not 10 <= len(rows) - 1 <= 40 or len({len(r) for r in rows}) != 1:
            fail(f"{name}: {len(rows) - 1} rows, or rows of unequal length")
    elif not 250 <= len(text.split()) <= 900:
        fail(f"{name}: {len(text.split())} words")


def check_documents() -> Documents:
    documents = {}
    for path in sorted(CORPUS.rglob("*")):
        if not path.is_file() or path.name.endswith(".meta.json"):
            continue
        name = path.relative_to(CORPUS).as_posix()
        meta, text = read(path)
        documents[name] = (meta, squash(text))
        check_document(path, name, meta, text)
    for path in CORPUS.rglob("*.meta.json"):
        if not path.with_name(path.name.removesuffix(".meta.json")).exists():
            fail(f"{path.name}: metadata without a document")

    def counts(label: str, values: list[str]) -> Counter[str]:
        counter = Counter(values)
        print(f"{label}: " + ", ".join(f"{k} {v}" for k, v in sorted(counter.items())))
        return counter

    print(f"documents: {len(documents)}")
    counts("per region", [m["region"] for m, _ in documents.values()])
    counts("per programme", [m["programme"] for m, _ in documents.values()])
    counts("per folder", [name.split("/")[0] for name in documents])
    formats = counts("per format", [name.rsplit(".", 1)[1] for name in documents])
    if len(documents) < MINIMUM_DOCUMENTS:
        fail("too few documents")
    for kind, least in MINIMUM_FORMATS.items():
        if formats[kind] < least:
            fail(f"only {formats[kind]} {kind} files")
    return documents


def check_question(q: dict[str, Any], documents: Documents) -> None:
    where, kind, gold = q["id"], q["type"], q["gold"]
    if len(set(gold)) != len(gold):
        fail(f"{where}: gold path given twice")
    if unknown := [g for g in gold if g not in documents]:
        fail(f"{where}: no such document: {unknown}")
        return
    if (kind == "absent") != (not gold):
        fail(f"{where}: gold must be empty for absent questions, and only there")
    if kind in ("absent", "corpus_wide") and "answer" in q:
        fail(f"{where}: has an answer")
    if kind == "multi_hop" and len(gold) < 2:
        fail(f"{where}: needs two documents or more")
    if q["route"] != ("global" if kind == "corpus_wide" else "local"):
        fail(f"{where}: wrong route")
    if kind in ("lookup", "multi_hop", "paraphrase"):
        wanted = [q.get("answer", ""), *q.get("answer_aliases", [])]
        if not any(w and contains(documents[g][1], w) for w in wanted for g in gold):
            fail(f"{where}: answer {wanted} not found in {gold}")


def check_questions(documents: Documents) -> None:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    types = Counter(q["type"] for q in questions)
    print(f"questions: {len(questions)}: " + ", ".join(f"{k} {v}" for k, v in types.items()))
    if len(questions) < MINIMUM_QUESTIONS or len({q["id"] for q in questions}) != len(questions):
        fail("too few questions, or an id used twice")
    if missing := LITERAL - {q["question"] for q in questions}:
        fail(f"missing questions: {missing}")
    for kind, least in MINIMUM_TYPES.items():
        if types[kind] < least:
            fail(f"only {types[kind]} {kind} questions")
    for q in questions:
        check_question(q, documents)


def check_themes(documents: Documents) -> None:
    themes = json.loads((HERE / "themes.json").read_text(encoding="utf-8"))
    for name, theme in themes.items():
        paths = theme["documents"]
        if unknown := [p for p in paths if p not in documents]:
            fail(f"theme {name}: no such document: {unknown}")
            continue
        regions = Counter(documents[p][0]["region"] for p in paths)
        years = {p.split("/")[0] for p in paths}
        print(f"theme {name}: {len(paths)} documents, {len(years)} years, {dict(regions)}")
        if len(paths) < 8 or len(regions) < 5 or len(years) < 4:
            fail(f"theme {name}: too few documents, regions or years")


def main() -> int:
    documents = check_documents()
    check_questions(documents)
    check_themes(documents)
    for error in errors:
        print("error:", error)
    print("all checks passed" if not errors else f"{len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
