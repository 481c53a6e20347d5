"""Settings of the arena in which an estimator fails, described in words and as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.common.names import estimand_name, notion_name
from harness.common.wording import format_count, format_number, format_signed, format_whole_percent
from harness.evaluation import arena
from harness.evaluation.arena.rules import BOUND_KINDS
from harness.figures import arena_plot
from harness.figures.figure_files import to_png
from harness.figures.style import COLOURS, pyplot

MOST = 3  # largest number of failures on the page of an estimator
SMALL = 1.25  # an estimator whose RMSE is at most this multiple of the best one does not fail
HOLDS = 0.9  # a bound fails if its coverage is smaller
SIZE, DPI = (3.5, 2.3), 150  # SIZE in inches: the width of a phone's screen
KIND_NAMES = {"lower": "lower bound", "upper": "upper bound", "interval": "interval"}
PLACE = ["problem", "notion", "estimand"]


@dataclass(frozen=True)
class Failure:
    """A setting in which an estimator fails.

    Parameters
    ----------
    setting : dict
        A row of `harness.evaluation.arena.settings`.
    rows, best_rows : DataFrame
        Rows at all n for the problem, notion and estimand of the setting: those of the estimator,
        and those of the best published estimator. `best_rows` is empty if no other estimator is
        better.
    """

    setting: Mapping[str, Any]
    rows: pd.DataFrame
    best_rows: pd.DataFrame

    @property
    def path(self) -> str:
        """Path of the picture below the root of the site."""
        name = "-".join(self.setting[column] for column in ["estimator", *PLACE])
        return f"estimators/pictures/{name}.png"

    @property
    def values(self) -> dict[int, list[float]]:
        """{n: estimates of the replications, without missing ones}."""
        pairs = zip(self.rows["n"], self.rows["values"])
        return {int(n): [float(v) for v in many if not math.isnan(v)] for n, many in pairs}

    @property
    def best_means(self) -> dict[int, float]:
        """{n: mean estimate of the best published estimator}."""
        means = (self.best_rows["truth"] + self.best_rows["bias"]).set_axis(self.best_rows["n"])
        return {int(n): float(mean) for n, mean in means.dropna().items()}


def worst(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the settings in which an estimator fails worst, one per family and at most three.

    Point estimates fail if their RMSE is more than 25 % above that of the best published estimator,
    or the floor. They are sorted by the difference of the RMSEs, the largest first. Bounds and
    intervals fail if their coverage is below 90 %. They are sorted by coverage, the lowest first.

    Parameters
    ----------
    rows : DataFrame
        Rows of `harness.evaluation.arena.settings` for one estimator, with the column `best_rmse`:
        the RMSE of the best published estimator. Only one estimand is considered: l1 if its truth
        is known, else l2_squared, else the first by name with a known truth.
    """
    known = rows[rows["truth"].notna()]
    estimands = set(known["estimand"])
    order = [e for e in (*arena.MAIN, *sorted(estimands)) if e in estimands]
    known = known[known["estimand"].isin(order[:1])]
    is_bound = known["kind"].isin(BOUND_KINDS)
    failing = known[is_bound & known["coverage"].lt(HOLDS)].sort_values("coverage", kind="stable")
    if not len(failing):
        points = known[~is_bound]
        least = np.maximum(points["best_rmse"], arena.floors(points))
        behind = (points["rmse"] - least)[points["rmse"].gt(SMALL * least)]
        failing = points.loc[behind.sort_values(ascending=False, kind="stable").index]
    return failing.drop_duplicates("family").head(MOST)


def failures(estimator: str, rows: Mapping[str, pd.DataFrame]) -> list[Failure]:
    """Return the failures of an estimator, the worst first.

    Parameters
    ----------
    estimator : str
        Id of the estimator.
    rows : mapping
        {estimator: its rows of `harness.evaluation.arena.settings`} for all estimators.
    """
    settings = []
    for setting in worst(_with_best(rows[estimator], rows)).to_dict("records"):
        best = setting["best"]
        other = rows[best] if isinstance(best, str) and best != estimator else rows[estimator][:0]
        parts = [
            frame[(frame[PLACE] == [setting[c] for c in PLACE]).all(axis=1)].sort_values("n")
            for frame in (rows[estimator], other)
        ]
        settings.append(Failure(setting, *parts))
    return settings


