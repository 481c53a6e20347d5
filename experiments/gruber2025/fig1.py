"""Figure 1: risk of the estimators v_theta = f - P^theta / sum(P^theta) against theta.

f is the prediction and P the true distribution of the label. At theta = 1 the estimator is exact.
"""

import numpy as np
import pandas as pd

from harness.common import wording
from harness.common.paths import EXPERIMENTS
from harness.evaluation import items, reproduction, text_tables
from harness.evaluation.selection import label

from .risk_curve_plot import curves, draw, sd

MODEL = "section5_1"  # item of the numbers that the text states of the simulated model
EXACT, CODE = "exact", "authors' code, seed 0"
PLACES = {
    "near the local minimum": 0.16,
    "near h = 0": 0.3,
    "smallest theta": 0.0,
    "largest theta": np.inf,
}


def reported(item):
    """Return theta and risk of a reported curve."""
    frame = reproduction.reported("gruber2025", [item])
    return frame["row"].str.removeprefix("theta = ").astype(float).to_numpy(), frame[
        "value"
    ].to_numpy()


def exact_risk():
    """Return theta and the exact risk, computed by quadrature and accurate to 1e-4 (NOTES.md)."""
    return tuple(
        pd.read_csv(EXPERIMENTS / "gruber2025" / "fig1_population.csv")[["theta", "risk"]]
        .to_numpy()
        .T
    )


def render(records, settings):
    """Draw our curve, the exact risk, and the paper's mean curve as read from its figure."""
    return draw(
        records, {"exact risk": exact_risk()}, {"paper (read from its figure)": reported("fig1")}
    )


def table(records, settings):
    """Return the content of the figure as numbers.

    The columns are the exact risk, the authors' code with seed 0, and ours with its standard error.
    """
    thetas, risks, chosen = curves(records)
    mean, error, ours = (
        risks.mean(axis=0),
        sd(risks) / np.sqrt(len(risks)),
        label(settings, "estimator", "risk_curve"),
    )
    places = {
        f"risk at {thetas[_nearest(thetas, at)]:.4g} ({text})": at for text, at in PLACES.items()
    }
    exact = exact_risk()
    cells = {
        EXACT: (*exact, None),
        CODE: (*reported("fig1_authors_code"), None),
        ours: (thetas, mean, error),
    }
    rows = {}
    for name, (t, risk, se) in cells.items():
        best, left = risk.argmin(), risk[t < 0.3].argmin()
        indices = {"risk there": best, **{row: _nearest(t, x) for row, x in places.items()}}
        texts = {
            row: wording.format_fixed(risk[i], np.nan if se is None else se[i], 6)
            for row, i in indices.items()
        }
        texts = {"theta of the smallest mean risk": f"{t[best]:.4g}", **texts}
        for row, text in {
            **texts,
            "theta of the local minimum below 0.3": f"{t[left]:.4g}",
        }.items():
            rows.setdefault(row, {})[name] = text
    low, high = np.quantile(chosen, [0.05, 0.95])
    rows["theta chosen by one repetition, 5 to 95 %"] = {
        CODE: "0.84 to 1.23",
        ours: f"{low:.3g} to {high:.3g}",
    }
    worst = np.max(np.abs(mean - exact[1]) / error)
    rows["largest |mean - exact| in standard errors"] = {CODE: "0.6", ours: f"{worst:.2g}"}
    fine = items.with_number(records, "l2_squared")
    truth, value = fine["truth"].iloc[0], items.means(fine, ["estimator"]).iloc[0][["mean", "se"]]
    rows["squared calibration error"] = {
        EXACT: wording.format_fixed(truth, digits=6),
        ours: wording.format_fixed(*value, 6),
    }
    return text_tables.wide(rows, ["quantity"], "mean ± standard error over the repetitions", cells)


def _nearest(thetas, at):
    """Return the index of the value of `thetas` that is nearest to `at` on a log scale.

    `at` may be 0 or infinite.
    """
    return int(np.abs(np.log(thetas / np.clip(at, thetas[0], thetas[-1]))).argmin())


def reproduced(records, settings):
    """Return our mean risks at the values of theta that were read, and the model's accuracy.

    The risk is interpolated linearly in log theta.
    """
    thetas, risks, _ = curves(records)
    asked = items.printed(settings)[["item", "row", "column"]]
    asked = asked[asked["column"].eq("risk")]
    log_theta = np.log(asked["row"].str.removeprefix("theta = ").astype(float))
    read = np.array([np.interp(log_theta, np.log(thetas), curve) for curve in risks])
    keys = tuple(items.with_number(records, "l2_squared").get("key", ()))
    curve = asked.assign(
        value=read.mean(axis=0),
        error=sd(read) / np.sqrt(len(read)),
        reps=len(read),
        keys=[keys] * len(asked),
    )
    right = items.with_number(records, "accuracy")
    rights = items.means(items.labelled(right, settings), ["model"]) if len(right) else right
    return items.joined([curve, items.numbers(rights, "{model}", "accuracy").assign(item=MODEL)])
