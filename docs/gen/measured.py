"""Numbers of the arena that the explanations quote, from what is stored in results/."""

from __future__ import annotations

import functools

import pandas as pd
from marks import DOCS, table

RESULTS = DOCS.parent / "results"
BINNING = {  # problem: what it stands for
    "beta_calibrated": "calibrated",
    "ties_k3_calibrated": "calibrated, few distinct scores",
    "fitted_images_k10_wideresnet_focalloss": "Wide ResNet on CIFAR-10, focal loss (labels redrawn)",
    "fitted_tabular_k3_connect_4": "gradient boosting and others on a table (labels redrawn)",
    "beta_overconfident": "over-confident",
    "wavy_k2": "over- and under-confident in turn",
    "stepped_k2": "piecewise constant",
    "wavy_k3": "over- and under-confident in turn, 3 classes",
}


@functools.cache
def _records() -> pd.DataFrame:
    from harness.runs import baseline

    return baseline.load()


def binning() -> str:
    """Mean of 15 bins of equal width less the truth, l1, by problem and n, with its standard error."""
    found = _records()
    found = found[found["estimator"].eq("binned15") & found["estimand"].eq("l1") & found["value"].notna()]
    rows = []
    for problem, said in BINNING.items():
        mine = found[found["problem"].eq(problem)]
        means = mine.groupby("n")["value"].agg(["mean", "sem"])
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in means.to_numpy()]
        rows.append([f"{said} (`{problem}`)", f"{mine['truth'].iloc[0]:.3f}", *cells])
    return table(["model", "true error", *(f"15 bins, n = {n:,}" for n in means.index)], rows)


def regret() -> str:
    """The estimators of least mean regret by notion and estimand, from results/arena/index.csv."""
    found = pd.read_csv(RESULTS / "arena" / "index.csv")
    found = found[found["share"].eq(1) & found["rank"].notna()]  # those that answer in every setting; no oracle
    parts = []
    for (notion, estimand), group in found.groupby(["notion", "estimand"], sort=False):
        rows = []
        for _, one in group.sort_values("regret").head(5).iterrows():
            mean = f"{one['regret']:.2f} ({one['low']:.2f} to {one['high']:.2f})"
            coverage = "" if pd.isna(one["coverage"]) else f"{100 * one['coverage']:.0f} %"
            worst = f"{one['worst']:.1f} ({one['worst_at']})"
            rows.append([f"`{one['estimator']}`", mean, worst, coverage, f"{one['cpu_seconds']:.2g} s"])
        columns = ["estimator", "mean regret (95 % interval)", "worst cell (family, n, k)", "intervals hold", "CPU"]
        parts.append(f"### {notion}, {estimand}\n\n{table(columns, rows)}")
    return "\n\n".join(parts)
