"""Where an estimator fails, in words and as a picture, from the arena's stored numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.lines import Line2D

from harness.common.seeds import digest
from harness.common.wording import (
    estimand_name,
    format_number,
    format_signed,
    format_whole_percent,
    notion_name,
)
from harness.evaluation import arena
from harness.figures import arena_plot
from harness.figures.style import COLOURS, pyplot

MOST = 3  # failures of a card
SMALL = 1.25  # a regret below which it is no failure
HELD = 0.9  # a share of samples in which a bound holds, below which it fails
SIZE, DPI = (3.5, 2.3), 150  # inches: as wide as a phone's screen
BOUNDS = ("lower", "upper", "interval")


@dataclass(frozen=True)
class Failure:
    """One way in which an estimator fails: the problem and n where its family is worst.

    Parameters
    ----------
    estimator, family, problem, notion, estimand : str
    n, k : int
    words : str
        What happens there.
    alt : str
        What the picture shows.
    truth : float
    values : dict
        {n: its values in the replications}.
    best : tuple
        (estimator, {n: mean of its values}) of the best published estimator of that problem and n.
    """

    estimator: str
    family: str
    problem: str
    notion: str
    estimand: str
    n: int
    k: int
    words: str
    alt: str
    truth: float
    values: dict[int, list[float]]
    best: tuple[str, dict[int, float]]

    @property
    def path(self) -> str:
        """Of the picture below the site's root."""
        return (
            f"estimators/pictures/{self.estimator}-{self.problem}-{self.notion}-{self.estimand}.png"
        )

    @property
    def drawn(self) -> bool:
        """Whether there is anything to draw."""
        return any(self.values.values())

    @property
    def key(self) -> str:
        """Identifies what the picture is drawn from."""
        return digest(repr((1, self.truth, self.values, self.best, self.n, self.estimand)))


def worst(own: pd.DataFrame) -> pd.DataFrame:
    """Where one estimator is worst: of every family the setting in which it is furthest behind the best published estimator, in
    the unit of the estimand (of bounds, the one with the least coverage), and of these the worst three.

    Parameters
    ----------
    own : DataFrame
        The rows of one estimator of `harness.evaluation.arena.settings`. The first of l1, l2_squared and the others that it gives
        with a truth is looked at, under all notions; a regret of at most 1.25 is no failure.
    """
    known = own[own["truth"].notna()]
    first = next(
        (
            name
            for name in (*arena.MAIN, *sorted(known["estimand"].unique()))
            if known["estimand"].eq(name).any()
        ),
        "",
    )
    known = known[known["estimand"].eq(first)]
    bound = known["kind"].isin(BOUNDS)
    held = known[bound & known["coverage"].lt(HELD)].sort_values("coverage", kind="stable")
    points = known[~bound & known["regret"].gt(SMALL)]
    behind = points["rmse"] * (1.0 - 1.0 / points["regret"])
    points = points.assign(behind=behind).sort_values("behind", ascending=False, kind="stable")
    return (points if len(points) and not len(held) else held).drop_duplicates("family").head(MOST)


def failures(estimator: str, rows: Mapping[str, pd.DataFrame]) -> list[Failure]:
    """The failures of an estimator: `worst` with words, values and the best published estimator beside.

    Parameters
    ----------
    estimator : str
    rows : mapping
        {estimator: its rows of `harness.evaluation.arena.settings`}, of all estimators.
    """
    own = rows[estimator]
    found = []
    for row in worst(own).to_dict("records"):
        same = {name: row[name] for name in ("problem", "notion", "estimand")}
        mine = _at(own, same)
        values = {
            int(n): [float(v) for v in held if v == v] for n, held in zip(mine["n"], mine["values"])
        }
        best: tuple[str, dict[int, float]] = ("", {})
        rmse = math.nan
        if isinstance(row["best"], str) and row["best"] != estimator:
            theirs = _at(rows[row["best"]], same)
            best = (
                row["best"],
                {
                    int(n): float(t + b)
                    for n, t, b in zip(theirs["n"], theirs["truth"], theirs["bias"])
                    if b == b
                },
            )
            rmse = float(theirs.loc[theirs["n"].eq(row["n"]), "rmse"].iloc[0])
        place = (
            estimator,
            row["family"],
            row["problem"],
            row["notion"],
            row["estimand"],
            int(row["n"]),
            int(row["k"]),
        )
        said = words(row, best[0], rmse), alt(row, values, best)
        found.append(Failure(*place, *said, float(row["truth"]), values, best))
    return found


def _at(rows: pd.DataFrame, same: dict[str, Any]) -> pd.DataFrame:
    fits = (
        rows["problem"].eq(same["problem"])
        & rows["notion"].eq(same["notion"])
        & rows["estimand"].eq(same["estimand"])
    )
    return rows[fits].sort_values("n")


