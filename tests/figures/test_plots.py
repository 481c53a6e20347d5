"""Figures and tables say what was estimated.

Kinds of estimates, reasons, captions, formats, LaTeX that compiles.
"""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import harness
from harness.common.names import AXIS_NAMES
from harness.common.paths import CHECKOUT
from harness.configure.figure import Figure
from harness.configure.rules import read_options
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import latex, missing, tables
from harness.evaluation.selection import figure_estimands, shown_estimands
from harness.figures import figure_files, plots
from harness.figures.marks import BOUNDS_OF_ESTIMATES, INTERVAL_OF_ESTIMATE, KIND_NAMES
from harness.figures.style import COLOURS, series_style

RESULTS = CHECKOUT / "results"
FIGURE = {
    "y": None,
    "yscale": None,
    "estimand": None,
    "panels_per_row": 3,
    "estimators": None,
    "caption": None,
    "size": None,
    "format": ["pdf"],
    "dpi": 80,
    "font": None,
}


def rows(
    estimator,
    values,
    n=100,
    problem="p",
    kind="point",
    low=np.nan,
    high=np.nan,
    estimand="l1",
    truth=0.05,
    **more,
):
    values = np.atleast_1d(np.asarray(values, dtype=float))
    return pd.DataFrame(
        {
            "key": [f"{problem}{n}{estimator}{i}" for i in range(len(values))],
            "problem": problem, "notion": "binary", "n": n, "rep": range(len(values)),
            "estimator": estimator, "estimator_key": estimator, "problem_key": problem,
            "estimand": estimand, "value": values, "low": low, "high": high, "kind": kind,
            "status": "ok", "reason": None, "truth": truth, "truth_error": 0.0,
            "cpu_seconds": 0.1, **more,
        }
    )  # fmt: skip


def settings_of(records, chosen=None, **figure):
    problems, estimators = (
        dict.fromkeys(records["problem"], {}),
        dict.fromkeys(records["estimator"], {}),
    )
    values = {
        "problem": problems,
        "estimator": estimators,
        "estimand": chosen,
        "figure": {**FIGURE, **figure},
    }
    return Settings.from_dict(values)


def caption(records, settings):
    return plots.overview(records, settings).get_label()


@pytest.fixture
def kinds():
    """Every kind of estimate at n = 100 and n = 1000, two replications each."""
    return pd.concat(
        [
            frame
            for n in (100, 1000)
            for frame in (
                rows("point", [0.06, 0.08], n),
                rows("bounded", [0.06, 0.08], n, low=0.02),
                rows("lower", [0.02, 0.04], n, kind="lower", low=[0.02, 0.04]),
                rows("upper", [0.20, 0.22], n, kind="upper", high=[0.20, 0.22]),
                rows(
                    "interval",
                    [0.11, 0.13],
                    n,
                    kind="interval",
                    low=[0.01, 0.03],
                    high=[0.21, 0.23],
                ),
            )
        ],
        ignore_index=True,
    )


def test_entries_of_the_wide_table_show_kind_and_ends(kinds):
    wide = tables.wide(kinds, settings_of(kinds))
    assert wide.iloc[0].to_dict() == {
        "truth": "0.0500",
        "point": "0.0700 ± 0.0100",
        "bounded": "0.0700 ± 0.0100 (≥ 0.0200)",
        "lower": "≥ 0.0300 ± 0.0100",
        "upper": "≤ 0.2100 ± 0.0100",
        "interval": "[0.0200, 0.2200]",
    }
    assert wide.columns.name == (
        "l1: mean ± standard error [interval], ≥ lower bound, ≤ upper bound"
    )
    off = rows("e", 0.0713, kind="interval", low=0.0612, high=0.0909)
    assert tables.wide(off, settings_of(off))["e"].item() == "[0.0612, 0.0909] (value 0.0713)"
    single = rows("e", 0.0713, low=0.0612, high=0.0809)
    assert tables.wide(single, settings_of(single))["e"].item() == "0.0713 [0.0612, 0.0809]"
    assert tables.wide(single, settings_of(single)).columns.name == "l1: estimate [interval]"


