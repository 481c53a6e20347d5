"""The pictures of the arena: regret against cost, the estimator to use by n and k, regret by family, and the order of models."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from harness.common.wording import notion_name
from harness.evaluation import arena
from harness.figures.style import COLOURS, WIDTH, nothing, pale, pyplot
from harness.math.estimands import OF_OUTCOMES

NOTIONS = {name: notion_name(name) for name in ("binary", "top_label", "canonical")}
ESTIMANDS = {"l1": "$L_1$", "l2_squared": "squared error"}
KINDS = {  # by the beginning of an id
    "bins": (("binned", "debiased", "kmeans", "kde_binning", "sweep", "tace", "adaptive", "average_binned", "crossfit_binned",
              "tuned_binned", "simplex", "lower_scaling", "upper_"), COLOURS[1]),
    "variational": (("variational", "tuned_variational", "gain", "corp"), COLOURS[0]),
    "kernels and smoothing": (("kde", "tuned_kde", "kkr", "ukkr", "tuned_kkr", "tuned_ukkr", "tcal", "tv_", "nw_", "bv_", "lip_",
                               "smooth", "ckce", "skce", "mmce", "ucme", "laplace"), COLOURS[2]),
    "of this project": (("best",), COLOURS[3]),
}  # fmt: skip
OTHER = ("other", COLOURS[7])
SHOWN = 20  # rows of the families' matrix
ORDERED = 25  # estimators of the picture of orders
SHORT = (
    ("variational_", "var. "),
    ("_insample", " in-s."),
    ("nadaraya_watson", "NW"),
    ("temperature", "temp."),
    ("_", " "),
)


def kind(estimator: str) -> tuple[str, str]:
    """(kind, colour) of an estimator, by its id; the longest beginning decides."""
    found = [
        (len(start), name, colour)
        for name, (starts, colour) in KINDS.items()
        for start in starts
        if estimator.startswith(start)
    ]
    return max(found)[1:] if found else OTHER


def short(estimator: str) -> str:
    """A name that fits into a picture.

    Examples
    --------
    >>> short("variational_isotonic_insample")
    'var. isotonic in-s.'
    """
    for long, brief in SHORT:
        estimator = estimator.replace(long, brief)
    return estimator


def cost(settings, board, at: int = 1000):
    """Mean regret against CPU seconds of an estimate at n = `at`, with the frontier: a panel per notion and estimand.

    Parameters
    ----------
    settings, board : DataFrame
        Of `arena.settings`, and `arena.leaderboard` of it.
    at : int
        The n of the costs; where it is not, the nearest.
    """
    shown = [
        (notion, estimand)
        for estimand in ESTIMANDS
        for notion in NOTIONS
        if _any(board, notion, estimand)
    ]
    if not shown:
        return nothing()
    plt = pyplot()
    columns = max(sum(e == estimand for _, e in shown) for estimand in ESTIMANDS)
    lines = list(dict.fromkeys(estimand for _, estimand in shown))
    figure, axes = plt.subplots(
        len(lines),
        columns,
        figsize=(WIDTH, 0.35 + 2.6 * len(lines)),
        squeeze=False,
        sharey="row",
        layout="constrained",
    )
    sizes = np.array(sorted(settings["n"].unique()))
    n = int(sizes[np.abs(np.log(sizes / at)).argmin()])
    of_n = settings[settings["n"].eq(n) & settings["cpu_seconds"].notna()]
    seconds = np.exp(
        np.log(of_n["cpu_seconds"].clip(lower=1e-5))
        .groupby([of_n["notion"], of_n["estimator"]])
        .mean()
    )
    used = {}
    for row, estimand in enumerate(lines):
        regrets = board.loc[board["estimand"].eq(estimand) & board["rank"].notna(), "regret"]
        limits = float(regrets.min()) * 0.75, float(regrets.max()) * 1.15
        notions = [notion for notion, e in shown if e == estimand]
        for column, ax in enumerate(axes[row]):
            if column >= len(notions):
                ax.set_visible(False)
                continue
            notion = notions[column]
            part = board[
                board["notion"].eq(notion) & board["estimand"].eq(estimand) & board["rank"].notna()
            ]
            part = part.assign(
                seconds=[seconds.get((notion, e), math.nan) for e in part["estimator"]]
            ).dropna(subset=["seconds"])
            used |= _cost_panel(ax, part, limits)
            ax.set_title(f"{NOTIONS[notion]}, {ESTIMANDS[estimand]}")
    figure.supxlabel(f"CPU seconds of an estimate at $n$ = {n:,}", fontsize=8)
    figure.supylabel("mean regret", fontsize=8)
    handles = [
        plt.Line2D([], [], marker="o", linestyle="none", color=colour, label=name)
        for name, colour in used.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    figure.set_label(
        f"Mean regret (geometric mean of RMSE over the best published RMSE of the setting, over families, n and k) against CPU "
        f"seconds of an estimate at n = {n:,} (geometric mean). Bars: 95 % intervals, problems and reps resampled. Line: the "
        f"frontier, on which nothing is both cheaper and better; its estimators are named. Those applicable in fewer than 80 % "
        f"of the settings, bounds, and oracles are not drawn."
    )
    return figure


def _any(board, notion, estimand):
    return (
        board["notion"].eq(notion) & board["estimand"].eq(estimand) & board["rank"].notna()
    ).any()


def _cost_panel(ax, part, limits):
    x, y = part["seconds"].to_numpy(), part["regret"].to_numpy()
    colours = [kind(name)[1] for name in part["estimator"]]
    bars = [np.maximum(y - part["low"], 0.0), np.maximum(part["high"] - y, 0.0)]
    ax.errorbar(x, y, yerr=bars, fmt="none", ecolor="#bbbbbb", elinewidth=0.5, zorder=1)
    ax.scatter(x, y, c=colours, s=11, zorder=3, linewidths=0)
    ax.set(xscale="log", yscale="log")
    on = arena.frontier(x, y)
    ax.step(x[on], y[on], where="post", color="black", linewidth=0.8, zorder=2)
    ax.scatter(x[on], y[on], facecolors="none", edgecolors="black", s=22, linewidths=0.8, zorder=4)
    ax.set_ylim(*limits)
    ax.set_xlim(
        x.min() / 200, x.max() * 3
    )  # room for the names, below and left of the frontier, where no estimator is
    last = math.inf
    span = math.log(limits[1] / limits[0])
    for i in on:  # cheapest, that is worst, first: names go down, and none is closer than a line to the one above
        place = min(math.log(y[i]), last - 0.052 * span)
        last = place
        ax.annotate(
            short(part["estimator"].iloc[i]), (x[i], y[i]), (x[i] / 1.35, math.exp(place)), fontsize=6, ha="right", va="center",
            arrowprops={"arrowstyle": "-", "linewidth": 0.3, "color": "#888888", "shrinkA": 0, "shrinkB": 2},
        )  # fmt: skip
    _plain_ticks(ax.yaxis, *limits)
    return {kind(name)[0]: kind(name)[1] for name in part["estimator"]}


def _plain_ticks(axis, low, high):
    wanted = [
        t
        for t in (0.1, 0.2, 0.5, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 500, 1000)
        if low <= t <= high
    ]
    axis.set_major_locator(FixedLocator(wanted))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def to_use(chosen, estimand: str, notions):
    """Which estimator to use by n and (notion, k), a panel per family.

    Parameters
    ----------
    chosen : DataFrame
        `arena.choices` by family, n and k.
    estimand : str
    notions : list of str
        Those in one picture.
    """
    part = chosen[chosen["estimand"].eq(estimand) & chosen["notion"].isin(notions)]
    if not len(part):
        return nothing()
    plt = pyplot()
    families = sorted(part["family"].unique())
    lines = sorted(
        set(zip(part["notion"], part["k"])),
        key=lambda pair: (list(NOTIONS).index(pair[0]), pair[1]),
    )
    sizes = sorted(part["n"].unique())
    columns = 2
    height = -(-len(families) // columns)
    figure, axes = plt.subplots(
        height, columns, figsize=(WIDTH, 0.6 + height * (0.34 + 0.3 * len(lines))), squeeze=False, sharex=True, sharey=True,
        layout="constrained",
    )  # fmt: skip
    used = {}
    for family, ax in zip(families, axes.flat):
        rows = part[part["family"].eq(family)].set_index(["notion", "k", "n"])
        for y, (notion, k) in enumerate(lines):
            for x, n in enumerate(sizes):
                if (notion, k, n) not in rows.index:
                    ax.text(x, y, "–", ha="center", va="center", fontsize=6, color="#888888")
                    continue
                row = rows.loc[(notion, k, n)]
                name, colour = kind(row["estimator"])
                sure = row["verdict"] in ("better", "alone")
                fill = pale(colour, 0.35) if sure else "#ececec"
                ax.add_patch(
                    plt.Rectangle(
                        (x - 0.5, y - 0.5), 1, 1, facecolor=fill, edgecolor="white", linewidth=1.0
                    )
                )
                said = f"{short(row['estimator'])}\n{row['regret']:.2f}"
                ax.text(
                    x,
                    y,
                    said,
                    ha="center",
                    va="center",
                    fontsize=5.6,
                    linespacing=1.05,
                    color="black" if sure else "#4d4d4d",
                )
                if sure:
                    used[name] = colour
        ax.set(xlim=(-0.5, len(sizes) - 0.5), ylim=(len(lines) - 0.5, -0.5))
        ax.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
        ax.set_yticks(
            range(len(lines)),
            [f"{NOTIONS[notion]}, {k}" if len(notions) > 1 else f"k = {k}" for notion, k in lines],
        )
        ax.set_title(family.replace("_", ": "), fontweight="bold")
        ax.grid(False)
        ax.tick_params(length=0, labelbottom=True)
        for side in ax.spines.values():
            side.set_visible(False)
    for ax in axes.flat[len(families) :]:
        ax.set_visible(False)
    figure.supxlabel("number of samples $n$", fontsize=8)
    handles = [
        plt.Rectangle((0, 0), 1, 1, facecolor=pale(colour, 0.35), label=name)
        for name, colour in used.items()
    ]
    handles.append(
        plt.Rectangle(
            (0, 0),
            1,
            1,
            facecolor="#ececec",
            label="no better than the runner-up, as far as is known",
        )
    )
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    figure.set_label(
        f"The estimator with the least mean regret for {_said(estimand)}, with that regret, by family of problems, number of "
        f"samples n and number of classes k. Coloured by its kind where it is better than the runner-up (5 % for all cells "
        f"together), grey where that is not established."
    )
    return figure


def _said(estimand):
    return {"l1": "the L1 calibration error", "l2_squared": "the squared calibration error"}.get(
        estimand, estimand
    )


def matrix(by_family, board, notion: str):
    """Mean regret in every family of the 20 estimators with the least of all and of this project's own, a panel per estimand.

    Parameters
    ----------
    by_family, board : DataFrame
        `arena.leaderboard` by family, and of all.
    """
    estimands = [e for e in ESTIMANDS if _any(board, notion, e)]
    if not estimands:
        return nothing()
    plt = pyplot()
    of = board[board["notion"].eq(notion) & board["estimand"].isin(estimands)]
    order = (
        of[of["rank"].notna()]
        .groupby("estimator")["regret"]
        .agg(lambda r: np.exp(np.log(r).mean()))
        .sort_values()
        .index.tolist()
    )
    order = [e for i, e in enumerate(order) if i < SHOWN or e.startswith("best")]
    part = by_family[by_family["notion"].eq(notion)]
    families = sorted(part["family"].unique())
    figure, axes = plt.subplots(
        1,
        len(estimands),
        figsize=(WIDTH, 1.1 + 0.125 * len(order)),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for ax, estimand in zip(axes.flat, estimands):
        rows = part[part["estimand"].eq(estimand)].pivot(
            index="estimator", columns="family", values="regret"
        )
        whole = of[of["estimand"].eq(estimand)].set_index("estimator")["regret"]
        values = np.column_stack(
            [whole.reindex(order), rows.reindex(index=order, columns=families)]
        )
        shade = ax.pcolormesh(
            np.arange(values.shape[1] + 1) - 0.5, np.arange(len(order) + 1) - 0.5, np.clip(values, 1.0, 10.0), cmap="Blues",
            norm=LogNorm(1.0, 16.0), edgecolors="white", linewidth=0.4,
        )  # fmt: skip
        for (y, x), value in np.ndenumerate(values):
            if value == value:
                text = (
                    f"{value:.2f}" if value < 9.95 else f"{value:.0f}" if value < 1000 else ">999"
                )
                ax.text(
                    x,
                    y,
                    text,
                    ha="center",
                    va="center",
                    fontsize=4.4,
                    color="white" if value > 4.5 else "black",
                )
        ax.axvline(0.5, color="black", linewidth=0.8)
        ax.set_xticks(
            range(values.shape[1]),
            ["all", *(f.replace("_", " ") for f in families)],
            rotation=60,
            ha="right",
        )
        ax.set_yticks(range(len(order)), [short(e) for e in order], fontsize=5.6)
        ax.set_ylim(len(order) - 0.5, -0.5)
        ax.set_title(ESTIMANDS[estimand])
        ax.grid(False)
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        shade.set_rasterized(False)
    figure.set_label(
        f"Mean regret by family of problems, {NOTIONS[notion]}, of the {SHOWN} ranked estimators with the least of all, and of "
        f"this project's own; the table of families has the others. 1 is the best published estimator of every setting, 2 an "
        f"RMSE twice as large. Left the mean over all families, n and k, by which the rows are ordered. Empty: not applicable."
    )
    return figure


def ordering(pairs, estimand: str):
    """Share of pairs of models in the right order, by estimator: a panel per notion, a mark per n (mean over k), the best."""
    part = pairs[pairs["by"].eq(estimand) & ~pairs["estimand"].isin(OF_OUTCOMES)]
    notions = [notion for notion in NOTIONS if part["notion"].eq(notion).any()]
    if not notions:
        return nothing()
    plt = pyplot()
    said = [
        e if what in (estimand, e) else f"{e}: {what}"
        for e, what in zip(part["estimator"], part["estimand"])
    ]
    part = part.assign(name=said)
    most = min(
        max(part[part["notion"].eq(notion)]["name"].nunique() for notion in notions), ORDERED
    )
    figure, axes = plt.subplots(
        1, len(notions), figsize=(WIDTH, 0.8 + 0.115 * most), squeeze=False, layout="constrained"
    )
    sizes = sorted(part["n"].unique())
    for ax, notion in zip(axes.flat, notions):
        of = part[part["notion"].eq(notion)]
        mean = of.groupby(["name", "n"])[["share", "low", "high"]].mean().reset_index()
        order = (
            mean.groupby("name")["share"]
            .mean()
            .sort_values(ascending=False, kind="stable")
            .index.tolist()[:ORDERED]
        )
        mean = mean[mean["name"].isin(order)]
        for i, n in enumerate(sizes):
            line = mean[mean["n"].eq(n)].set_index("name").reindex(order)
            at = np.arange(len(order)) + 0.22 * (i - (len(sizes) - 1) / 2)
            ax.hlines(at, line["low"], line["high"], color=COLOURS[i], linewidth=0.5)
            ax.plot(
                line["share"],
                at,
                "os^D"[i % 4],
                color=COLOURS[i],
                markersize=2,
                linestyle="none",
                label=f"$n$ = {n:,}",
            )
        ax.axvline(0.5, color="#888888", linewidth=0.6, linestyle=":")
        ax.set_yticks(range(len(order)), [short(e) for e in order], fontsize=5)
        ax.set_ylim(most - 0.4, -0.6)
        ax.set_xlim(min(0.35, float(np.nanmin(mean["low"])) - 0.02), 1.01)
        ax.set_title(NOTIONS[notion])
        ax.grid(True, axis="x", alpha=0.25)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(sizes))
    figure.supxlabel("share of pairs of models in the right order", fontsize=8)
    figure.set_label(
        f"How often the value of an estimator has the order of the true {_said(estimand).removeprefix('the ')}s of two problems "
        f"with the same number of classes, in the same replication (mean over k; bars: 95 %, problems resampled); the "
        f"{ORDERED} best of each panel. An estimator of another quantity is named with it."
    )
    return figure
