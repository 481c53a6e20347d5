"""How often bounds and intervals hold the true value: the figure, and the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.report import items, panels, rates


def figure(found: pd.DataFrame, names: Mapping[str, str], problems: Sequence[str]):
    """Left: coverage of every estimator on every problem and n (colour: n), its level and the smallest coverage that passes.
    Right: the margin by which the closest of all samples is covered; left of 0 it is not.

    Parameters
    ----------
    found : DataFrame
        As of `rates.coverage`.
    names : mapping
        {id of an estimator: its name}, in the order of the rows; others are not drawn.
    problems : sequence of str
        The ids of the problems in their order.
    """
    rows, sizes = list(names), sorted(found["n"].unique())
    found = found[found["estimator"].isin(rows)]
    if not len(found):
        return panels.nothing()
    figure, ((left, right),) = panels.grid(1, 2, 1.0 + 0.27 * len(rows), sharey=True)
    for j, (n, mine) in enumerate(found.groupby("n")):
        at = mine["estimator"].map(rows.index) + 0.6 * (j + 0.5) / len(sizes) - 0.3
        at += 0.12 * (mine["problem"].map(list(problems).index) / max(len(problems), 2) - 0.5)
        look = panels.look(j, markersize=3, alpha=0.7)
        left.plot(mine["coverage"], at, label=f"$n$ = {n:,}", **look)
        right.plot(mine["margin"], at, **look)
    for level, count in sorted(set(zip(found["level"], found["samples"]))):
        left.axvline(level, color="0.2", linewidth=0.9, label="level")
        left.axvline(rates.least_coverage(level, count), color="0.2", linestyle=":", linewidth=0.9, label="smallest that passes")
    left.set(xlabel="coverage", xlim=(min(found["coverage"].min(), found["least"].min()) - 0.01, 1.005))
    right.axvline(0.0, color="0.2", linewidth=0.9)
    right.set_xscale("symlog", linthresh=1e-3)
    right.set(xlabel="margin of the closest sample", xlim=(min(-2e-3, 1.3 * found["margin"].min()), 1.0))
    for ax in (right, left):
        panels.name_rows(ax, list(names.values()))
    panels.legend(figure, left, columns=6)
    return figure


def entries(part: pd.DataFrame) -> dict[str, str]:
    """A row of a table out of the sizes of one problem, estimator and level, as of `rates.coverage`: coverage at every n, samples,
    the smallest that passes, the verdict, the closest margin, the share of vacuous bounds, the true value (CE), mean bounds at the
    largest n."""
    part = part.sort_values("n")
    last, lost, failed = part.iloc[-1], int(part["without"].sum()), part.loc[~part["passes"], "n"]
    return {f"n = {r.n:,}": f"{r.coverage:.4f}" for r in part.itertuples()} | {
        "samples": f"{part['samples'].min():,}" + (f" ({lost:,} without a number)" if lost else ""),
        "smallest that passes": f"{part['least'].min():.4f}",
        "verdict": f"fails at n = {', '.join(f'{n:,}' for n in failed)}" if len(failed) else "covers",
        "closest margin": f"{part['margin'].min():.5f}",
        "vacuous": ", ".join(f"{x:.3g}" for x in part["vacuous"]) if part["vacuous"].any() else "–",
        "CE": items.entry(last["truth"]),
        "mean bound at the largest n": " to ".join(f"{x:.4f}" for x in (last["low"], last["high"]) if x == x),
    }
