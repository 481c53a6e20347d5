"""profile=true: CPU seconds of a run by stage and estimator."""

import csv

import pytest

from harness.commands.app import main


@pytest.mark.parametrize("given", ["profile=true", "profile=True", "++profile=true"])
def test_several_jobs_have_no_common_profile(given, capsys):
    assert main(["-m", "experiment=smoke", given, "reps=1,2"]) == 2
    assert "profile=true works for a single run only" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["serial", pytest.param("loky", marks=pytest.mark.slow)])
def test_table_of_a_run(engine, tmp_path, capsys):
    """The second run computes no cells, and its table has no estimators."""
    cells = ["problem=beta_wavy", "estimator=[binned15,ckce]", "n=200", "reps=6", "name=it"]
    run = [*cells, f"engine={engine}", "jobs=2", "profile=true", f"out={tmp_path}"]
    for computed in (True, False):
        assert main(run) == 0
        text = capsys.readouterr().out
        (table,) = tmp_path.rglob("*_profile.csv")
        with table.open() as file:
            rows = {(row["stage"], row["of"]): row for row in csv.DictReader(file)}
        assert float(rows["figures", ""]["cpu_seconds"]) > 0 and ("start", "") in rows
        assert (("estimate", "ckce") in rows) == computed and "it_profile.csv" in text
        if computed:
            assert int(rows["estimate", "ckce"]["times"]) == 6
            assert "estimate ckce" in " ".join(text.split())
