"""Text in portions that a model can read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

Span = tuple[int, int]


def portions(text: str, sentences: Sequence[Span], fits: Callable[[str], bool]) -> list[str]:
    """The text in pieces that fit, as many sentences in each as do. `sentences` are half-open spans in order; what
    stands between them comes with the one before. A sentence that does not fit is divided, best at white space; a
    single character is taken to fit."""
    found: list[str] = []
    start = end = 0
    for begin, stop in _divided(text, sentences or [(0, len(text))], fits):
        if end > start and not fits(text[start:stop]):
            found.append(text[start:end])
            start = begin
        end = stop
    return [*found, text[start:end]] if text[start:end].strip() else found


def _divided(text: str, spans: Iterable[Span], fits: Callable[[str], bool]) -> Iterator[Span]:
    left = list(spans)[::-1]
    while left:
        start, end = left.pop()
        if end - start < 2 or fits(text[start:end]):
            yield start, end
            continue
        middle = start + (end - start) // 2
        blank = text.rfind(" ", start + 1, middle)
        cut = middle if blank < 0 else blank + 1
        left += [(cut, end), (start, cut)]
