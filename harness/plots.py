"""Figures: convergence (estimate against n) and, where there is one n only, estimates side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.evaluation import evaluate
from harness.notions import NOTIONS
from harness.records import whole_file
from harness.tables import figure_estimands, label

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
)  # Okabe and Ito, grey for yellow
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "-", "-", "-", "-", "-", "-", "-", "--", "--", "--", "--", "--", "--", "--", "--")
NAMES = {
    "l1": "$L_1$ calibration error", "l2": "$L_2$ calibration error", "l2_squared": "squared calibration error",
    "kl": "KL calibration error", "linf": r"$L_\infty$ calibration error", "brier": "Brier score", "logloss": "log-loss",
    "rms": "root mean squared calibration error", "refinement_l2_squared": "refinement (Brier score)",
    "refinement_kl": "refinement (log-loss)", "sharpness_l2_squared": "sharpness (Brier score)",
    "sharpness_kl": "sharpness (log-loss)", "auroc": "area under the ROC curve",
}  # fmt: skip
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7.5, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "mathtext.fontset": "cm", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "grid.linewidth": 0.5, "lines.linewidth": 1.2, "lines.markersize": 3, "pdf.fonttype": 42, "svg.hashsalt": "calharness",
    "svg.fonttype": "path", "legend.frameon": False,
}  # fmt: skip
MOST_PANELS = 40
WIDTH = 6.75  # inches, two columns of a paper


def overview(records, config):
    """Convergence over n if there are several n, else the estimates side by side; a family of problems, too many for a panel
    each, as one distribution."""
    if len(records.drop_duplicates(["problem", "notion"])) > MOST_PANELS:
        return across_problems(records, config)
    return convergence(records, config) if records["n"].nunique() > 1 else side_by_side(records, config)


def convergence(records, config):
    """One panel per problem and notion: mean +- standard error over the reps against n (log axis); truth dashed, with its
    error as a band."""
    plt = pyplot()
    table, estimand, panels, series = _prepared(records, config)
    if not series:
        return _nothing(plt)
    rows, columns = _grid(len(panels), config["figure"]["panels_per_row"])
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH, 0.6 + (1.95 + 0.15 * _several(panels)) * rows),
        squeeze=False,
        sharex=True,
        layout="constrained",
    )
    for (problem, notion), ax in zip(panels, axes.flat):
        part = table[(table["problem"] == problem) & (table["notion"] == notion)]
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator].sort_values("n")
            if len(line):
                ax.errorbar(
                    line["n"], line["mean"], yerr=line["se"], label=label(config, "estimator", estimator), capsize=1.5,
                    elinewidth=0.7, color=COLOURS[i % 8], marker=MARKERS[i % 8], linestyle=LINES[i % 16], zorder=3,
                )  # fmt: skip
        _truth_line(ax, part, horizontal=True)
        ax.set_xscale("log")
        _sample_ticks(ax, sorted(table["n"].unique()))
        ax.set_title(_panel_title(problem, notion, panels, config))
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel(NAMES.get(estimand, estimand))
    for j in range(columns):
        last = max(i for i in range(rows) if i * columns + j < len(panels))
        axes[last, j].set_xlabel("number of samples $n$")
        axes[last, j].tick_params(labelbottom=True)
    _legend(figure, axes.flat[: len(panels)], [label(config, "estimator", e) for e in series])
    return figure


def side_by_side(records, config):
    """One panel per problem and notion: the mean +- standard error of every estimator at the only n (dots of the single reps
    behind), the mean bounds as a broad bar, truth dashed."""
    plt = pyplot()
    table, estimand, panels, series = _prepared(records, config)
    if not series:
        return _nothing(plt)
    rows, columns = _grid(len(panels), config["figure"]["panels_per_row"])
    height = 0.6 + rows * (0.55 + 0.2 * len(series))
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, height), squeeze=False, sharey=True, layout="constrained")
    fine = records[records["status"].eq("ok") & records["estimand"].eq(estimand)]
    for (problem, notion), ax in zip(panels, axes.flat):
        part = table[(table["problem"] == problem) & (table["notion"] == notion)]
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator]
            at = len(series) - 1 - i
            own = (fine["problem"] == problem) & (fine["notion"] == notion) & (fine["estimator"] == estimator)
            if not len(line):
                ax.text(
                    0.98, at, "no estimate", transform=ax.get_yaxis_transform(), ha="right", va="center", fontsize=6, color="0.45"
                )
                continue
            bounds = line[["low", "high"]].iloc[0]
            if bounds.notna().any():
                ends = bounds.fillna(line["mean"].iloc[0])
                ax.plot(ends, [at, at], color=COLOURS[i % 8], alpha=0.35, linewidth=4, solid_capstyle="butt", zorder=1)
            if own.sum() > 1:
                ax.plot(fine.loc[own, "value"], np.full(own.sum(), at), ".", color=COLOURS[i % 8], alpha=0.25, markersize=3)
            ax.errorbar(
                line["mean"], [at], xerr=line["se"], marker=MARKERS[i % 8], color=COLOURS[i % 8], capsize=2, linestyle="none"
            )
        _truth_line(ax, part, horizontal=False)
        ax.set_yticks(range(len(series)), [label(config, "estimator", e) for e in reversed(series)])
        ax.set_ylim(-0.6, len(series) - 0.4)
        ax.set_title(_panel_title(problem, notion, panels, config))
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for i, ax in enumerate(axes.flat[: len(panels)]):
        if i + columns >= len(panels):
            ax.set_xlabel(NAMES.get(estimand, estimand))
    if table["truth"].notna().any():
        _legend(figure, axes.flat[: len(panels)], [])
    return figure


def across_problems(records, config):
    """One panel per notion: every problem's mean estimate (over reps and n) as a dot, the median over problems as a bar."""
    plt = pyplot()
    estimand = figure_estimands(records, config)[0]
    table = evaluate(records[records["estimand"].eq(estimand) & records["status"].eq("ok")])
    if not len(table):
        return _nothing(plt)
    notions = [notion for notion in NOTIONS if (table["notion"] == notion).any()]
    series = [e for e in config["figure"]["estimators"] or config["estimator"] if e in set(table["estimator"])]
    height = 0.7 + 0.24 * len(series)
    figure, axes = plt.subplots(1, len(notions), figsize=(WIDTH, height), squeeze=False, sharey=True, layout="constrained")
    jitter = np.random.default_rng(0)
    for notion, ax in zip(notions, axes.flat):
        part = table[table["notion"] == notion]
        for i, estimator in enumerate(series):
            means = part[part["estimator"] == estimator].groupby("problem")["mean"].mean()
            at = len(series) - 1 - i
            spread = at + jitter.uniform(-0.22, 0.22, len(means))
            ax.plot(means, spread, ".", color=COLOURS[i % 8], alpha=0.35, markersize=3, rasterized=len(means) > 500)
            ax.plot([means.median()] * 2, [at - 0.35, at + 0.35], color="0.1", linewidth=1.4, zorder=3)
        ax.set_title(f"{notion.replace('_', '-')}: {part['problem'].nunique():,} problems")
        ax.set_xlabel(NAMES.get(estimand, estimand))
    axes[0, 0].set_yticks(range(len(series)), [label(config, "estimator", e) for e in reversed(series)])
    axes[0, 0].set_ylim(-0.6, len(series) - 0.4)
    return figure


