"""Sweeps by -m and by sweep.* give one table and one figure; nothing is computed twice."""

import subprocess
import sys

import pandas as pd
import pytest
from sweep_runs import BASE, BINS

from harness.evaluation.sweep_tables import SweepResults
from harness.execute import engines
from harness.workflow import multirun
from harness.workflow.experiment import Experiment


def test_a_sweep_in_one_run(cli, out):
    code, text, _ = cli("plan", *BASE, BINS)
    assert (
        code == 0
        and "binned15 (bins=5)" in text
        and "12 cells: 0 done" in text
        and not out.exists()
    )
    code, text, _ = cli(*BASE, BINS, "name=mine")
    assert code == 0 and "12 cells, 0 done before, 12 computed" in text
    table = pd.read_csv(out / "sweeps" / "mine" / "mine.csv")
    swept = table[table["estimator"].eq("binned15") & table["estimand"].eq("l1")]
    assert (
        sorted(swept["bins"]) == [5, 5, 10, 10]
        and table.loc[table["estimator"].eq("oracle"), "bins"].isna().all()
    )
    for end in (".png", ".svg", ".html", ".tex"):
        assert (out / "sweeps" / "mine" / f"mine{end}").stat().st_size > 100
    assert "0 computed" in cli(*BASE, BINS, "name=mine")[1]
    (bins5,) = swept.loc[swept["bins"].eq(5) & swept["problem"].eq("beta_calibrated"), "mean"]
    alone = Experiment.of([*BASE, "estimator.binned15.bins=5"]).records.read()
    own_rows = alone[
        alone["estimator"].eq("binned15")
        & alone["estimand"].eq("l1")
        & alone["problem"].eq("beta_calibrated")
    ]
    assert (
        f"{bins5:.10g}" == f"{own_rows['value'].mean():.10g}" and len(own_rows) == 2
    )  # the file has ten digits


@pytest.mark.slow
def test_multirun_and_one_run_are_the_same_sweep(cli, out):
    """The multirun and the single run have the same cells and the same folder."""
    code, text, _ = cli("-m", *BASE, "estimator.binned15.bins=5,10", "seed=0,1")
    assert (
        code == 0
        and "job 4 of 4 (estimator.binned15.bins=10, seed=1)" in text
        and text.count("page ") == 1
    )
    (folder,) = (out / "sweeps").iterdir()
    assert "0 computed" in cli(*BASE, BINS, "sweep.seed=[0,1]")[1] and list(
        (out / "sweeps").iterdir()
    ) == [folder]
    table = pd.read_csv(folder / f"{folder.name}.csv")
    assert {"bins", "seed"} <= set(table) and len(
        table[table["estimator"].eq("binned15") & table["estimand"].eq("l1")]
    ) == 8
    code, text, _ = cli("plan", "-m", *BASE, "estimator.binned15.bins=5,10", "seed=0,1")
    assert code == 0 and "0 to do" in text


@pytest.mark.slow
def test_new_parameters_are_swept_with_a_plus(cli, out):
    code, _, _ = cli("-m", *BASE, "+problem.beta_overconfident.a=0.5,2", "name=shapes")
    table = pd.read_csv(out / "sweeps" / "shapes" / "shapes.csv")
    rows = table[table["problem"].eq("beta_overconfident") & table["estimand"].eq("l1")]
    assert code == 0 and sorted(rows["a"].unique()) == [0.5, 2.0] and rows["truth"].nunique() == 2


@pytest.mark.slow
def test_experiments_and_sizes_by_multirun_are_results_not_sweeps(out):
    single, other = multirun.results(["experiment=smoke,ranking_dirichlet10", "seed=0"])
    assert (
        not single.identity.is_sweep
        and not other.identity.is_sweep
        and [single.settings.name, other.settings.name] == ["smoke", "ranking_dirichlet10"]
    )
    (sizes,) = multirun.results([*BASE, "n=50,[60,70]", "reps=2,4"])
    assert (
        sizes.settings.n == [50, 60, 70]
        and sizes.settings.reps == 4
        and not sizes.identity.is_sweep
    )
    (groups,) = multirun.results(
        ["experiment=smoke", "problem=beta_calibrated,beta_wavy", "estimator=binned15"]
    )
    assert set(groups.plan.problems) == {"beta_calibrated", "beta_wavy"}


@pytest.mark.slow
def test_an_interrupted_multirun_goes_on(cli, out, monkeypatch):
    """Ctrl-C in the second job prevents the third job. The same command resumes."""
    connected, calls = engines.connected, []

    def stops(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return connected(*arguments, **options)

    monkeypatch.setattr(engines, "connected", stops)
    command = ("-m", *BASE, "estimator.binned15.bins=5,10,20")
    code, _, err = cli(*command)
    assert (
        code == 130
        and len(calls) == 2
        and "resumes the run" in err
        and not (out / "sweeps").exists()
    )
    code, text, _ = cli(*command)
    assert (
        code == 0
        and "job 1 of 3" in text
        and "8 done before, 0 computed" in text
        and (out / "sweeps").is_dir()
    )


@pytest.mark.slow
def test_jobs_in_other_processes_add_up_to_the_same(out, tmp_path):
    """Hydra's joblib launcher runs the jobs in other processes. The main process draws."""
    options = [
        "engine=serial",
        "hydra/launcher=joblib",
        "estimator.binned15.bins=5,10",
        f"out={tmp_path / 'far'}",
    ]
    command = [sys.executable, "-m", "harness", "-m", *BASE, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (far,) = (tmp_path / "far" / "sweeps").glob("*/*.csv")
    here = Experiment.of([*BASE, BINS])
    here.compute(quiet=True)
    near = SweepResults(here.plan).summary(here.records.read(), here.settings)
    columns = ["bins", "problem", "estimator", "estimand", "mean"]
    a, b = (
        frame[columns].sort_values(columns[:4]).reset_index(drop=True)
        for frame in (pd.read_csv(far), near)
    )
    assert far.parent.name == here.identity.stem
    assert a["mean"].tolist() == [float(f"{mean:.10g}") for mean in b["mean"]]  # as a CSV has them