def test_the_same_rows_again_have_no_standard_error():
    """Replications on a file are no sample.

    No standard error anywhere, the spread is named as the estimator's own.
    """
    both = pd.concat(
        [
            rows("e", [0.1, 0.1006], problem="file", low=0.05, high=0.15, truth=np.nan),
            rows("e", [0.1, 0.2]),
        ],
        ignore_index=True,
    )
    table = harness.evaluate(both, files=[("file", 100)]).set_index("problem")
    assert np.isnan(table.loc["file", "se"]) and table.loc["file", "sd"] == pytest.approx(
        0.0006 / np.sqrt(2)
    )
    assert table.loc["p", "se"] == pytest.approx(0.05)
    settings = replace(settings_of(both), files=[("file", 100)])
    wide = tables.wide(both, settings)
    assert wide.loc[("file", 100), "e"] == "0.1003 [0.0500, 0.1500] (spread 0.0004)"
    some = harness.evaluate(pd.concat([both, both.assign(n=50)]), files=settings.files).set_index(
        ["problem", "n"]
    )
    assert some["se"].isna().tolist() == [
        False,
        True,
        False,
        False,
    ]  # fewer rows are other rows in every replication
    alone = tables.wide(both[both["problem"] == "file"], settings).columns.name
    assert "own randomness" in alone and "standard" not in alone
    fewer = replace(settings, subsets=settings.files)
    assert "random subsets" in tables.wide(both[both["problem"] == "file"], fewer).columns.name
    assert "random subsets" in caption(both[both["problem"] == "file"], fewer)
    steady = tables.wide(rows("e", [0.1, 0.1, 0.1 + 1e-16], problem="file"), settings)
    assert steady["e"].item() == "0.1000" and steady.columns.name == "l1: value"
    figure = plots.overview(both[both["problem"] == "file"], settings)
    text = figure.get_label()
    assert "on all rows" in text and "no standard error" in text and "replications" not in text
    bars = [c for c in figure.axes[0].containers if c.has_xerr]
    assert all(
        np.isnan(path).any()
        for bar in bars
        for lines in bar[2]
        for path in lines.get_segments()
        if len(path)
    )


def test_every_dash_and_every_status_has_one_line():
    result = pd.concat(
        [
            rows("a", [0.1, 0.1], estimand="l2"),
            *(rows("b", [0.1, 0.2], n=n) for n in (100, 200)),
            *(
                rows(e, [np.nan] * 2, n=n).assign(
                    estimand=None, status="skipped", reason="no posterior"
                )
                for n in (100, 200)
                for e in "cd"
            ),
            rows("f", [np.nan]).assign(
                estimand=None, status="failed", reason="Traceback\n  line 3\nValueError: why"
            ),
        ],
        ignore_index=True,
    )
    settings = settings_of(result)
    settings.labels.estimator["a"] = "A"
    assert missing.reasons(result, settings) == [
        "failed f: ValueError: why (1 cell)",
        "skipped c, d: no posterior (8 cells)",
        "– of A: the estimator gives l2, not l1 (1 entry)",
        "– of A, f: no cell of this estimator is recorded yet (2 entries)",
    ]
    wide = tables.wide(result, settings)
    assert (wide == "–").to_numpy().sum() == 3 and (wide == "skipped").to_numpy().sum() == 4


def test_an_estimate_undefined_throughout_is_no_dash():
    result = pd.concat(
        [
            rows("a", np.inf).assign(status="undefined", reason="infinite"),
            rows("a", 0.1, estimand="l2"),
            rows("b", 1),
        ]
    )
    assert tables.wide(result, settings_of(result))["a"].item() == "undefined"
    assert missing.reasons(result, settings_of(result)) == ["undefined a: infinite (1 cell)"]


def test_estimand_governs_table_and_figure_also_as_a_list():
    result = pd.concat(
        [
            rows("e", [0.1, 0.2], estimand=name, n=n)
            for name in ("kl", "l1", "l2")
            for n in (100, 200)
        ]
    )
    assert tables.wide(result, settings_of(result)).columns.name.startswith("l1:")
    assert tables.wide(result, settings_of(result, "l2")).columns.name.startswith("l2:")
    several = settings_of(result, ["l2", "kl"])
    wide = tables.wide(result, several)
    assert list(wide.index) == [("p", name, n) for name in ("l2", "kl") for n in (100, 200)]
    for draw, records in (
        (plots.convergence, result),
        (plots.side_by_side, result[result["n"] == 100]),
    ):
        labels = {
            text
            for ax in draw(records, several).axes
            for text in (ax.get_ylabel(), ax.get_xlabel())
        }
        assert {AXIS_NAMES["l2"], AXIS_NAMES["kl"]} <= labels and AXIS_NAMES["l1"] not in labels
    assert figure_estimands(result, settings_of(result, ["l2", "kl"], estimand="kl")) == [
        "kl"
    ]  # figure.estimand: the figure
    assert shown_estimands(result, settings_of(result, ["l2", "kl"], estimand="kl")) == ["l2", "kl"]
    assert figure_estimands(result, settings_of(result, "l2", estimand="kl")) == ["l2"]