def shares(table, config, panels=None, per_row=None):
    """Shares of trials in the right order (harness.rankings.score, one estimand per estimator) with Wilson intervals: one panel
    per order and notion, against n, or side by side if there is one n. panels: the orders to draw, in order; None = all."""
    plt = pyplot()
    if not len(table):
        return _nothing(plt)
    several = table["notion"].nunique() > 1
    panels = [(o, n) for n in dict.fromkeys(table["notion"]) for o in panels or dict.fromkeys(table["order"])]
    series = [e for e in config["figure"]["estimators"] or list(config["estimator"]) if e in set(table["estimator"])]
    sizes = sorted(table["n"].unique())
    rows, columns = _grid(len(panels), per_row or config["figure"]["panels_per_row"])
    height = (1.75 if len(sizes) > 1 else 0.5 + 0.22 * len(series)) + 0.15 * several
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, 0.5 + height * rows), squeeze=False, sharex=True, sharey=True, layout="constrained"
    )
    for (order, notion), ax in zip(panels, axes.flat):
        part = table[table["order"].eq(order) & table["notion"].eq(notion)]
        for i, estimator in enumerate(series):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            if len(line):
                style = {"color": COLOURS[i % 8], "marker": MARKERS[i % 8], "elinewidth": 0.7, "capsize": 1.5, "zorder": 3}
                bars = [line["share"] - line["low"], line["high"] - line["share"]]
                if len(sizes) > 1:
                    name = label(config, "estimator", estimator)
                    beside = 1.03 ** (i - (len(series) - 1) / 2)  # intervals of equal shares would hide each other
                    ax.errorbar(line["n"] * beside, line["share"], yerr=bars, label=name, linestyle=LINES[i % 16], **style)
                else:
                    ax.errorbar(line["share"], [len(series) - 1 - i], xerr=bars, linestyle="none", **style)
            elif len(sizes) == 1:
                ax.text(0.5, len(series) - 1 - i, "no estimate", ha="center", va="center", fontsize=6, color="0.45")
        ax.set_title(order + (f"\n{notion.replace('_', '-')}" if several else ""))
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    share = "share of trials in the right order"
    for i, ax in enumerate(axes.flat[: len(panels)]):
        if i + columns >= len(panels):
            ax.set_xlabel("number of samples $n$" if len(sizes) > 1 else share)
            ax.tick_params(labelbottom=True)
    if len(sizes) > 1:
        axes[0, 0].set(xscale="log", ylim=(-0.03, 1.03))
        _sample_ticks(axes[0, 0], sizes)
        figure.supylabel(share, fontsize=STYLE["axes.labelsize"])
        _legend(figure, axes.flat[: len(panels)], [label(config, "estimator", e) for e in series])
    else:
        axes[0, 0].set_yticks(range(len(series)), [label(config, "estimator", e) for e in reversed(series)])
        axes[0, 0].set(xlim=(-0.03, 1.03), ylim=(-0.6, len(series) - 0.4))
    return figure


