"""Figures of sweeps: axes, panels and captions."""

import numpy as np
import pytest
from sweep_runs import BASE, BINS

from harness.evaluation.sweep_tables import SweepResults
from harness.figures import sweep_axis, sweep_plots
from harness.workflow.experiment import Experiment


def test_a_logarithmic_axis_where_values_span_decades():
    assert (
        sweep_axis.is_log([2, 200])
        and not sweep_axis.is_log([5, 20])
        and not sweep_axis.is_log([0, 100])
    )


def figure_of(out, *overrides):
    experiment = Experiment.of([*BASE, *overrides])
    experiment.compute(quiet=True)
    return figure_of_records(experiment)


def figure_of_records(experiment):
    return sweep_plots.render(
        SweepResults(experiment.plan), experiment.records.read(), experiment.settings
    )


def test_no_line_connects_names(out):
    """Calibrators have no order. Numbers have one."""
    names = "sweep.estimator.variational_isotonic.calibrator=[isotonic,temperature]"
    numbers = "sweep.estimator.variational_isotonic.folds=[2,3]"
    for sweep, is_connected in ((names, False), (numbers, True)):
        words = ["problem=beta_overconfident", "estimator=[variational_isotonic]", "n=60"]
        experiment = Experiment.of([*words, "reps=2", "jobs=1", sweep])
        experiment.compute(quiet=True)
        figure = figure_of_records(experiment)
        drawn = [container[0] for ax in figure.axes for container in ax.containers]
        drawn += [line for line in figure.axes[-1].lines if line.get_marker() not in (None, "None")]
        assert len(drawn) > 1
        assert all((line.get_linestyle() not in ("None", "none")) == is_connected for line in drawn)


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
    problems = ["beta_calibrated", "beta_overconfident, a = 1", "beta_overconfident, a = 2"]
    assert titles == [*problems, "CPU time, a = 1", "CPU time, a = 2"]


def test_files_of_different_sizes_have_a_panel_each(out, tmp_path):
    """Each file has its own n, so a grid of problems by sizes would have empty panels."""
    rng = np.random.default_rng(0)
    for name, size in (("a", 60), ("b", 80), ("c", 90)):
        p = rng.uniform(0.01, 0.99, size)
        np.savez(tmp_path / f"{name}.npz", p=p, y=rng.random(size) < p)
    files = [
        f"+problem.{name}={{_target_: harness.problems.Predictions, path: {tmp_path}/{name}.npz}}"
        for name in "abc"
    ]
    experiment = Experiment.of(
        ["problem=[]", *files, "estimator=[binned15]", BINS, "bootstrap=0", "jobs=1", f"out={out}"]
    )
    experiment.compute(quiet=True)
    figure = figure_of_records(experiment)
    titles = [ax.get_title() for ax in figure.axes if ax.get_visible()]
    assert titles == ["a, n = 60", "b, n = 80", "c, n = 90", "CPU time"]


def test_paired_parameters_share_the_x_axis(out):
    figure = figure_of(
        out,
        "sweep.zip.estimator.binned15.bins=[5,10]",
        "sweep.zip.estimator.binned15.rule=[width,mass]",
    )
    titles = [ax.get_title() for ax in figure.axes if ax.get_visible()]
    assert titles == ["beta_calibrated, n = 60", "beta_overconfident, n = 60", "CPU time, n = 60"]
    assert figure.axes[-1].get_xlabel() == "bins (together with rule)"
