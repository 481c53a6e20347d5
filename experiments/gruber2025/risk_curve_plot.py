"""Figure of the estimator `risk_curve`: risk against theta, and the theta of smallest risk."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.evaluation import items
from harness.figures import panels
from harness.figures.style import COLOURS

TICKS = (0.125, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0)
EXACT = {"color": "black", "linestyle": (0, (4, 3)), "linewidth": 0.9, "zorder": 4}
READ = panels.look(3, filled=False, markersize=2.6, markeredgewidth=0.6, markevery=2, zorder=2) | {
    "color": "0.35"
}


def curves(records: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the risk curves of all cells.

    Returns
    -------
    theta : ndarray of shape (m,)
        The exponents.
    risks : ndarray of shape (repetitions, m)
        The risk at each exponent.
    chosen : ndarray of shape (repetitions,)
        The exponent of smallest risk.

    Raises
    ------
    BadInputError
        If no cell gave a curve.
    """
    fine = items.with_number(records, "l2_squared")
    fine = fine[fine["arrays"].notna()].sort_values("rep")
    if fine.empty:
        raise BadInputError(
            "no cell has a risk curve; run the estimator risk_curve on a problem with a known "
            "posterior."
        )
    # The rows of reported numbers have six digits.
    theta = np.array([float(f"{t:.6g}") for t in fine["arrays"].iloc[0]["theta"]])
    risks = np.stack([arrays["risk"] for arrays in fine["arrays"]])
    return theta, risks, theta[risks.argmin(axis=1)]


def sd(risks: np.ndarray) -> np.ndarray:
    """Return the standard deviation of `risks` (repetitions, m) over repetitions, shape (m,).

    It is NaN for a single repetition.
    """
    return risks.std(axis=0, ddof=1) if len(risks) > 1 else np.full(risks.shape[1], np.nan)


def draw(records: pd.DataFrame, exact: Mapping[str, tuple], read: Mapping[str, tuple]):
    """Draw the risk curve on the left, and a histogram of the chosen exponents on the right.

    The curve is the mean over the repetitions, with a band of one standard deviation.

    Parameters
    ----------
    records : DataFrame
        Records, from `harness.load_records`.
    exact, read : mapping
        {label: (theta, risk)} of exact curves (dashed) and of curves read from a figure (open
        marks).
    """
    thetas, risks, chosen = curves(records)
    figure, ((ax, side),) = panels.grid(1, 2, 2.5, width_ratios=[2.1, 1.0])
    mean, spread = risks.mean(axis=0), sd(risks)
    ax.axvline(1.0, color=COLOURS[1], linewidth=1.0, label="truth, $\\theta = 1$", zorder=1)
    band = {"color": COLOURS[0], "alpha": 0.2, "linewidth": 0, "label": "± one standard deviation"}
    ax.fill_between(thetas, mean - spread, mean + spread, **band)
    ax.plot(thetas, mean, color=COLOURS[0], label=f"mean of {len(risks)} repetitions", zorder=3)
    for known, how in ((exact, EXACT), (read, READ)):
        for text, curve in known.items():
            ax.plot(*curve, label=text, **how)
    ax.set(xscale="log", xlabel=r"exponent $\theta$", ylabel="risk of $h_\\theta$ (eq. 20)")
    ax.set_ylim(0.8 * np.nanmin([mean, mean - spread]), None)
    low, middle, high = np.quantile(chosen, [0.05, 0.5, 0.95])
    edges = np.append(thetas, thetas[-1] * thetas[1] / thetas[0]) / np.sqrt(thetas[1] / thetas[0])
    side.hist(chosen, bins=edges, color=COLOURS[0], alpha=0.75)
    side.axvline(1.0, color=COLOURS[1], linewidth=1.0)
    side.set(xscale="log", xlim=(min(0.5, chosen.min() / 1.1), max(2.0, chosen.max() * 1.1)))
    ticks = [t for t in TICKS if side.get_xlim()[0] <= t <= side.get_xlim()[1]]
    side.set_xticks(ticks, [f"{t:g}" for t in ticks])
    side.set_xticks([], minor=True)
    side.set(xlabel=r"$\theta$ of smallest risk", ylabel="repetitions")
    side.set_title(f"median {middle:.3g}, 90 % in {low:.3g} to {high:.3g}")
    panels.legend(figure, ax, 3, columnspacing=1.4)
    return figure
