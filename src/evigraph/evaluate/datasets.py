"""Reads labelled corpora in four layouts into one form.

    evigraph   corpus*.jsonl {id, title, text}
               questions.jsonl {id, question, gold[], answer?, type?, route?}
    folder     corpus/ with files of any kind
               questions.jsonl, its gold being paths relative to corpus/
    BEIR       corpus.jsonl {_id, title, text}, queries.jsonl {_id, text}, qrels/SPLIT.tsv
    HippoRAG   NAME_corpus.json [{title, text}]
               NAME.json [{question, paragraphs[{is_supporting}] or context + supporting_facts}]

A folder with several corpora is refused until the caller names one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from evigraph.errors import CorruptDocument, InvalidValue, MissingFile, ReadError
from evigraph.files import text_lines

ABSENT = "absent"
"""Type of a question whose answer is not in the corpus: the right answer is to abstain."""

CORPUS_WIDE = "corpus_wide"
"""Type of a question about the corpus as a whole: its answer should draw on many documents and groups."""

LAYOUTS = "the layouts are in `evigraph eval --help`"
"""The remedy where a folder does not have what its layout asks for."""

SAMPLE_SEED = "evigraph"
"""Drawn with the ids of questions: another seed would be another sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A labelled question. `gold` maps each relevant corpus id to its relevance, 1 where the set has no
    grades. `extra` holds the record's further fields as they are, for those who know the set."""

    id: str
    text: str
    gold: Mapping[str, float]
    type: str = ""
    answers: tuple[str, ...] = ()
    route: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """A corpus with its questions.

    `items` are what `engine.index` takes: records with a `document_id`, or the one path of a folder of
    files. With `gold_by` `document_id` gold names the documents' ids, with `source` their paths relative to
    that folder.
    """

    name: str
    layout: Literal["evigraph", "folder", "beir", "hipporag"]
    items: Sequence[Any]
    questions: tuple[Question, ...]
    corpus_ids: frozenset[str]
    corpus_hash: str
    gold_by: Literal["document_id", "source"] = "document_id"
    warnings: tuple[str, ...] = ()

    def only(self, name: str) -> Dataset:
        """The same with only the questions whose extra field `name` is true. Raises `InvalidValue` where none is."""
        questions = tuple(question for question in self.questions if question.extra.get(name) is True)
        if not questions:
            raise InvalidValue(f"no question of {self.name} is marked {name!r}", hint=f'write "{name}": true')
        return replace(self, questions=questions)


def sample(questions: Sequence[Question], size: int) -> tuple[Question, ...]:
    """`size` of the questions, or all where there are fewer, drawn and ordered by the hash of their ids.

    What is drawn depends on the ids alone, not on their order in the file, and a smaller sample is the beginning of a
    larger one.
    """
    drawn = sorted(questions, key=lambda question: hashlib.sha256(f"{SAMPLE_SEED}\0{question.id}".encode()).hexdigest())
    return tuple(drawn[:size])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """A layout as read, before what all have in common is checked."""

    layout: Literal["evigraph", "folder", "beir", "hipporag"]
    questions: Iterable[Question]
    records: list[dict[str, str]] = field(default_factory=list)
    folder: Path | None = None