@pytest.mark.parametrize("upright", [True, False])
def test_four_kinds_are_four_marks(kinds, upright):
    """Arrows point towards the truth. An interval has ends and no centre.

    The legend explains the kinds that are drawn.
    """
    draw = plots.convergence if upright else plots.side_by_side
    figure = draw(kinds if upright else kinds[kinds["n"] == 100], settings_of(kinds))
    (ax,) = figure.axes
    by_colour = {}
    for container in ax.containers:
        by_colour[container[0].get_color()] = container[0]
    point, _, lower, upper, interval = (by_colour[colour] for colour in COLOURS[:5])
    assert point.get_marker() == "o" and interval.get_marker() == "none"
    tip = 1 if upright else 0
    assert (
        lower.get_marker().vertices[:, tip].max() > 0 == lower.get_marker().vertices[:, tip].min()
    )
    assert (
        upper.get_marker().vertices[:, tip].min() < 0 == upper.get_marker().vertices[:, tip].max()
    )
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {*KIND_NAMES.values(), BOUNDS_OF_ESTIMATES} <= set(texts)
    plain = kinds[kinds["estimator"] == "point"]
    legends = draw(plain if upright else plain[plain["n"] == 100], settings_of(plain)).legends
    assert not {*KIND_NAMES.values(), BOUNDS_OF_ESTIMATES} & {
        text.get_text() for text in legends[0].get_texts()
    }


@pytest.mark.parametrize("high", [0.09, np.nan])
@pytest.mark.parametrize("low", [0.02, 0.0, np.nan])
def test_bars_of_points_are_intervals_or_bounds_by_their_ends(low, high):
    """Two ends are a confidence interval, one end is a bound, and a lower bound of 0 is nothing."""
    records = rows("e", [0.06, 0.08], low=low, high=high)
    figure = plots.side_by_side(records, settings_of(records))
    texts = {text.get_text() for drawn in figure.legends for text in drawn.get_texts()}
    both, one = not np.isnan([low, high]).any(), low > 0 or not np.isnan(high)
    assert (INTERVAL_OF_ESTIMATE in texts) == both
    assert (BOUNDS_OF_ESTIMATES in texts) == (one and not both)
    words = figure.get_label()
    assert ("confidence interval" in words) == both
    assert ("to its bound" in words) == (one and not both)


def test_the_caption_names_what_is_drawn(kinds):
    plain = kinds[kinds["estimator"] == "point"]
    settings = settings_of(kinds)
    assert "error bars" in caption(plain[plain["rep"] == 0], settings)
    assert "Dashed" in caption(plain, settings)
    assert "Dashed" not in caption(plain.assign(truth=np.nan), settings)
    assert "as a band" in caption(plain.assign(truth_error=1e-3), settings)
    assert "Ticks: bounds" in caption(kinds, settings)
    assert "No cell" in caption(plain.assign(status="failed"), settings)


def test_no_two_of_many_series_look_alike():
    looks = [tuple(series_style(i).values()) for i in range(64)]
    assert len(set(looks)) == 64


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("size", v)
            for v in (
                [3],
                [3, 0],
                [3, -1],
                [41, 2],
                3,
                "3x2",
                [True, 2],
                ["3", "2"],
                [float("nan"), 2],
            )
        ),
        *(("format", v) for v in ("bmp", ["png", "gif"], 3, [3], {"png": 1})),
        *(("dpi", v) for v in (29, 1201, "200", True)),
        *(("font", v) for v in (3.9, 31, "8", True)),
        *(("panels_per_row", v) for v in (0, 1.5, None, "3", True)),
        ("caption", 3),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(name, value):
    with pytest.raises(BadInputError, match=f"figure.{name} is"):
        read_options(Figure, "figure", {**FIGURE, name: value})


def test_figures_that_can_be_drawn_are_accepted():
    for figure in (
        {},
        {"size": [3.3, 2.5]},
        {"format": "eps"},
        {"format": []},
        {"format": ["jpg", "png"]},
        {"font": 10.5},
    ):
        assert vars(read_options(Figure, "figure", {**FIGURE, **figure})) == {**FIGURE, **figure}


