"""The figure of a ranking: shares of trials in the right order."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import FixedLocator, NullFormatter

from harness.evaluation.rankings import POLICY, of_settings, one_estimand
from harness.evaluation.selection import label
from harness.figures.marks import legend, say_no_estimate
from harness.figures.style import (
    COLOURS,
    STYLE,
    figure_size,
    grid_shape,
    nothing,
    pyplot,
    series_style,
)


def render(records, settings):
    """The figure of a ranking as configured: `shares` of the figure's estimand."""
    return shares(one_estimand(of_settings(records, settings), settings), settings)


def shares(table, settings, orders=None, per_row=None):
    """Shares of trials in the right order with Wilson intervals: one panel per order and notion, against n, or side by side if
    there is one n.

    Parameters
    ----------
    table : DataFrame
        `harness.evaluation.rankings.score`, one estimand per estimator.
    settings : Settings
        The configuration.
    orders : list of str, optional
        The orders to draw, in order; default all.
    per_row : int, optional
        Panels in a row; default `figure.panels_per_row`.
    """
    plt = pyplot()
    if not len(table):
        return nothing()
    several = table["notion"].nunique() > 1
    shown = [
        (o, n)
        for n in dict.fromkeys(table["notion"])
        for o in orders or dict.fromkeys(table["order"])
    ]
    series = [
        e
        for e in settings.figure.estimators or list(settings.estimator)
        if e in set(table["estimator"])
    ]
    sizes = sorted(table["n"].unique())
    rows, columns = grid_shape(len(shown), per_row or settings.figure.panels_per_row)
    height = (1.75 if len(sizes) > 1 else 0.5 + 0.22 * len(series)) + 0.15 * several
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=figure_size(settings, 0.5 + height * rows),
        squeeze=False,
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    for (order, notion), ax in zip(shown, axes.flat):
        part = table[table["order"].eq(order) & table["notion"].eq(notion)]
        for i, estimator in enumerate(series):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            if len(line):
                style = {**series_style(i), "elinewidth": 0.7, "capsize": 1.5, "zorder": 3}
                bars = [line["share"] - line["low"], line["high"] - line["share"]]
                if len(sizes) > 1:
                    name = label(settings, "estimator", estimator)
                    beside = 1.03 ** (
                        i - (len(series) - 1) / 2
                    )  # intervals of equal shares would hide each other
                    ax.errorbar(line["n"] * beside, line["share"], yerr=bars, label=name, **style)
                else:
                    ax.errorbar(
                        line["share"],
                        [len(series) - 1 - i],
                        xerr=bars,
                        **{**style, "linestyle": "none"},
                    )
            elif len(sizes) == 1:
                say_no_estimate(ax, 0.5, len(series) - 1 - i, ha="center")
        ax.set_title(order + (f"\n{notion.replace('_', '-')}" if several else ""))
    for ax in axes.flat[len(shown) :]:
        ax.set_visible(False)
    share = "share of trials in the right order"
    for i, ax in enumerate(axes.flat[: len(shown)]):
        if i + columns >= len(shown):
            ax.set_xlabel("number of samples $n$" if len(sizes) > 1 else share)
            ax.tick_params(labelbottom=True)
    if len(sizes) > 1:
        axes[0, 0].set(xscale="log", ylim=(-0.03, 1.03))
        _sizes(axes[0, 0], sizes)
        figure.supylabel(share, fontsize=STYLE["axes.labelsize"])
        legend(
            figure,
            axes.flat[: len(shown)],
            [label(settings, "estimator", e) for e in series],
            settings,
        )
    else:
        axes[0, 0].set_yticks(
            range(len(series)), [label(settings, "estimator", e) for e in reversed(series)]
        )
        axes[0, 0].set(xlim=(-0.03, 1.03), ylim=(-0.6, len(series) - 0.4))
    figure.set_label(POLICY)
    return figure


def _sizes(ax, sizes):
    """The sample sizes as ticks, those labelled that are twice the last labelled one or nearly so."""
    shown = [sizes[0]]
    for n in sizes:
        if n >= 1.9 * shown[-1]:
            shown.append(n)
    ax.set_xticks(shown, [f"{n:,}" for n in shown])
    ax.xaxis.set_minor_locator(FixedLocator([n for n in sizes if n not in shown]))
    ax.xaxis.set_minor_formatter(NullFormatter())


def histograms(ax, trials, full, models):
    """How the estimates of the trials are distributed: a histogram per model as shares of its trials, and dashed its value on all
    rows.

    Parameters
    ----------
    ax : Axes
        The panel.
    trials, full : DataFrame
        The values of the trials and those on all rows, of one estimator, with the label `model`.
    models : list of str
        The models' labels, in the order of their colours.
    """
    edges = np.linspace(*np.quantile(trials["value"], [0.0005, 0.9995]), 41)
    for i, model in enumerate(models):
        part = trials.loc[trials["model"].eq(model), "value"]
        style = {
            "bins": edges,
            "color": COLOURS[i % len(COLOURS)],
            "weights": np.full(len(part), 1.0 / max(len(part), 1)),
        }
        ax.hist(part, histtype="stepfilled", alpha=0.35, linewidth=0.0, label=model, **style)
        ax.hist(part, histtype="step", linewidth=0.9, **style)
        for value in full.loc[full["model"].eq(model), "value"]:
            ax.axvline(value, color=style["color"], linestyle="--", linewidth=0.9)
    ax.locator_params(axis="both", nbins=4)
