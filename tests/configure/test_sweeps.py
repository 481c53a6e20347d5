"""Sweeps by -m and by sweep.*: one table, one figure, nothing overwritten or computed twice."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from harness.commands import drawing, multirun
from harness.commands.experiment import Experiment
from harness.common.progress import Progress
from harness.configure import sweeps
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.evaluation.sweep_tables import SweepResults
from harness.execute import engines
from harness.figures import sweep_plots
from harness.plan.plan import plan

PAIR = "problem=[beta_calibrated,beta_overconfident]"
BASE = ("experiment=smoke", PAIR, "estimator=[binned15,oracle]", "n=[60]", "reps=2", "jobs=1")
BINS = "sweep.estimator.binned15.bins=[5,10]"


def test_paths_and_points():
    tree = {
        "estimator": {"binned15": {"bins": [5, 10]}},
        "seed": [0, 1],
        "problem": {"x": {"map": {"_target_": "a.B"}, "a": 1}},
    }
    assert sweeps.flatten(tree) == {
        "estimator.binned15.bins": [5, 10],
        "seed": [0, 1],
        "problem.x.map": [{"_target_": "a.B"}],
        "problem.x.a": [1],
    }
    settings = compose([*BASE, BINS, "sweep.seed=[0,1]"])
    result = sweeps.points(settings)
    assert [values["estimator.binned15.bins"] for values, _ in result] == [5, 5, 10, 10]
    assert [c.estimator["binned15"]["bins"] for _, c in result] == [5, 5, 10, 10]
    assert settings.estimator["binned15"]["bins"] == 15


def test_words_are_as_short_as_they_can_be():
    assert sweeps.short_names(["estimator.a.bins", "seed"]) == {
        "estimator.a.bins": "bins",
        "seed": "seed",
    }
    two = ["estimator.a.bins", "estimator.b.bins", "problem.a.a"]
    assert sweeps.short_names(two) == {two[0]: "a.bins", two[1]: "b.bins", two[2]: "a"}
    column = "problem.a.notion"  # which the table has already
    assert sweeps.short_names([column]) == {column: "a.notion"}


def test_one_plan_holds_every_cell_once_under_names_that_say_what_was_swept():
    whole = plan(compose([*BASE, BINS, "sweep.problem.beta_overconfident.a=[0.5,2]"]))
    assert list(whole.estimators) == ["binned15 (bins=5)", "oracle", "binned15 (bins=10)"]
    assert set(whole.problems) == {
        "beta_calibrated",
        "beta_overconfident (a=0.5)",
        "beta_overconfident (a=2)",
    }
    assert (
        len(whole.cells) == len({c.key for c in whole.cells}) == 3 * 3 * 2
    )  # problems x estimators x reps
    points = [
        (f"estimator.binned15.bins={b}", f"+problem.beta_overconfident.a={a}")
        for b in (5, 10)
        for a in (0.5, 2)
    ]
    apart = [plan(compose([*BASE, *point])) for point in points]
    assert {c.key for single in apart for c in single.cells} == {c.key for c in whole.cells}


def test_seeds_are_of_the_cell():
    whole = plan(compose([*BASE, "sweep.seed=[3,4]"]))
    for seed in (3, 4):
        alone = plan(compose([*BASE, f"seed={seed}"]))
        assert {c.key for c in whole.cells if c.seed == seed} == {c.key for c in alone.cells}


def test_a_table_of_many_points_is_evaluated_once(out, monkeypatch):
    """Once per point took ten minutes for 2,000 points."""
    from harness.evaluation import sweep_tables, tables

    result = Experiment.of(
        [
            *BASE,
            f"sweep.estimator.binned15.bins={list(range(2, 32))}",
            f"out={out}",
            "problem=[beta_wavy]",
        ]
    )
    result.compute(quiet=True)
    frame, calls, plain = result.records(), [], tables.evaluate
    for module in (tables, sweep_tables):
        monkeypatch.setattr(module, "evaluate", lambda *a, **k: calls.append(a) or plain(*a, **k))
    assert len(drawing.wide_table(result, frame)) == 30 and len(calls) == 1
    rows = SweepResults(result.plan).rows(frame, result.shown_settings())
    assert rows["bins"].nunique() == 30 and len(calls) == 2


@pytest.mark.slow
def test_a_search_does_not_prefer_values_for_which_hard_cells_have_no_number(out):
    result = Experiment.of([*BASE, f"out={out}"])
    assert result.compute(quiet=True) and 0 < drawing.mean_rmse(result) < 1
    run = [*BASE, "estimator=[binned15,kde]", "n=[1,60]", f"out={out}"]
    some = Experiment.of(run)
    some.compute(quiet=True)
    assert some.records()["status"].isin(["failed", "undefined"]).any() and drawing.mean_rmse(
        some
    ) == float("inf")


def test_values_that_differ_in_late_digits_are_apart(out):
    """Workers know components by their names: two of one name would give wrong numbers."""
    a = [0.50000001, 0.50000002]
    result = Experiment.of(
        [*BASE, f"sweep.problem.beta_overconfident.a={a}", "estimator=[binned15]", f"out={out}"]
    )
    assert {f"beta_overconfident (a={value})" for value in a} <= set(result.plan.problems)
    result.compute(quiet=True)
    frame = result.records()
    planned = {c.key: result.plan.problems[c.problem].key for c in result.plan.cells}
    assert (
        frame["problem_key"].tolist() == frame["key"].map(planned).tolist()
        and frame["problem_key"].nunique() == 3
    )


def test_numbers_of_resamples_are_apart(out, tmp_path):
    file = tmp_path / "preds.npz"
    np.savez(file, p=np.linspace(0.02, 0.98, 60), y=np.arange(60) % 3 == 0)
    base = (
        "problem=predictions",
        f"problem.predictions.path={file}",
        "estimator=[binned15]",
        "jobs=1",
        f"out={out}",
    )
    result = Experiment.of([*base, "sweep.bootstrap=[0,20,40]"])
    assert list(result.plan.estimators) == [
        "binned15",
        "binned15 (20 resamples)",
        "binned15 (40 resamples)",
    ]
    result.compute(quiet=True)
    frame = result.records()
    planned = {c.key: result.plan.estimators[c.estimator].key for c in result.plan.cells}
    assert (
        frame["estimator_key"].tolist() == frame["key"].map(planned).tolist()
        and frame["estimator_key"].nunique() == 3
    )


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
    alone = Experiment.of([*BASE, "estimator.binned15.bins=5"]).records()
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
        not single.is_sweep
        and not other.is_sweep
        and [single.name, other.name] == ["smoke", "ranking_dirichlet10"]
    )
    (sizes,) = multirun.results([*BASE, "n=50,[60,70]", "reps=2,4"])
    assert sizes.settings.n == [50, 60, 70] and sizes.settings.reps == 4 and not sizes.is_sweep
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


def test_a_logarithmic_axis_where_values_span_decades():
    assert (
        sweep_plots.is_log([2, 200])
        and not sweep_plots.is_log([5, 20])
        and not sweep_plots.is_log([0, 100])
    )


def figure_of(out, *overrides):
    experiment = Experiment.of([*BASE, *overrides])
    experiment.compute(quiet=True)
    return sweep_plots.render(
        SweepResults(experiment.plan), experiment.records(), experiment.shown_settings()
    )


def test_the_figure_has_the_parameter_on_its_axis(out):
    figure = figure_of(out, "sweep.estimator.binned15.bins=[2,20,200]")
    first, cost = figure.axes[0], figure.axes[-1]
    assert (
        cost.get_xlabel() == "bins"
        and cost.get_xscale() == "log"
        and "CPU time" in cost.get_ylabel()
    )
    assert "calibration error" in first.get_ylabel()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[:3] == ["true value", "binned15", "oracle"]
    line = next(c for c in first.containers if c.get_label() == "binned15")
    assert list(line[0].get_xdata()) == [2, 20, 200]


@pytest.mark.slow
def test_the_figure_says_what_it_draws(out):
    """The caption describes only the figure. Each estimand has its own panel."""
    lines = figure_of(out, "sweep.estimator.binned15.bins=[2,20]", "estimand=[l1,l2_squared]")
    caption = lines.get_label()
    assert caption.startswith(
        "Estimates against bins. Mean over 2 replications; bars: one standard error."
    )
    assert (
        "Dotted levels: estimators that bins does not change." in caption
        and "Dashed line: the true value." in caption
    )
    assert not any(
        word in caption.lower() for word in ("root mean", "interval", "lower bound", "file")
    )
    names = [ax.get_ylabel().split()[0] for ax in lines.axes if ax.get_ylabel()]
    assert names == ["$L_1$", "$L_1$", "squared", "squared", "CPU"]
    alone = figure_of(
        out, "sweep.estimator.binned15.bins=[2,20]", "figure.estimators=[binned15]", "reps=1"
    ).get_label()
    assert (
        "Dotted" not in alone
        and "One replication, so there are no error bars." in alone
        and "replications)" not in alone
    )


def test_the_table_has_every_estimator_at_every_value(out):
    """A parameter that does not bear on a problem is 'all' in its rows."""
    experiment = Experiment.of([*BASE, BINS, "sweep.problem.beta_overconfident.a=[0.5,2]"])
    experiment.compute(quiet=True)
    table = drawing.wide_table(experiment, experiment.records())
    assert table.index.names == ["problem", "n", "bins", "a"] and list(table.columns) == [
        "truth",
        "binned15",
        "oracle",
    ]
    calibrated, overconfident = (table.xs(problem) for problem in PAIR[9:-1].split(","))
    assert (
        list(calibrated.index) == [(60, "5", "all"), (60, "10", "all")]
        and calibrated["oracle"].nunique() == 1
    )
    assert list(overconfident.index) == [(60, b, a) for b in ("5", "10") for a in ("0.5", "2")]
    assert overconfident["binned15"].nunique() == 4 and overconfident["oracle"].nunique() == 2
    assert table.map(lambda text: any(c.isdigit() for c in text)).all(axis=None)


@pytest.mark.slow
def test_names_and_two_parameters_have_their_figures(out):
    figure = figure_of(out, "sweep.estimator.binned15.rule=[width,mass]")
    assert [tick.get_text() for tick in figure.axes[-1].get_xticklabels()] == ["width", "mass"]
    panels = figure_of(out, BINS, "sweep.estimator.binned15.rule=[width,mass]")
    assert "rule = width" in panels.axes[0].get_title() and len(panels.axes) == 2 * 3
    bins, a = ("sweep.estimator.binned15.bins", "sweep.problem.beta_overconfident.a")
    lines = figure_of(out, f"{bins}=[2,3,4,5,6]", f"{a}=[1,2,3,4,5]")
    assert "binned15 (a=5)" in {text.get_text() for text in lines.legends[0].get_texts()}


def test_a_problem_that_a_parameter_does_not_change_is_drawn_once(out):
    figure = figure_of(
        out, "sweep.estimator.binned15.bins=[5,10,20]", "sweep.problem.beta_overconfident.a=[1,2]"
    )
    titles = [ax.get_title() for ax in figure.axes if ax.get_visible() and ax.get_title()]
    assert titles == ["beta_calibrated", "beta_overconfident, a = 1", "beta_overconfident, a = 2"]


def test_values_that_make_the_same_cells_are_refused_whatever_else_is_swept(tmp_path):
    for name in ("first.csv", "copy.csv", "other.csv"):
        (tmp_path / name).write_text(f"p,y\n0.2,0\n0.7,1\n0.4,{int(name == 'other.csv')}\n")
    run = [
        "problem=predictions",
        f"problem.predictions.path={tmp_path}/first.csv",
        "estimator=binned15",
        "reps=1",
    ]
    both = "sweep.problem.predictions.path=[{0}/first.csv,{0}/{1}]".format
    with pytest.raises(BadInputError, match="path is swept, but it changes no cell"):
        plan(compose([*run, both(tmp_path, "copy.csv"), "sweep.seed=[0,1]"]))
    assert len(plan(compose([*run, both(tmp_path, "other.csv"), "sweep.seed=[0,1]"])).points) == 4


def test_progress_expects_what_records_say():
    """If half of the work took twice as long as expected, so will the rest."""
    progress = Progress(10, quiet=True, expected=100.0)
    progress.add(5, 0, seconds=50.0)
    left = progress.left(100.0)
    assert left == pytest.approx(50 * 102 / 52)
    assert Progress(10, quiet=True, expected=8.0).left(0.0) == 8.0
    blind = Progress(10, quiet=True)
    blind.add(2, 0)
    assert blind.left(3.0) == pytest.approx(12.0)


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
    near = SweepResults(here.plan).summary(here.records(), here.shown_settings())
    columns = ["bins", "problem", "estimator", "estimand", "mean"]
    a, b = (
        frame[columns].sort_values(columns[:4]).reset_index(drop=True)
        for frame in (pd.read_csv(far), near)
    )
    assert far.parent.name == here.stem
    assert a["mean"].tolist() == [float(f"{mean:.10g}") for mean in b["mean"]]  # as a CSV has them
