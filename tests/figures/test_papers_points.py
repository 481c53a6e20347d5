"""The paper's own points in figures against n.

Which they are, where they stand, and what is said of them.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_plots import rows, settings_of

from harness.configure.figure import Labels
from harness.evaluation import reproduction
from harness.figures import papers_points, plots

HEAD = {
    "unit": "fraction",
    "plus_minus": 0.01,
    "reps": 10,
    "precision": 0.0,
    "source": "authors' data",
}


def written(folder, monkeypatch, *numbers):
    """A paper's reported numbers: (item, row, column, value)."""
    monkeypatch.setattr(reproduction, "paper_folder", lambda paper: folder / paper)
    (folder / "somebody2026").mkdir()
    frame = pd.DataFrame(numbers, columns=["item", "row", "column", "value"]).assign(**HEAD)
    frame.to_csv(folder / "somebody2026" / "reported.csv", index=False)


@pytest.fixture
def result():
    return pd.concat(
        [rows(e, [0.06, 0.08], n) for e in ("a", "b") for n in (100, 1000)], ignore_index=True
    )


def of_paper(result, *compare, figure=None, **more):
    labels = {"problem": {"p": "Sine"}, "estimator": {"a": "A", "b": "B"}}
    settings = settings_of(result, **(figure or {"estimand": "l1"}))
    given = {"item": "fig1", "paper": "somebody2026", "compare": list(compare), **more}
    return replace(settings, labels=Labels(**labels), **given)


def test_points_are_read_by_our_labels(result, tmp_path, monkeypatch):
    """Rows of other names and panels are left out. A thousand may be written 1,000."""
    others = (
        ("fig1", "Cosine, n = 100", "A", 1.0),
        ("fig1", "Sine, n = 100", "C", 1.0),
        ("fig1", "Sine", "A", 1.0),
    )
    written(
        tmp_path,
        monkeypatch,
        ("fig1", "Sine, n = 100", "A", 0.05),
        ("fig1", "Sine, n = 1,000", "B", 0.04),
        *others,
    )
    points = papers_points.against_n(result, of_paper(result, "fig1"), "l1")
    assert points[["problem", "n", "estimator", "value"]].values.tolist() == [
        ["p", 100, "a", 0.05],
        ["p", 1000, "b", 0.04],
    ]
    assert not len(papers_points.against_n(result, of_paper(result, "fig1"), "l2"))
    assert not len(papers_points.against_n(result, of_paper(result, "fig1", item=None), "l1"))


def test_single_runs_are_averaged_over_the_replications_that_we_have(result, tmp_path, monkeypatch):
    """Average the published runs over the replications that we have, or over all if we have none.

    At n = 100 we have replications 0 and 1 of estimator a: the mean is (1 + 2) / 2. At n = 5000 we
    have none: the mean is over all three runs. At n = 1000 run 1 of a is not published, so that no
    mean is over the same runs.
    """
    runs = [
        ("fig1_runs", f"Sine, n = {n}, seed = {seed}", "A", seed + 1.0)
        for n in (100, 5000)
        for seed in (0, 1, 2)
    ]
    written(tmp_path, monkeypatch, *runs, ("fig1_runs", "Sine, n = 1000, seed = 0", "A", 9.0))
    points = papers_points.against_n(result, of_paper(result, "fig1_runs"), "l1").set_index("n")
    assert points["value"].to_dict() == {100: 1.5, 5000: 2.0}
    assert points.loc[5000, "plus_minus"] == pytest.approx(1 / np.sqrt(3))


