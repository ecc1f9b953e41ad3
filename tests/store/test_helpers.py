"""Work that is done beside other work."""

from __future__ import annotations

import threading

import pytest

from evigraph.store.helpers import Helpers


@pytest.fixture
def helpers() -> Helpers:
    return Helpers(1)


def test_work_goes_on_beside(helpers: Helpers) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        assert go_on.wait(10)
        return threading.current_thread().name

    with helpers.beside(work) as result:
        assert begun.wait(10)
        go_on.set()
        assert result() == result() != threading.current_thread().name


def test_what_no_helper_is_free_for_is_done_when_it_is_wanted(helpers: Helpers) -> None:
    go_on = threading.Event()
    done: list[str] = []
    with helpers.beside(lambda: go_on.wait(10)), helpers.beside(lambda: done.append("inner")) as inner:
        assert done == []
        inner()
        inner()
        assert done == ["inner"]
        go_on.set()
    # A helper is free again.
    with helpers.beside(threading.current_thread) as thread:
        assert thread() is not threading.current_thread()


def test_errors_come_out_where_the_result_is_wanted(helpers: Helpers) -> None:
    def fail() -> None:
        raise ValueError("no")

    for _ in range(3):
        with helpers.beside(fail) as result, pytest.raises(ValueError, match="no"):
            result()
    with helpers.beside(fail):
        pass  # nobody wanted to know


def test_nothing_is_left_running(helpers: Helpers) -> None:
    go_on = threading.Event()
    ended: list[bool] = []

    def work() -> None:
        ended.append(go_on.wait(10))

    timer = threading.Timer(0.1, go_on.set)
    with pytest.raises(KeyError), helpers.beside(work):
        timer.start()
        raise KeyError
    assert ended == [True]


def test_without_threads_work_is_done_by_who_asks() -> None:
    with Helpers(0).beside(threading.current_thread) as thread:
        assert thread() is threading.current_thread()


def test_closed_helpers_leave_the_work_to_who_asks(helpers: Helpers) -> None:
    helpers.close()
    with helpers.beside(threading.current_thread) as thread:
        assert thread() is threading.current_thread()
