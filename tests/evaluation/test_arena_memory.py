"""Peak memory of one call in a process of its own, and its column on the page."""

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.common.paths import CHECKOUT
from harness.evaluation.arena import memory as arena_memory

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import peak_memory  # noqa: E402
from peak_memory import measure_peak  # noqa: E402

MB = 1_000_000


def busy():
    while True:
        pass


# Arrays above 32 MB are always mapped afresh. glibc may take smaller ones from memory that the
# process has freed before, which is resident already.
def fill(size):
    return lambda: np.ones(size // 8).sum()


def in_a_new_process(function):
    """Return function() of a new process, whose allocator no other test has used."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function).result()


def peaks_of_two_sizes():
    before = np.ones(200 * MB // 8)  # this process's own past, larger than the call
    assert before[0] == 1.0
    return [measure_peak(fill(size)).mb for size in (40 * MB, 80 * MB)]


def test_the_peak_is_that_of_the_call_alone():
    result = in_a_new_process(peaks_of_two_sizes)
    assert result[0] == pytest.approx(40, abs=5) and result[1] == pytest.approx(80, abs=5)
    assert result[1] - result[0] == pytest.approx(40, abs=4)


def two():
    fill(40 * MB)()
    fill(40 * MB)()


def peaks_after_a_call():
    return measure_peak(two).mb, measure_peak(lambda: None, first=fill(50 * MB)).mb


def test_memory_that_is_freed_before_another_call_is_not_counted_twice():
    twice, nothing = in_a_new_process(peaks_after_a_call)
    assert twice == pytest.approx(40, abs=5) and nothing < 5


def test_without_the_kernels_mark(monkeypatch, tmp_path):
    monkeypatch.setattr(peak_memory, "CLEAR", tmp_path / "absent" / "clear_refs")
    block = np.ones(80 * MB // 8)
    assert block[0] == 1.0
    result = measure_peak(fill(40 * MB))
    # The system decides how much of the parent's past the mark holds.
    # The result is the call's own peak, less, or no value, but never more.
    assert result.method == "ru_maxrss" and (result.mb is None and result.reason or result.mb < 46)
    small = measure_peak(fill(MB), first=fill(90 * MB))
    assert small.mb is None and "stays below" in small.reason


@pytest.mark.slow
def test_no_value_has_a_reason():
    assert "ValueError: no" in measure_peak(lambda: (_ for _ in ()).throw(ValueError("no"))).reason
    assert "exit code 3" in measure_peak(lambda: os._exit(3)).reason
    assert "more than 0.2 CPU seconds" in measure_peak(busy, seconds=0.2).reason


def test_what_the_page_shows(tmp_path):
    rows = [
        ("a", "canonical", 5000, 10, "12.4", "VmHWM", ""),
        ("b", "canonical", 5000, 10, "", "", "no canonical notion"),
    ]
    pd.DataFrame(rows, columns=[*arena_memory.KEYS, "peak_mb", "method", "reason"]).to_csv(
        tmp_path / "memory.csv", index=False
    )
    measured = arena_memory.read(tmp_path)
    texts = arena_memory.format_peaks(measured, "canonical", ["a", "b", "c"])
    assert texts["n = 5,000, k = 10"].to_dict() == {"a": "12", "b": "–", "c": "–"}
    assert arena_memory.format_peaks(measured, "binary", ["a"]).shape == (1, 0)
    table = pd.DataFrame(
        {
            "estimator": ["a", "a"],
            "notion": "canonical",
            "n": [5000, 200],
            "k": 10,
            "peak_mb": 900.0,
        }
    )
    joined = arena_memory.add_peaks(table, measured)["peak_mb"]
    assert joined[0] == 12.4 and np.isnan(
        joined[1]
    )  # no worker's high-water mark where nothing was measured


def test_every_estimator_of_the_leaderboards_was_measured_or_says_why_not():
    folder = CHECKOUT / "results" / "arena"
    measured, board = arena_memory.read(folder), pd.read_csv(folder / "index.csv")
    assert set(measured["estimator"]) >= set(board["estimator"])
    assert {(5000, 2), (5000, 10), (1000, 100)} == set(zip(measured["n"], measured["k"]))
    assert (measured["peak_mb"].notna() != measured["reason"].ne("")).all()
