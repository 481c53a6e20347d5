"""profile=true: where the time of a run goes."""

import csv
import time

import pytest

from harness.commands.app import main
from harness.execute import profile


def busy(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass


def test_stages_and_chunks_add_up_to_the_cpu_time():
    """A chunk of this process is no part of the stage compute, and one of another process is added to all."""
    chunk = {("estimate", "one"): [2, 0.04], ("cells", ""): [1, 0.01]}
    with profile.of_run() as run:
        with profile.stage("compute"):
            busy(0.2)
            profile.add(chunk, is_here=True)
            profile.add(chunk, is_here=False)
        spent = time.process_time()
        rows = run.table().set_index(["stage", "of"])
    assert rows.loc[("estimate", "one"), ["times", "cpu_seconds"]].tolist() == [4, 0.08]
    assert (
        rows.loc[("compute", ""), "times"] == 1 and rows.loc[("compute", ""), "cpu_seconds"] >= 0.15
    )
    assert rows["cpu_seconds"].sum() == pytest.approx(spent + 0.05, abs=0.1)
    assert rows["share"].sum() == pytest.approx(1.0, abs=0.01)
    assert "estimate one" in " ".join(profile.text(run.table()).split())


def test_nothing_is_counted_without_a_profile():
    with profile.stage("compute"):
        profile.add({("cells", ""): [1, 1.0]}, is_here=False)
    with profile.of_run() as run:
        pass
    assert set(run.times) == set()


@pytest.mark.parametrize("given", ["profile=true", "profile=True", "++profile=true"])
def test_several_jobs_have_no_common_profile(given, capsys):
    assert main(["-m", "experiment=smoke", given, "reps=1,2"]) == 2
    assert "profile=true is of one run" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["serial", "loky"])
def test_a_run_says_where_its_time_went(engine, tmp_path, capsys):
    cells = [
        "problem=beta_wavy",
        "estimator=[binned15,ckce]",
        "n=200",
        "reps=6",
        f"engine={engine}",
        "name=it",
    ]
    assert main([*cells, "jobs=2", "profile=true", f"out={tmp_path}"]) == 0
    said = capsys.readouterr().out
    (table,) = tmp_path.rglob("*_profile.csv")
    with table.open() as file:
        rows = {(row["stage"], row["of"]): row for row in csv.DictReader(file)}
    assert int(rows["estimate", "ckce"]["times"]) == int(rows["estimate", "binned15"]["times"]) == 6
    assert ("draw", "beta_wavy") in rows and float(rows["figures", ""]["cpu_seconds"]) > 0
    assert "estimate ckce" in " ".join(said.split()) and "it_profile.csv" in said
    assert main([*cells, f"out={tmp_path}"]) == 0 and "12 done before" in capsys.readouterr().out
