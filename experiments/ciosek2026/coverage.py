"""How often each certified bound or interval holds the true value, over many samples. A bound of level 1 - delta passes if its
coverage is at least 1 - delta - 3 standard errors of a share, sqrt(delta (1 - delta) / samples).

Nearly all bounds cover always: they add worst cases of several terms. What this can and cannot tell is in `ablations`.
"""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot


def least(level, count):
    """The smallest coverage that passes: level - 3 sqrt(level (1 - level) / count)."""
    return level - 3.0 * np.sqrt(level * (1.0 - level) / count)


def measured(records):
    """By problem, estimator, n and level: samples, coverage (low <= truth <= high, up to the error of the truth), the margin of
    the closest sample, min over samples of min(high - truth, truth - low), mean bounds, the share that says no more than 0 <= CE
    <= 1 (vacuous), samples without a number."""
    fine = records[
        records["status"].eq("ok") & records["estimand"].eq("l1") & records["kind"].isin(["upper", "lower", "interval"])
    ]
    fine = fine[fine["truth"].notna()].copy()
    fine["margin"] = np.minimum(fine["high"].fillna(np.inf) - fine["truth"], fine["truth"] - fine["low"].fillna(-np.inf))
    fine["covered"] = fine["margin"] >= -fine["truth_error"].fillna(0.0)
    fine["vacuous"] = fine["high"].fillna(1.0).ge(1.0 - 1e-9) & fine["low"].fillna(0.0).le(0.0)
    by = ["problem", "estimator", "n", "level"]
    table = fine.groupby(by, sort=False).agg(
        samples=("covered", "size"), coverage=("covered", "mean"), margin=("margin", "min"), truth=("truth", "first"),
        low=("low", "mean"), high=("high", "mean"), vacuous=("vacuous", "mean"),
    ).reset_index()  # fmt: skip
    without = records[records["status"].ne("ok")].drop_duplicates("key").groupby(by[:3]).size()
    table["without"] = [int(without.get(key, 0)) for key in zip(table["problem"], table["estimator"], table["n"])]
    table["least"] = least(table["level"], table["samples"])
    return table.assign(passes=table["coverage"] >= table["least"])


def render(records, config):
    """Left: coverage of every bound on every problem and n (colour: n), its level and the smallest coverage that passes. Right:
    the margin by which the closest of all samples is covered; left of 0 it is not."""
    found = measured(records)
    if not len(found):
        return bounds.nothing()
    plt = pyplot()
    rows = bounds.shown(config, found)
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 1.0 + 0.27 * len(rows)), sharey=True, layout="constrained")
    sizes, names = sorted(found["n"].unique()), bounds.problems(config, found)
    for i, estimator in enumerate(rows):
        for j, n in enumerate(sizes):
            mine = found[found["estimator"].eq(estimator) & found["n"].eq(n)]
            at = i + 0.6 * (j + 0.5) / len(sizes) - 0.3 + 0.12 * (mine["problem"].map(names.index) / max(len(names), 2) - 0.5)
            look = {"linestyle": "none", "marker": MARKERS[j % 8], "color": COLOURS[j % 8], "markersize": 3, "alpha": 0.7}
            left.plot(mine["coverage"], at, label=f"$n$ = {n:,}" if not i else "_", **look)
            right.plot(mine["margin"], at, **look)
    for level, count in sorted(set(zip(found["level"], found["samples"]))):
        left.axvline(level, color="0.2", linewidth=0.9, label="level")
        left.axvline(least(level, count), color="0.2", linestyle=":", linewidth=0.9, label="smallest that passes")
    right.axvline(0.0, color="0.2", linewidth=0.9)
    right.set_xscale("symlog", linthresh=1e-3)
    right.set_xlim(min(-2e-3, 1.3 * found["margin"].min()), 1.0)
    left.set_xlim(min(found["coverage"].min(), found["least"].min()) - 0.01, 1.005)
    left.set_yticks(range(len(rows)), [bounds.name(e, config) for e in rows])
    left.set_ylim(len(rows) - 0.5, -0.5)
    for ax in (left, right):
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
    left.set_xlabel("coverage")
    right.set_xlabel("margin of the closest sample")
    bounds.legend(figure, left, columns=6)
    return figure


def table(records, config):
    """By problem, bound and level: coverage at every n, the smallest that passes, the verdict, the closest margin, mean bounds at
    the largest n."""
    found, rows = bounds.ordered(measured(records), config), {}
    for (problem, estimator, level), part in found.groupby(["problem", "estimator", "level"], sort=False):
        part = part.sort_values("n")
        last, lost = part.iloc[-1], int(part["without"].sum())
        row = {f"n = {r.n:,}": f"{r.coverage:.4f}" for r in part.itertuples()}
        row |= {
            "samples": f"{part['samples'].min():,}" + (f" ({lost:,} without a number)" if lost else ""),
            "smallest that passes": f"{part['least'].min():.4f}",
            "verdict": "covers"
            if part["passes"].all()
            else f"fails at n = {', '.join(f'{n:,}' for n in part.loc[~part['passes'], 'n'])}",
            "closest margin": f"{part['margin'].min():.5f}",
            "vacuous": ", ".join(f"{x:.3g}" for x in part["vacuous"]) if part["vacuous"].any() else "–",
            "CE": bounds.entry(last["truth"]),
            "mean bound at the largest n": " to ".join(f"{x:.4f}" for x in (last["low"], last["high"]) if x == x),
        }
        rows[bounds.function(problem, config), bounds.plain(bounds.name(estimator, config)), f"{level:g}"] = row
    sizes = [f"n = {n:,}" for n in sorted(found["n"].unique())]
    made = bounds.frame(rows, ["problem", "bound", "level"], "share of samples whose bound holds the true value")
    return made[[*sizes, *(c for c in made.columns if c not in sizes)]]


def reproduced(records, config):
    """Coverage (rows '<problem id>, n = <n>', columns '<estimator id>, coverage', error sqrt(c (1 - c) / samples)) and, in
    columns '<estimator id>', the mean bounds, of the level of this run."""
    found = measured(records)
    share = pd.DataFrame(
        {
            "row": [f"{p}, n = {n}" for p, n in zip(found["problem"], found["n"])],
            "column": found["estimator"] + ", coverage",
            "value": found["coverage"],
            "error": np.sqrt(found["coverage"] * (1.0 - found["coverage"]) / found["samples"]),
            "reps": found["samples"],
        }
    )
    frames = [share, bounds.means(records, config)]
    if "prototype" in config["reasons"]:  # of another problem of the same kind: beside it, whatever its n
        lowest = found.groupby(["problem", "estimator"], sort=False).agg(value=("coverage", "min"), reps=("samples", "min"))
        lowest = lowest.reset_index().rename(columns={"problem": "row"})
        lowest["column"] = lowest["estimator"] + ", coverage"
        frames.append(lowest.drop(columns="estimator").assign(error=np.nan, why=config["reasons"]["prototype"]))
    return bounds.answer(config["compare"], pd.concat(frames, ignore_index=True))