def load_dataset(folder: str | Path, *, corpus: str | None = None, split: str | None = None) -> Dataset:
    """Reads the labelled corpus in `folder`.

    `corpus` names one of several corpus files, in full or without ending; `split` one of several BEIR qrels
    files. Raises `MissingFile` when no layout fits, `InvalidValue` when a choice is open or names nothing, or the
    corpus has no document, `ReadError` when a file cannot be read, and `CorruptDocument` with file and line when a
    record is malformed.
    """
    root = Path(folder)
    if not root.is_dir():
        raise MissingFile(f"{root} is not a folder", hint="give a folder with a corpus and questions")
    parts = _read_layout(root, corpus, split)
    if parts.folder is not None:
        ids, digest = _folder_identity(parts.folder)
        items: list[Any] = [parts.folder]
    else:
        items = [{"document_id": r["id"], "title": r["title"], "text": r["text"]} for r in parts.records]
        ids = [record["id"] for record in parts.records]
        digest = corpus_hash(parts.records)
    questions = tuple(parts.questions)
    if not ids:
        raise InvalidValue(f"the corpus in {root} holds no document", hint=LAYOUTS)
    return Dataset(
        name=root.resolve().name + (f"/{corpus}" if corpus else ""),
        layout=parts.layout,
        items=items,
        questions=questions,
        corpus_ids=frozenset(ids),
        corpus_hash=digest,
        gold_by="source" if parts.folder is not None else "document_id",
        warnings=_warnings(ids, questions),
    )


def corpus_hash(records: Iterable[Mapping[str, str]]) -> str:
    """sha256 of the records (id, title, text) in order of id, so that the order in the file does not
    matter."""
    digest = hashlib.sha256()
    for record in sorted(records, key=lambda r: r["id"]):
        digest.update(json.dumps([record["id"], record["title"], record["text"]]).encode())
    return digest.hexdigest()


def _read_layout(root: Path, corpus: str | None, split: str | None) -> _Parts:
    if (root / "corpus").is_dir() and (root / "questions.jsonl").is_file():
        return _Parts(layout="folder", folder=root / "corpus", questions=_own_questions(root))
    if (root / "queries.jsonl").is_file() and (root / "qrels").is_dir():
        return _beir(root, split)
    if (root / "questions.jsonl").is_file():
        chosen = _choose("corpus", sorted(root.glob("corpus*.jsonl")), corpus)
        records = [_record(r, "id", where) for where, r in json_lines(chosen)]
        return _Parts(layout="evigraph", records=records, questions=_own_questions(root))
    if corpora := sorted(root.glob("*_corpus.json")):
        return _hipporag(_choose("corpus", corpora, corpus))
    raise MissingFile(
        f"{root} holds no corpus with questions",
        hint=f"expected corpus.jsonl or corpus/ with questions.jsonl, or the BEIR or HippoRAG layout; {LAYOUTS}",
    )


def _choose(what: str, found: Sequence[Path], wanted: str | None) -> Path:
    """The one file meant, or a refusal that lists the files."""
    names = ", ".join(path.name for path in found)
    if wanted is None:
        if len(found) == 1:
            return found[0]
        problem = "there are several" if found else "there is no"
        raise InvalidValue(f"{problem} {what} files: {names or 'none'}", hint=f"name one with {what}=")
    for path in found:
        if wanted in (
            path.name,
            path.stem,
            path.stem.removesuffix("_corpus"),
            path.stem.removeprefix("corpus_"),
        ):
            return path
    raise InvalidValue(f"no {what} file is named {wanted!r}", hint=f"found: {names or 'none'}")


def _warnings(ids: Sequence[str], questions: Sequence[Question]) -> tuple[str, ...]:
    found = []
    known = set(ids)
    if len(known) < len(ids):
        found.append(f"{len(ids) - len(known)} corpus ids occur more than once; the last record of each counts")
    lost = [question.id for question in questions if not known.issuperset(question.gold)]
    if lost:
        found.append(f"{len(lost)} questions have gold outside the corpus, counted as missed (first: {lost[0]})")
    return tuple(found)


# --------------------------------------------------------------------------- own layouts


def _own_questions(root: Path) -> Iterator[Question]:
    for number, (where, record) in enumerate(json_lines(root / "questions.jsonl")):
        gold = record.get("gold", [])
        if not isinstance(gold, list) or not all(map(_is_scalar, gold)):
            raise CorruptDocument(f"{where}: gold is not a list of ids", hint="write [] where nothing is relevant")
        if "answers" in record and "answer" not in record:
            # Kept as a further field, it would leave a question without its answer, and nobody would know.
            raise CorruptDocument(f"{where}: field 'answers' is not read", hint=f"write {_ANSWER}")
        yield Question(
            id=scalar(record, "id", where) or str(number),
            text=_text(record, "question", where),
            gold=dict.fromkeys(map(str, gold), 1.0),
            type=scalar(record, "type", where),
            answers=_answers(record, where),
            route=scalar(record, "route", where),
            extra=_extra(record, ("id", "question", "gold", "answer", "type", "route")),
        )