def _with_best(mine: pd.DataFrame, rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Add the column best_rmse, the RMSE of the estimator `best` in the same setting."""
    keys = [*PLACE, "n"]
    names = [name for name in mine["best"].dropna().unique() if name in rows]
    if not names:
        return mine.assign(best_rmse=np.nan)
    others = pd.concat([rows[name][[*keys, "estimator", "rmse"]] for name in names])
    others = others.rename(columns={"estimator": "best", "rmse": "best_rmse"})
    return mine.merge(others, how="left", on=[*keys, "best"])


def words(failure: Failure) -> str:
    """Describe a failure in words: bias, spread, RMSE, and the best published estimator."""
    s = failure.setting
    place = f"{notion_name(s['notion'])}, {estimand_name(s['estimand'])}, k = {s['k']:,}"
    truth = format_number(s["truth"], 2) if s["truth"] > 1e-12 else "0 (calibrated)"
    counts = [f"{int(s[name])} {name}" for name in ("failed", "undefined") if s[name]]
    samples = s["reps"] + int(s["failed"] + s["undefined"])
    lost = f" {', '.join(counts)} of {samples} samples." if counts else ""
    if s["kind"] in BOUND_KINDS:
        share = format_whole_percent(s["coverage"])
        text = (
            f"the {KIND_NAMES[s['kind']]} holds in {share} of {format_count(s['reps'], 'sample')}; "
            f"the truth is {truth}."
        )
    elif not s["reps"]:
        text = "there is no estimate."
    else:
        best = ""
        if len(failure.best_rows):
            rmse = failure.best_rows.set_index("n").loc[s["n"], "rmse"]
            best = f" (best published estimator, {s['best']}: {format_number(rmse, 2)})"
        text = (
            f"off by {format_signed(s['bias'])} on average where the truth is {truth}; "
            f"{_share_of_bias(s['bias'], s['sd'])} RMSE {format_number(s['rmse'], 2)}{best}."
        )
    return f"n = {s['n']:,} ({place}): {text}{lost}"


def _share_of_bias(bias: float, sd: float) -> str:
    if not (math.isfinite(bias) and math.isfinite(sd)):
        return ""
    text = "the error is bias and scatter alike"
    if abs(bias) > 2.0 * sd:
        text = "nearly all of the error is bias"
    elif abs(bias) < 0.5 * sd:
        text = "most of the error is scatter"
    return f"{text} (sd {format_number(sd, 2)})."


def alt(failure: Failure) -> str:
    """Return the alternative text of the picture of a failure."""
    s = failure.setting
    rival = f", and the means of {s['best']}" if len(failure.best_rows) else ""
    return (
        f"Estimates of {s['estimator']} on {s['problem']} by n with their means, the truth "
        f"{format_number(s['truth'], 2)}{rival}."
    )


def picture(failure: Failure) -> bytes:
    """Draw the estimates by n, their means, the truth, and the best published means."""
    s, values, best = failure.setting, failure.values, failure.best_means
    sizes = sorted(values)
    figure, ax = pyplot().subplots(figsize=SIZE, layout="constrained")
    dots = {"color": COLOURS[1], "marker": "o", "markersize": 2.6}
    squares = {"color": COLOURS[0], "marker": "s", "markersize": 3.2, "linewidth": 1.0}
    dashes = {"color": "black", "linestyle": "--", "linewidth": 0.9}
    ax.axhline(s["truth"], zorder=3, **dashes)
    for x, n in enumerate(sizes):
        count = len(values[n])
        places = x + 0.22 * ((np.arange(count) + 0.5) / max(count, 1) - 0.5)
        ax.plot(places, values[n], linestyle="none", alpha=0.55, zorder=4, **dots)
    means = [np.mean(values[n]) if values[n] else math.nan for n in sizes]
    stroke = {"linewidth": 1.0, "marker": "_", "markersize": 14, "zorder": 5}
    ax.plot(range(len(sizes)), means, color=COLOURS[1], **stroke)
    theirs = [best.get(n, math.nan) for n in sizes]
    ax.plot(range(len(sizes)), theirs, zorder=5, **squares)
    ax.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
    ax.set_xlim(-0.45, len(sizes) - 0.15)
    ax.set_xlabel("number of samples n")
    ax.set_ylabel(estimand_name(s["estimand"]))
    ax.grid(axis="x", visible=False)
    entries = {arena_plot.short(s["estimator"]): dots}
    if best:
        entries[arena_plot.short(s["best"])] = squares
    entries["truth"] = dashes
    handles = [pyplot().Line2D([], [], label=text, **style) for text, style in entries.items()]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=3, fontsize=7, handlelength=1.2,
        columnspacing=0.8, borderpad=0.1,
    )  # fmt: skip
    return to_png(figure, DPI)
