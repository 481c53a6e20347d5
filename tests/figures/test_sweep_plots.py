"""Figures of sweeps: axes, panels and captions."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from sweep_runs import BASE, BINS

from harness.evaluation.sweep_tables import SweepResults
from harness.figures import figure_files, sweep_axis, sweep_plots
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
    assert "Dotted levels" in lines.get_label()
    names = [ax.get_ylabel().split()[0] for ax in lines.axes if ax.get_ylabel()]
    assert names == ["$L_1$", "$L_1$", "squared", "squared", "CPU"]
    alone = figure_of(
        out, "sweep.estimator.binned15.bins=[2,20]", "figure.estimators=[binned15]", "reps=1"
    ).get_label()
    assert "Dotted" not in alone


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


CALIBRATORS = "[isotonic,temperature,HistogramBinning,MatrixScaling,StructuredMatrixScaling]"
POWERS = "[1,10,100,1000,20000,100000]"


def visible_labels(ax):
    return [t for t in ax.get_xticklabels() if t.get_visible() and t.get_text()]


@pytest.mark.parametrize(
    ("sweep", "font"),
    [
        (f"sweep.estimator.variational_isotonic.calibrator={CALIBRATORS}", 8),
        (f"sweep.estimator.variational_isotonic.calibrator={CALIBRATORS}", 11),
        (f"sweep.estimator.binned15.bins={POWERS}", 8),
        (f"sweep.estimator.binned15.bins={POWERS}", 14),
        ("sweep.estimator.binned15.bins=[5,6,7,8,9,10,11,12,100,1000]", 8),
    ],
)
def test_labels_of_ticks_do_not_overlap(out, tmp_path, sweep, font):
    words = ["problem=beta_overconfident", "estimator=[variational_isotonic,binned15]", "jobs=1"]
    sizes = ["n=[60,70,80,90]", "reps=1", f"figure.font={font}"]
    experiment = Experiment.of([*words, *sizes, sweep])
    experiment.compute(quiet=True)
    figure = figure_of_records(experiment)
    figure_files.save(figure, tmp_path / "sweep", experiment.settings)
    figure.set_dpi(200)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    boxes = []
    for ax in figure.axes:
        labels = visible_labels(ax)
        row = [label.get_window_extent(renderer) for label in labels]
        assert all(not a.overlaps(b) for a, b in zip(row, row[1:])), sweep
        boxes += [*row, ax.xaxis.label.get_window_extent(renderer)]
    assert min(box.y0 for box in boxes if box.height > 1.0) >= 0.0
    last = visible_labels(figure.axes[-1])[-1].get_text()
    assert last in ("StructuredMatrixScaling", "$10^{5}$", "1000")


def test_integers_have_no_fractional_ticks(out):
    figure = figure_of(out, "sweep.seed=[0,1,2,3,4,5,6,7]")
    figure.draw_without_rendering()
    texts = [label.get_text() for label in visible_labels(figure.axes[-1])]
    assert texts and all(text.strip("−").isdigit() for text in texts)


def test_the_first_and_the_last_label_are_kept():
    centres, widths = np.array([0.0, 1.0, 4.0, 8.0, 9.0]), np.full(5, 2.0)
    assert sweep_axis.legible(centres, widths, gap=0.0) == [0, 2, 4]
    assert sweep_axis.legible(centres, widths, gap=2.5) == [0, 4]
    assert sweep_axis.legible(np.array([3.0]), np.array([2.0]), gap=0.0) == [0]


def test_names_are_turned_only_where_they_do_not_fit():
    assert sweep_axis.name_rotation(spacing=20.0, width=19.0, height=8.0) == 0.0
    assert sweep_axis.name_rotation(spacing=20.0, width=30.0, height=8.0) == 30.0
    assert sweep_axis.name_rotation(spacing=20.0, width=50.0, height=8.0) == 90.0
    assert sweep_axis.name_rotation(spacing=12.0, width=20.0, height=8.0) == 90.0


def test_numbers_and_names_at_ticks_are_short():
    texts = [sweep_axis.tick_text(v) for v in (1000, 10_000, 25_000, 1_000_000, 0.5, 1e-5)]
    assert texts == ["1000", "$10^{4}$", "25,000", "$10^{6}$", "0.5", "1e-05"]
    long = "/a/folder/with/a/long/name/first.csv"
    ends = sweep_axis.shortened([long, "b.csv"])
    assert ends == ["…/with/a/long/name/first.csv", "b.csv"] and len(ends[0]) == 28
    same = [f"{start}{'x' * 40}" for start in "ab"]
    assert sweep_axis.shortened(same) == same


def test_objects_have_the_name_of_their_class_in_picture_and_table(out):
    objects = "[{_target_: harness.calibrators.Isotonic},{_target_: harness.calibrators.Platt}]"
    sweep = f"sweep.estimator.variational_isotonic.calibrator={objects}"
    words = ["problem=beta_overconfident", "estimator=[variational_isotonic]", "n=60", "reps=1"]
    experiment = Experiment.of([*words, "jobs=1", sweep])
    experiment.compute(quiet=True)
    figure = figure_of_records(experiment)
    texts = [label.get_text() for label in visible_labels(figure.axes[-1])]
    table = SweepResults(experiment.plan).table(experiment.records.read(), experiment.settings)
    assert texts == list(table.index.get_level_values("calibrator")) == ["Isotonic", "Platt"]