@pytest.mark.slow
def test_size_format_dpi_and_font_are_what_was_asked(kinds, tmp_path):
    from matplotlib.image import imread

    settings = settings_of(kinds, size=[3.3, 2.5], format=["eps", "png"], dpi=60, font=6)
    for folder in "ab":
        (tmp_path / folder).mkdir()
        figure = plots.overview(kinds, settings)
        files = figure_files.save(figure, tmp_path / folder / "f", settings)
        assert [path.name for path in files] == ["f.png", "f.eps", "f.svg"]
        assert figure.axes[0].yaxis.label.get_fontsize() == pytest.approx(6)
    assert imread(tmp_path / "a" / "f.png").shape[:2] == (150, 198)
    for name in ("f.png", "f.eps", "f.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with pytest.raises(BadInputError, match="figure.size"):
        figure_files.save(
            plots.overview(kinds, settings), tmp_path / "g", settings_of(kinds, size=[0.6, 0.5])
        )


def test_nothing_overlaps_in_a_small_figure():
    """16 series with long names in 5 x 4 inches.

    The legend is inside the figure and above the panel, titles do not meet.
    """
    names = [f"estimator_number_{i}_with_a_long_name" for i in range(16)]
    result = pd.concat(
        [
            rows(e, [0.1, 0.2], n=n, problem=p)
            for e in names
            for n in (100, 1000)
            for p in ("p" * 30, "q" * 30)
        ]
    )
    figure = plots.convergence(result, settings_of(result, size=[5, 4]))
    figure.draw_without_rendering()
    legend, (left, right) = figure.legends[0].get_window_extent(), figure.axes
    assert legend.x0 >= 0 and legend.x1 <= figure.bbox.width and legend.y1 <= figure.bbox.height
    assert left.title.get_window_extent().y1 <= legend.y0
    assert left.title.get_window_extent().x1 <= right.title.get_window_extent().x0


TEXTS = {
    "a_b 5% & #1": r"a\_b 5\% \& \#1", "|x|": "$|$x$|$",
    "E_2^2 ~ {1} \\": r"E\_2\textasciicircum{}2 \textasciitilde{} \{1\} \textbackslash{}",
    "$L_1$ error": "$L_1$ error", "costs $5 and $6": r"costs \$5 and \$6",
    "-0.1 a-b a--b": "$-$0.1 a-b a-{-}b",
    "≤ ≥ ± – ∞ × h² √": r"$\leq$ $\geq$ $\pm$ -- $\infty$ $\times$ h$^2$ $\surd$",
    "γ Σ": r"$\gamma$ $\Sigma$", "é ü č ß": "é ü č ß", "中": "(U+4E2D)",
    "[0.1, 0.2]": "{[}0.1, 0.2]", "*": "{*}", "a < b": "a $<$ b",
}  # fmt: skip


@pytest.mark.parametrize(("text", "tex"), TEXTS.items())
def test_text_in_latex(text, tex):
    table = latex.latex(pd.DataFrame({"column": [text]}, index=["row"]))
    assert f"\nrow & {tex} \\\\\n" in table


def long_and_wide():
    """Return a table wider than the text, with every kind of entry."""
    index = pd.MultiIndex.from_product(
        [list(TEXTS)[:7], [f"row_{i}" for i in range(8)]], names=["problem", "n_samples"]
    )
    frame = pd.DataFrame(
        "0.0713 ± 0.0004 [0.0612, 0.0809]",
        index,
        ["truth", *(f"variational_estimator_{i}" for i in range(9)), *TEXTS],
    )
    frame.iloc[1, : len(TEXTS)] = list(TEXTS)
    frame.columns.name = "l1: mean ± standard error\nof |all|"
    return frame


def test_latex_names_its_packages_and_columns():
    tex = latex.latex(long_and_wide())
    head, *_ = tex.split("{\\noindent")
    assert all(line.startswith("%") for line in head.splitlines())
    assert r"\usepackage{booktabs,graphicx}" in head and tex.count(r"\midrule") == 1
    empty = pd.DataFrame(columns=["a"]).rename_axis(columns="x")
    assert latex.latex(empty) == "% x\n% no rows\n"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_compiles_no_wider_than_the_text(tmp_path, kinds):
    (tmp_path / "a.tex").write_text(latex.latex(long_and_wide()))
    (tmp_path / "b.tex").write_text(latex.latex(tables.wide(kinds, settings_of(kinds))))
    body = "\\input{a}\n\\begin{table}\\caption{B}\\input{b}\\end{table}\n"
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n\\begin{document}\n"
        + body
        + "\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