def words(row: dict[str, Any], best: str = "", rmse: float = math.nan) -> str:
    """What happens in a setting: 'n = 200 (top label, L1 error, k = 10): off by +0.08 on average ...', beside the best published
    estimator there and its RMSE."""
    where = f"n = {row['n']:,} ({notion_name(row['notion'])}, {estimand_name(row['estimand'])}, k = {row['k']:,})"
    truth = format_number(row["truth"], 2) if row["truth"] > 1e-12 else "0 (calibrated)"
    answers = row["reps"]
    lost = ", ".join(f"{int(row[name])} {name}" for name in ("failed", "undefined") if row[name])
    missing = (
        f" {lost} of {answers + int(row['failed'] + row['undefined'])} samples." if lost else ""
    )
    if row["kind"] in BOUNDS:
        what = {"lower": "lower bound", "upper": "upper bound", "interval": "interval"}[row["kind"]]
        share = format_whole_percent(row["coverage"])
        return f"{where}: the {what} holds in {share} of {answers} samples; the truth is {truth}.{missing}"
    if not answers:
        return f"{where}: no answer.{missing}"
    split = _blame(row["bias"], row["sd"])
    other = f" (the best published one there, {best}: {format_number(rmse, 2)})" if best else ""
    return (
        f"{where}: off by {format_signed(row['bias'])} on average where the truth is {truth}; {split} "
        f"RMSE {format_number(row['rmse'], 2)}{other}.{missing}"
    )


def _blame(bias: float, sd: float) -> str:
    """Whether bias or scatter makes the error."""
    if not (math.isfinite(bias) and math.isfinite(sd)):
        return ""
    if abs(bias) > 2.0 * sd:
        return f"nearly all of it is bias (sd {format_number(sd, 2)})."
    if abs(bias) < 0.5 * sd:
        return f"mostly scatter (sd {format_number(sd, 2)})."
    return f"bias and scatter alike (sd {format_number(sd, 2)})."


def alt(
    row: dict[str, Any], values: dict[int, list[float]], best: tuple[str, dict[int, float]]
) -> str:
    """What the picture shows, in words."""
    means = (
        "; ".join(f"n = {n:,}: {format_number(sum(v) / len(v), 2)}" for n, v in values.items() if v)
        or "none"
    )
    theirs = "; ".join(f"n = {n:,}: {format_number(v, 2)}" for n, v in best[1].items())
    beside = f" Means of {best[0]}: {theirs}." if best[0] else ""
    return (
        f"Estimates of {row['estimator']} on {row['problem']} by n beside the truth {format_number(row['truth'], 2)}. "
        f"Means: {means}.{beside}"
    )


def picture(one: Failure) -> bytes:
    """A PNG: every estimate by n, their means, the truth as a dashed line, and the means of the best published estimator."""
    plt = pyplot()
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    sizes = sorted(one.values)
    x = {n: i for i, n in enumerate(sizes)}
    ax.axhline(one.truth, color="black", linestyle="--", linewidth=0.9, zorder=3)
    for n, held in one.values.items():
        spread = [x[n] + 0.22 * ((i + 0.5) / len(held) - 0.5) for i in range(len(held))]
        ax.plot(
            spread, held, "o", color=COLOURS[1], markersize=2.6, alpha=0.55, linewidth=0, zorder=4
        )
    mean = {n: sum(held) / len(held) for n, held in one.values.items() if held}
    ax.plot(
        [x[n] for n in mean],
        list(mean.values()),
        color=COLOURS[1],
        linewidth=1.0,
        marker="_",
        markersize=14,
        zorder=5,
    )
    theirs = {n: v for n, v in one.best[1].items() if n in x}
    ax.plot(
        [x[n] for n in theirs],
        list(theirs.values()),
        color=COLOURS[0],
        marker="s",
        markersize=3.2,
        linewidth=1.0,
        zorder=5,
    )
    ax.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
    ax.set_xlim(-0.45, len(sizes) - 0.15)
    ax.set_xlabel("number of samples n")
    ax.set_ylabel(estimand_name(one.estimand))
    ax.grid(axis="x", visible=False)
    handles = [
        Line2D(
            [],
            [],
            color=COLOURS[1],
            marker="o",
            markersize=2.6,
            label=arena_plot.short(one.estimator),
        ),
        Line2D([], [], color="black", linestyle="--", linewidth=0.9, label="truth"),
    ]
    if theirs:
        handles.insert(
            1,
            Line2D(
                [],
                [],
                color=COLOURS[0],
                marker="s",
                markersize=3.2,
                label=arena_plot.short(one.best[0]),
            ),
        )
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=3,
        fontsize=7,
        handlelength=1.2,
        columnspacing=0.8,
        borderpad=0.1,
    )
    return png(figure, one.key)


def png(figure: Any, key: str, dpi: int = DPI) -> bytes:
    """A figure as the bytes of a PNG that bears a key; closes it."""
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=dpi, metadata={"Software": None, "calharness": key})
    pyplot().close(figure)
    return held.getvalue()


def kept(path: Path, key: str) -> bytes | None:
    """The picture of an earlier build, if it is there and bears this key."""
    if not path.is_file():
        return None
    content = path.read_bytes()
    return content if key.encode() in content[:400] else None