@pytest.mark.parametrize("same", [True, False])
def test_open_marks_in_the_colour_of_ours(result, tmp_path, monkeypatch, same):
    """The paper's points are open marks and have one entry of the legend.

    They stand beside our points with an error bar. On the same draws they surround our points.
    """
    written(
        tmp_path,
        monkeypatch,
        *[("fig1", f"Sine, n = {n}", e, 0.05) for n in (100, 1000) for e in "AB"],
    )
    figure = plots.convergence(result, of_paper(result, "fig1", same_draws_as_paper=same))
    (ax,) = figure.axes
    lines = [c[0] for c in ax.containers]
    opened = [line for line in lines if line.get_markerfacecolor() == "white"]
    assert [line.get_color() for line in opened] == [
        line.get_color() for line in lines if line not in opened
    ]
    assert opened[0].get_xdata() == pytest.approx(
        np.array([100, 1000]) * (1.0 if same else papers_points.OFFSET)
    )
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["true value", "A", "B", papers_points.TEXT]
    assert (
        "Open marks: the paper" in figure.get_label()
        and ("bars of one standard error" in figure.get_label()) != same
    )


def test_a_figure_of_biases_has_open_marks_of_predicted_biases(result, tmp_path, monkeypatch):
    """Estimates 0.06 and 0.08 of the truth 0.05 have the bias 0.02, drawn on a logarithmic axis.

    The estimand of the figure is l1 if the settings name none. The marks stand where ours do. A
    predicted bias of -0.01 is drawn as 0.01.
    """
    monkeypatch.setitem(HEAD, "source", reproduction.PREDICTED)
    monkeypatch.setitem(HEAD, "plus_minus", np.nan)
    written(tmp_path, monkeypatch, *[("fig1", f"Sine, n = {n}", "A", -0.01) for n in (100, 1000)])
    settings = of_paper(result, "fig1", figure={"y": "bias", "yscale": "log"})
    figure = plots.convergence(result, settings)
    (ax,) = figure.axes
    lines = [c[0] for c in ax.containers]
    (opened,) = [line for line in lines if line.get_markerfacecolor() == "white"]
    np.testing.assert_allclose(opened.get_xydata(), [[100, 0.01], [1000, 0.01]])
    assert list(lines[0].get_ydata()) == pytest.approx([0.02, 0.02])
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "open: predicted" in texts and papers_points.TEXT not in texts
    assert figure.get_label().endswith("Open marks: predictions.")
    other = plots.overview(result, settings)  # a variation shows no reported number
    assert "Open marks" not in other.get_label()


def test_a_truth_of_zero_is_not_drawn_on_a_logarithmic_axis(result):
    """Rounding leaves 1e-17, and a line there would press all estimates into one line."""
    settings = settings_of(result.assign(truth=1e-17), yscale="log")
    (ax,) = plots.convergence(result.assign(truth=1e-17), settings).axes
    assert ax.get_ylim()[0] > 1e-3
    (ax,) = plots.convergence(result, settings).axes
    assert any(line.get_linestyle() == "--" for line in ax.lines)


@pytest.mark.parametrize("change", ["n", "estimator", "problem"])
def test_a_variation_without_the_papers_cells_has_no_open_marks(
    result, tmp_path, monkeypatch, change
):
    """Neither legend nor caption mention the paper where none of its numbers is drawn."""
    written(tmp_path, monkeypatch, ("fig1", "Sine, n = 100", "A", 0.05))
    settings = of_paper(result, "fig1")
    assert "Open marks" in plots.convergence(result, settings).get_label()
    keep = {"n": result["n"].ne(100), "estimator": result["estimator"].ne("a")}
    rest = result[keep[change]] if change in keep else result.assign(problem="other")
    figure = plots.convergence(rest, settings)
    assert "Open marks" not in figure.get_label()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert papers_points.TEXT not in texts


def test_the_true_value_is_drawn_once(result):
    """An estimator whose label is that of the truth is not drawn as a series."""
    settings = settings_of(result)
    settings = replace(
        settings, labels=replace(settings.labels, estimator={"b": reproduction.TRUTH})
    )
    texts = [text.get_text() for text in plots.convergence(result, settings).legends[0].get_texts()]
    assert texts == ["true value", "a"]
    unknown = plots.convergence(result.assign(truth=np.nan), settings)
    assert [text.get_text() for text in unknown.legends[0].get_texts()] == ["a", reproduction.TRUTH]
