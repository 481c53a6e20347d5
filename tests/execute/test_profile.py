"""profile=true: where the time of a run goes."""

import csv
import os
import time

import pytest

from harness.commands.app import main
from harness.execute import profile


def busy(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


def test_a_stage_counts_by_itself(tmp_path):
    """What is entered within a stage counts there, and all of it adds up to the CPU time of the process."""
    start = time.process_time()
    with profile.of_run(tmp_path) as made:
        before = time.process_time()
        with profile.stage("compute"):
            busy(0.05)
            for _ in range(2):
                with profile.stage("estimate", "one"):
                    busy(0.05)
        spent = time.process_time() - before
    seconds = {(row["stage"], row["of"]): row["cpu_seconds"] for row in made.rows()}
    times = {(row["stage"], row["of"]): row["times"] for row in made.rows()}
    assert times["estimate", "one"] == 2 and times["compute", ""] == 1
    assert seconds["compute", ""] >= 0.05 and seconds["estimate", "one"] >= 0.1
    assert seconds["compute", ""] + seconds["estimate", "one"] <= spent
    assert seconds["start", ""] >= start  # all that this process did before
    assert sum(row["share"] for row in made.rows()) == pytest.approx(1.0)


def test_nothing_is_counted_without_a_profile():
    with profile.stage("estimate", "one"):
        pass
    assert profile.folder() is None


def test_what_a_worker_did_comes_back(tmp_path):
    """A process that is not the driver's leaves its account in the folder, which is gone once it is read."""
    with profile.of_run(tmp_path) as made:
        child = os.fork()
        if child == 0:
            with profile.of_worker(profile.folder()), profile.stage("draw", "wavy"):
                busy(0.03)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    (row,) = [row for row in made.rows() if row["stage"] == "draw"]
    assert row["of"] == "wavy" and row["times"] == 1 and row["cpu_seconds"] >= 0.03
    assert not list(tmp_path.iterdir())


def test_a_run_that_ends_early_leaves_no_accounts(tmp_path):
    with pytest.raises(KeyboardInterrupt), profile.of_run(tmp_path) as made:
        made.save()
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_an_account_that_cannot_be_written_ends_no_chunk(tmp_path):
    (tmp_path / "file").write_text("")
    with profile.of_worker(str(tmp_path / "file" / "below")):
        pass


@pytest.mark.parametrize("given", ["profile=true", "profile=True", "++profile=true"])
def test_several_jobs_have_no_common_profile(given, capsys):
    assert main(["-m", "experiment=smoke", given, "reps=1,2"]) == 2
    assert "profile=true is of one run" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["serial", "loky"])
def test_a_run_says_where_its_time_went(engine, tmp_path, capsys):
    cells = ["problem=beta_wavy", "estimator=[binned15,ckce]", "n=200", "reps=6", f"engine={engine}", "name=it"]
    assert main([*cells, "jobs=2", "profile=true", f"out={tmp_path}"]) == 0
    said = capsys.readouterr().out
    (table,) = tmp_path.rglob("*_profile.csv")
    with table.open() as file:
        rows = {(row["stage"], row["of"]): row for row in csv.DictReader(file)}
    assert int(rows["estimate", "ckce"]["times"]) == int(rows["estimate", "binned15"]["times"]) == 6
    assert ("draw", "beta_wavy") in rows and float(rows["figures", ""]["cpu_seconds"]) > 0
    assert "estimate ckce" in said and "it_profile.csv" in said
    assert not (tmp_path / "profiles").exists()
    assert main([*cells, f"out={tmp_path}"]) == 0 and "12 done before" in capsys.readouterr().out
