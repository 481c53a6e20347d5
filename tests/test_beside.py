"""Copies of this process that compute beside it, and how often it looks for garbage."""

import gc
import os
import signal
import time

import pytest

from harness.common import collector
from harness.common.beside import beside


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr("harness.common.beside._can", lambda: hasattr(os, "fork"))


def test_a_copy_that_nobody_asks_is_ended(monkeypatch):
    made, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: made.append(fork()) or made[-1])
    asked = beside(lambda: time.sleep(100))
    os.kill(made[0], 0)
    del asked
    with pytest.raises(ProcessLookupError):
        os.kill(made[0], 0)


def test_the_result_comes_where_the_system_reaps_children():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert beside(lambda: b"x" * 10**6)() == b"x" * 10**6
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_the_choice_of_a_calling_program_stays():
    before = gc.get_threshold()
    try:
        gc.set_threshold(123, 4, 5)
        collector.as_usual()
        assert gc.get_threshold() == (123, 4, 5)
        collector.seldom()
        assert gc.get_threshold() == collector.SELDOM
        collector.as_usual()
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.set_threshold(*before)
