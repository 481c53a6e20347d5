"""Write the arena results that docs/explanation quotes as Markdown tables.

The results come from the stored records in results/ and harness/judging.
"""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
from marks import DOCS, table

from harness.judging.measured import measurements
from harness.pages import arena_answers
from harness.records import baseline

RESULTS = DOCS.parent / "results"
BINNING = {  # {problem: name of the model in the table}
    "beta_calibrated": "calibrated",
    "ties_k3_calibrated": "calibrated, few distinct scores",
    "fitted_images_k10_resnet20": "ResNet-20 on CIFAR-10 (labels redrawn)",
    "fitted_tabular_k3_connect_4": "gradient boosting and others on a table (labels redrawn)",
    "beta_overconfident": "overconfident",
    "wavy_k2": "over- and underconfident in turn",
    "stepped_k2": "piecewise constant",
    "wavy_k3": "over- and underconfident in turn, 3 classes",
}


@functools.cache
def _records() -> pd.DataFrame:
    return baseline.load()


def binning() -> str:
    """Return a table of mean L1 errors by 15 equal-width bins, with one row per problem.

    The columns are the true error and, for each n, the mean with its standard error.
    """
    records = _records()
    is_binned = records["estimator"].eq("binned15") & records["estimand"].eq("l1")
    is_main = records["notion"].isin(("binary", "top_label"))
    records = records[is_binned & is_main & records["value"].notna()]
    rows = []
    for problem, name in BINNING.items():
        mine = records[records["problem"].eq(problem)]
        means = mine.groupby("n")["value"].agg(["mean", "sem"])
        numbers = [f"{mean:.3f} ± {error:.3f}" for mean, error in means.to_numpy()]
        rows.append([f"{name} (`{problem}`)", f"{mine['truth'].iloc[0]:.3f}", *numbers])
    return table(["model", "true error", *(f"15 bins, n = {n:,}" for n in means.index)], rows)


QUANTITIES = {  # {prefix or part of a quantity's name: name of the row in the table}
    "binary.l1.best": "L1 error, binary: learned estimate",
    "top_label.l1.best": "L1 error, top-label: learned estimate",
    "classwise.l1.best": "L1 error, class-wise: learned estimate",
    "canonical.l1.best": "L1 error, canonical: learned estimate",
    "brier.miscalibration": "part of the Brier score: learned estimate",
    ".l1.best_lower": "lower bounds of L1 errors: stack",
    ".l1.variational": "lower bounds of L1 errors: one calibrator",
    "log_loss.miscalibration": "part of the log-loss: lower bound",
    ".l1.certified": "L1 error: certified interval",
    "confidence_gap": "mean score minus frequency",
    "class.l1": "L1 error of one class",
    "group.gap": "mean score minus frequency of a group",
    "group.l1": "L1 error of a group",
    "log_loss.gain": "gain by recalibration, log-loss",
    "brier.gain": "gain by recalibration, Brier score",
    "versus.": "difference of two models",
}


def coverage() -> str:
    """Return a table of the lowest measured coverage of `judge`'s intervals, by quantity and n."""
    rows = measurements("coverage")
    shares = rows["covered"] / rows["draws"]
    sizes = sorted(rows["n"].unique())
    lines = []
    for start, name in QUANTITIES.items():
        is_kind = np.array([matches(quantity, start) for quantity in rows["quantity"]])
        texts = []
        for n in sizes:
            at_size = shares[is_kind & (rows["n"] == n)]
            texts.append(f"{100 * at_size.min():.0f} % ({len(at_size)})" if len(at_size) else "–")
        lines.append([name, *texts])
    return table(["interval", *(f"n = {n:,}" for n in sizes)], lines)


def matches(quantity: str, start: str) -> bool:
    """Return True if the name of a quantity matches `start`, a key of QUANTITIES.

    A key that begins with a dot matches anywhere in the name. Another key matches the beginning of
    the name, but not names of bounds of the estimator `best_lower`.
    """
    if start.startswith("."):
        return start in quantity
    return quantity.startswith(start) and not quantity.endswith("best_lower")


def recommendations() -> str:
    """Return one table per notion and estimand: `best` and the best published estimator at each n.

    The numbers are read from results/arena/index_recommendations.csv.
    """
    whole = pd.read_csv(RESULTS / "arena" / "index_recommendations.csv")
    columns = ["n", "`best` is off by", "best published", "is off by", "ratio [95 %]", "verdict"]
    parts = []
    for section in arena_answers.sections(whole):
        for board in section["boards"]:
            rows = []
            for line in board["lines"]:
                own, rival = line["own"], line["rival"]
                name = f"`{rival['name']}`" if rival else "–"
                errors = [who["rmse"] if who else "–" for who in (own, rival)]
                verdict = line["verdict"].partition(":")[0]
                rows.append([f"{line['n']:,}", errors[0], name, errors[1], line["ratio"], verdict])
            title = f"{section['name']}, {board['name']}"
            parts.append(f"### {title[0].upper()}{title[1:]}\n\n{table(columns, rows)}")
    return "\n\n".join(parts)