def save(figure, stem: Path) -> list[Path]:
    """<stem>.png (200 dpi), .pdf and .svg, byte-identical between runs."""
    import logging

    import matplotlib.pyplot as plt

    logging.getLogger("fontTools").setLevel(logging.ERROR)  # its notes on font timestamps
    paths = [stem.with_name(stem.name + end) for end in (".png", ".pdf", ".svg")]
    with plt.rc_context(STYLE):
        figure.draw_without_rendering()  # lays out once; each format would do it again
        figure.set_layout_engine("none")
        for path, options in (
            (paths[0], {"dpi": 200, "metadata": {"Software": None}}),
            (paths[1], {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}}),
            (paths[2], {"metadata": {"Date": None, "Creator": None}}),
        ):
            with whole_file(path) as temporary:
                figure.savefig(temporary, **options)
    plt.close(figure)
    return paths


def pyplot():
    """matplotlib.pyplot with the style of all figures."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    plt.rcParams.update(STYLE)
    return plt


def _nothing(plt):
    """A figure that says that there is none."""
    figure, ax = plt.subplots(figsize=(WIDTH, 1.2), layout="constrained")
    ax.set_axis_off()
    ax.text(0.5, 0.5, "no cell gave a number to draw; the page says why", ha="center", va="center", transform=ax.transAxes)
    return figure


def _prepared(records, config):
    estimand = figure_estimands(records, config)[0]
    table = evaluate(records[records["estimand"].eq(estimand) & records["status"].eq("ok")])
    seen = list(dict.fromkeys(zip(records["problem"], records["notion"])))
    with_numbers = set(zip(table["problem"], table["notion"]))
    order = {problem: i for i, problem in enumerate(config["problem"])}
    panels = sorted(
        (panel for panel in seen if panel in with_numbers), key=lambda p: (order.get(p[0], len(order)), NOTIONS.index(p[1]))
    )
    chosen = config["figure"]["estimators"] or list(config["estimator"])
    series = [e for e in chosen if e in set(table["estimator"])]
    return table, estimand, panels, series


def _grid(panels, per_row):
    columns = max(1, min(per_row, panels))
    return -(-panels // columns), columns


def _several(panels):
    return len({notion for _, notion in panels}) > 1


def _panel_title(problem, notion, panels, config):
    several = _several(panels)
    return label(config, "problem", problem) + (f"\n{notion.replace('_', '-')}" if several else "")


def _sample_ticks(ax, sizes):
    """Few sample sizes are labelled each, many by powers of ten (by their ends, should no power of ten lie between)."""
    from matplotlib.ticker import NullFormatter

    ax.xaxis.set_minor_formatter(NullFormatter())
    decades = [10**k for k in range(12) if sizes[0] <= 10**k <= sizes[-1]]
    if len(sizes) <= 4 or not decades:
        shown = sizes if len(sizes) <= 4 else [sizes[0], sizes[-1]]
        ax.set_xticks(shown, [f"{n:,}" for n in shown])


def _truth_line(ax, part, horizontal):
    known = part[part["truth"].notna()]
    if not len(known):
        return
    value, error = known["truth"].iloc[0], known["truth_error"].iloc[0]
    line, span = (ax.axhline, ax.axhspan) if horizontal else (ax.axvline, ax.axvspan)
    line(value, color="0.2", linestyle="--", linewidth=1.0, label="true value", zorder=2)
    span(value - error, value + error, color="0.2", alpha=0.15, linewidth=0)


def _legend(figure, axes, order):
    """One legend above all panels: the true value, then the estimators in their order."""
    entries = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    texts = sorted(entries, key=lambda text: order.index(text) if text in order else -1)
    if texts:
        handles = [entries[text] for text in texts]
        figure.legend(handles, texts, loc="outside upper center", ncols=min(4, len(texts)), handlelength=2.2, columnspacing=1.2)
