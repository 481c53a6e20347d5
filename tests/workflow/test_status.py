"""Cells that are to do, counted while other processes compute them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from harness.records import provenance
from harness.workflow import status
from harness.workflow.experiment import Experiment

RUN = ["experiment=smoke", "n=50", "reps=2", "jobs=1"]


def counts(text, name):
    """Return the numbers in the row of a component: to do, ok, failed, skipped, ..."""
    line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
    return [int(word.replace(",", "")) for word in line.split()[1:]]


def start(out, shard="shard=0"):
    """Start a run of half of the cells that computes nothing, as if its process were killed."""
    experiment = Experiment.of([*RUN, "shards=1", shard])
    return provenance.start(
        out,
        experiment.settings,
        {"cells": 48, "todo": 5},
        {"estimator": {"binned15": 5}, "problem": {"beta_calibrated": 2, "beta_overconfident": 3}},
    )


def test_cells_to_do_are_those_without_a_record(out):
    run_id = start(out)
    text = status.status_text(out)
    assert counts(text, "binned15")[0] == 5 and counts(text, "beta_overconfident")[0] == 3
    assert f"run {run_id}: smoke, 5 cells, running, 5 to do" in text
    Experiment.of(RUN).compute(quiet=True)  # it resumes the run
    text = status.status_text(out)
    assert counts(text, "binned15")[:2] == [0, 4] and "to do\n" not in text


def test_of_runs_that_start_in_the_same_second_the_later_one_counts(out):
    runs = [start(out) for _ in range(10)]
    assert runs == sorted(runs)
    text = status.status_text(out)
    assert counts(text, "binned15")[0] == 5 and text.count(", 5 to do") == 1


def test_watching_an_empty_folder_waits_for_the_first_run(out, monkeypatch):
    shown, started = [], []
    monkeypatch.setattr(status, "WATCH_SECONDS", 0.01)

    def show(text):
        shown.append(text)
        if len(shown) == 1:
            started.append(start(out))
        elif len(shown) == 2:
            provenance.finish(out, started[0], "finished", 1.0)

    status.watch(out, show)
    assert "no records yet" in shown[0] and "running" in shown[1] and "finished" in shown[2]


@pytest.mark.slow
def test_a_run_in_another_process_is_watched(out):
    """Ctrl-C ends the look with a sentence. The run goes on."""
    environment = {**os.environ, "CALHARNESS_OUT": str(out)}
    start(out)
    code = (
        "import signal, sys; from harness.commands.app import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # jobs in the background
        "sys.exit(main(['status', '--watch']))"  # ignore it
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True) as process:
        while "to do" not in process.stdout.readline():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        try:
            text, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0 and not errors
    assert text.endswith("the runs go on\n")
