"""Properties that are worked out once for each object."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evigraph.once import once


class Slow:
    """Its property takes until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.times = 0

    @once
    def value(self) -> int:
        """What it is."""
        self.times += 1
        self.begun.set()
        assert self.go_on.wait(10)
        return self.times

    @once
    def twice(self) -> int:
        return 2 * self.value


class Failing:
    def __init__(self) -> None:
        self.times = 0

    @once
    def value(self) -> int:
        self.times += 1
        if self.times == 1:
            raise ValueError("not yet")
        return self.times


def test_one_object_does_not_wait_for_another() -> None:
    slow, other = Slow(), Slow()
    other.go_on.set()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: slow.value)
        assert slow.begun.wait(10)
        assert other.value == 1
        assert not waiting.done()
        slow.go_on.set()
        assert waiting.result() == 1


def test_threads_that_ask_at_once_work_it_out_once() -> None:
    slow = Slow()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(lambda: slow.value) for _ in range(4)]
        assert slow.begun.wait(10)
        slow.go_on.set()
        assert [one.result() for one in asked] == [1, 1, 1, 1]
    assert slow.times == 1


def test_one_may_ask_for_another() -> None:
    slow = Slow()
    slow.go_on.set()
    assert (slow.twice, slow.value, slow.times) == (2, 1, 1)
    assert Slow.value.__doc__ == "What it is."


def test_what_failed_is_tried_again() -> None:
    failing = Failing()
    with pytest.raises(ValueError, match="not yet"):
        _ = failing.value
    assert (failing.value, failing.times) == (2, 2)