def _extra(record: Mapping[str, Any], read: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in read}


_ANSWER = "`answer`: a text, or a list of texts that must all be in the answer"


def _answers(record: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The strings an answer must contain: a list stands for all of its members."""
    value = record.get("answer")
    values = value if isinstance(value, list) else [] if value is None else [value]
    if not all(map(_is_scalar, values)):
        raise CorruptDocument(f"{where}: field 'answer' is neither a text nor a list of texts", hint=f"write {_ANSWER}")
    return tuple(str(one) for one in values if str(one).strip())


def _folder_identity(folder: Path) -> tuple[list[str], str]:
    """Paths of the corpus files relative to `folder`, and the sha256 of paths and contents. Sidecars count
    for the hash, since they carry metadata, but are no documents."""
    digest = hashlib.sha256()
    ids = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            continue
        digest.update(json.dumps([name, hashlib.sha256(_content(path)).hexdigest()]).encode())
        if not name.endswith(".meta.json"):
            ids.append(name)
    return ids, digest.hexdigest()


# --------------------------------------------------------------------------- BEIR


def _beir(root: Path, split: str | None) -> _Parts:
    """BEIR's layout (Thakur et al. 2021). Queries without judgements in the split are left out."""
    found = sorted((root / "qrels").glob("*.tsv"))
    if split is None and any(path.stem == "test" for path in found):
        split = "test"
    judged = _qrels(_choose("split", found, split))
    records = [_record(r, "_id", where) for where, r in json_lines(root / "corpus.jsonl")]
    questions = []
    for where, record in json_lines(root / "queries.jsonl"):
        name = _text(record, "_id", where)
        if gold := judged.get(name):
            extra = _extra(record, ("_id", "text"))
            questions.append(Question(id=name, text=_text(record, "text", where), gold=gold, extra=extra))
    return _Parts(layout="beir", records=records, questions=questions)


def _qrels(path: Path) -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = {}
    for number, (where, line) in enumerate(text_lines(path)):
        cells = line.split("\t")
        if number == 0 and cells[0] == "query-id":
            continue
        try:
            query, document, grade = cells[0], cells[1], float(cells[2])
        except (IndexError, ValueError):
            raise CorruptDocument(
                f"{where}: not `query-id<TAB>corpus-id<TAB>score`",
                hint="see BEIR's qrels format",
            ) from None
        if grade > 0:
            judged.setdefault(query, {})[document] = grade
    return judged


# --------------------------------------------------------------------------- HippoRAG


_HIPPORAG_TEXTS = ("context", "contexts", "paragraphs")
"""Fields that repeat texts of the corpus: read for the gold, and not kept beside it."""


def _hipporag(corpus: Path) -> _Parts:
    """HippoRAG's layout (Gutiérrez et al. 2024): no ids, so a passage's place in the corpus becomes its
    id."""
    records = [
        {
            "id": f"{n:06d}",
            "title": scalar(entry, "title", f"{corpus.name}[{n}]"),
            "text": _text(entry, "text", f"{corpus.name}[{n}]"),
        }
        for n, entry in enumerate(_json_array(corpus))
    ]
    by_text = {(r["title"], _squeezed(r["text"])): r["id"] for r in reversed(records)}
    by_title: dict[str, set[str]] = {}
    for record in records:
        by_title.setdefault(record["title"], set()).add(record["id"])

    def find(title: str, text: str, where: str) -> str:
        if exact := by_text.get((title, _squeezed(text))):
            return exact
        if len(candidates := by_title.get(title, set())) == 1:
            return min(candidates)
        raise CorruptDocument(
            f"{where}: supporting passage {title!r} is in the corpus {len(candidates)} times",
            hint="questions and corpus belong to different versions",
        )

    path = corpus.with_name(corpus.name.removesuffix("_corpus.json") + ".json")
    if not path.is_file():
        raise MissingFile(f"{corpus.name} has no questions beside it", hint=f"expected {path.name}")
    questions = [_hipporag_question(n, entry, path.name, find) for n, entry in enumerate(_json_array(path))]
    return _Parts(layout="hipporag", records=records, questions=questions)


def _hipporag_question(
    number: int, record: Mapping[str, Any], source: str, find: Callable[[str, str, str], str]
) -> Question:
    where = f"{source}[{number}]"
    try:
        gold = {find(title, text, where): 1.0 for title, text in _support(record)}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CorruptDocument(f"{where}: its supporting passages are malformed ({error})", hint=LAYOUTS) from error
    return Question(
        id=scalar(record, "id", where) or scalar(record, "_id", where) or str(number),
        text=_text(record, "question", where),
        gold=gold,
        type=scalar(record, "type", where),
        answers=_answers(record, where),
        extra=_extra(record, ("id", "_id", "question", "type", "answer", *_HIPPORAG_TEXTS)),
    )


def _support(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Titles and texts of the passages that support an answer. A malformed record raises what Python raises."""
    if "supporting_facts" in record:  # HotpotQA, 2WikiMultiHopQA
        titles = {fact[0] for fact in record["supporting_facts"]}
        return [(title, "".join(sentences)) for title, sentences in record["context"] if title in titles]
    paragraphs = record.get("paragraphs", record.get("contexts", []))  # MuSiQue and others
    wanted = [p for p in paragraphs if p.get("is_supporting")]
    return [(p["title"], p.get("text", p.get("paragraph_text", ""))) for p in wanted]


def _squeezed(text: str) -> str:
    """Without white space: the sets join the same sentences with and without a space between."""
    return "".join(text.split())


# --------------------------------------------------------------------------- files


def _record(record: Mapping[str, Any], id_field: str, where: str) -> dict[str, str]:
    return {
        "id": _text(record, id_field, where),
        "title": scalar(record, "title", where),
        "text": _text(record, "text", where),
    }


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    if record.get(name) is None:
        raise CorruptDocument(f"{where}: field {name!r} is missing", hint=LAYOUTS)
    return scalar(record, name, where)


def scalar(record: Mapping[str, Any], name: str, where: str) -> str:
    """A field that is text, or a number as text; empty where it is missing. Raises `CorruptDocument` for others."""
    value = record.get(name)
    if value is None:
        return ""
    if not _is_scalar(value):
        raise CorruptDocument(f"{where}: field {name!r} is not text", hint=LAYOUTS)
    return str(value)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON Lines file, each with its file and line. Raises `MissingFile`, `ReadError`,
    `CorruptDocument`."""
    for where, line in text_lines(path):
        if line.strip():
            yield where, _json_object(line, where)


def _json_object(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptDocument(f"{where}: {error}", hint="write one JSON object a line") from error
    if not isinstance(value, dict):
        raise CorruptDocument(f"{where}: not a JSON object", hint="write one JSON object a line")
    return value


def _json_array(path: Path) -> list[dict[str, Any]]:
    try:
        value = json.loads(_content(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CorruptDocument(f"{path.name}: not UTF-8 at byte {error.start + 1}", hint="write it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise CorruptDocument(f"{path.name}: {error}", hint="write a JSON array of objects") from error
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise CorruptDocument(f"{path.name}: not an array of objects", hint="write a JSON array of objects")
    return value


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        hint = "check that the file may be read"
        raise ReadError(f"{path.name} cannot be read: {error.strerror}", hint=hint) from error
