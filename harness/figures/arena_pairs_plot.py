"""The picture of the arena's pairs of models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation import arena_pairs
from harness.figures.arena_plot import NOTIONS, short
from harness.figures.style import WIDTH, nothing, pyplot

ROWS = 34
WORDS = {"l1": "L1 calibration errors", "l2_squared": "squared calibration errors"}


def render(found: pd.DataFrame, by: str) -> Any:
    """The share of pairs in the right order, shade and number, of every estimator: a column per notion, k and n, apart for close
    pairs and for far ones.

    Parameters
    ----------
    found : DataFrame
        Of `arena_pairs.shares`.
    by : {"l1", "l2_squared"}
        The estimand whose truths are the order.
    """
    if not found["by"].eq(by).any():
        return nothing()
    table = arena_pairs.wide(found, by)
    kept = [i for i, name in enumerate(table.index) if i < ROWS or name.startswith("best")]
    table = table.iloc[kept]
    plt = pyplot()
    panels = list(dict.fromkeys((c[0], c[1]) for c in table.columns))
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(WIDTH, 1.05 + 0.135 * len(table)),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for ax, panel in zip(axes.flat, panels):
        columns = [c for c in table.columns if (c[0], c[1]) == panel]
        values = table[columns].to_numpy()
        ax.pcolormesh(
            np.arange(len(columns) + 1) - 0.5, np.arange(len(table) + 1) - 0.5, np.clip(values, 0.5, 1.0), cmap="Blues",
            vmin=0.45, vmax=1.15, edgecolors="white", linewidth=0.4,
        )  # fmt: skip
        for (y, x), value in np.ndenumerate(values):
            said = f"{100 * value:.0f}" if value == value else "–"
            ax.text(
                x,
                y,
                said,
                ha="center",
                va="center",
                fontsize=5,
                color="white" if value > 0.93 else "black",
            )
        far = sum(c[3] == arena_pairs.CLOSE for c in columns)
        ax.axvline(far - 0.5, color="black", linewidth=0.8)
        ax.set_xticks(range(len(columns)), [f"{c[2]:,}" for c in columns], rotation=60, ha="right")
        ax.set_yticks(range(len(table)), [short(name) for name in table.index], fontsize=5.6)
        ax.set_ylim(len(table) - 0.5, -0.5)
        ax.set_title(f"{NOTIONS[panel[0]]}, k = {panel[1]}\n")
        for half, at in (
            (arena_pairs.CLOSE, (far - 1) / 2),
            (arena_pairs.FAR, (far + len(columns) - 1) / 2),
        ):
            ax.text(at, -0.75, half, ha="center", va="bottom", fontsize=6.5)
        ax.grid(False)
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
    figure.supxlabel("number of samples $n$", fontsize=8)
    figure.set_label(
        f"Percent of pairs of models in the right order of their true {WORDS[by]}, both models on the same rows: a coin has 50. "
        f"Close: the half of the pairs with the smaller differences; far: the others. Rows by their mean distance from the mean "
        f"of each column. Dash: the estimator has no such notion. One of another quantity is named with it. "
        f"An estimator whose bias grows with the error can order well and still be far off."
    )
    return figure
