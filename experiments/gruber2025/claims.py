"""Conclusions of the paper as tests: on its own numbers and networks if available, else on others.

Estimators are compared as corrected, on one split and its folds (`..._split_gruber2025`), unless a
claim is about the published code itself. Shares and means count a network once; networks of one
data set share its labels.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.evaluation import claims, items, reproduction
from harness.figures import claims_plot

from . import fig1
from .risk_curve_plot import curves
from .tuned import BASES

IDS = ("binned15", "tuned_binned", "tuned_kde", "tuned_kkr", "tuned_ukkr")  # as BASES
PUBLISHED = {f"{name}_gruber2025": base for name, base in zip(IDS, BASES)}
CORRECTED = {
    f"{name.replace('binned15', 'crossfit_binned15')}_split_gruber2025": base
    for name, base in zip(IDS, BASES)
}
DENSENET, RESNET = "cifar10_densenet40_toplabel_gruber2025", "cifar10_resnet110_toplabel_gruber2025"
TOP_LABEL = [
    f"gruber2025_{name}"
    for name in ("table1", "table1_offline", "table2_offline", "table4_offline", "table6_offline")
]
CIFAR10 = TOP_LABEL[:2]
CIFAR100, CANONICAL = (
    "gruber2025_table2_offline",
    ["gruber2025_table3_offline", "gruber2025_table5_offline"],
)
NOT_RUN = "needs the records of the experiments that it is made of: `calharness experiment=gruber2025_claims` computes them"
TABLES = [f"table{i}" for i in range(1, 7)]
SE = " (standard error)"
SHARED = "networks of one data set share its test images"
ON_VECTORS = BASES[2:]  # binning is of scalars
MISALIGNED, ALIGNED = "tuned_kkr_gruber2025", "tuned_kkr_aligned_gruber2025"


def statistics(records, settings) -> dict[str, claims.Statistic]:
    """Return {claim: statistic}."""
    right, code = of_variant(records, CORRECTED), of_variant(records, PUBLISHED)
    top, canonical = (
        right[right["experiment"].isin(TOP_LABEL)],
        right[right["experiment"].isin(CANONICAL)],
    )
    own = [frame[frame["experiment"].eq(TOP_LABEL[0])] for frame in (right, code)]
    by_claim = {
        "the risk finds the truth": valley(records[records["experiment"].eq("gruber2025_fig1")]),
        "few inputs are dropped": dropped(records[records["experiment"].eq(TOP_LABEL[0])]),
        "dropping them has no effect": dropping(*own),
        "kde is worst beyond the error bars": printed_gap(),
        "kde is worst": worst(own[0]),
        "kde is an outlier": outlier(own[0]),
        "the risk marks outlying estimates": marks(top),
        "differences are within the error bars": spread(top),
        "the risk cannot rank estimators": ranks(top),
        "no estimator dominates": dominance(top),
        "ukkr has the least risk on CIFAR-10": lead(
            top[top["experiment"].isin(CIFAR10)], "ukkr", "CIFAR-10"
        ),
        "tuned bins have the least risk on CIFAR-100": lead(
            top[top["experiment"].eq(CIFAR100)], "bins", "CIFAR-100"
        ),
        "ukkr beats kkr in all results": printed_trend(),
        "canonical kde wins in some cases": least(canonical, "kde"),
        "canonical estimates agree": agreement(canonical[canonical["experiment"].eq(CANONICAL[1])]),
        "kernel ridge fits its own labels": labels(
            records[records["experiment"].eq("gruber2025_own_labels")]
        ),
        "tuning is costly": cost(records[records["experiment"].eq("gruber2025_fig3")]),
    }
    return {
        name: one if np.isfinite(one.value) else claims.untested(NOT_RUN)
        for name, one in by_claim.items()
    }


render, table, summary, reproduced = claims_plot.item_functions(statistics)


# Records and reported numbers as frames


def of_variant(records, ids) -> pd.DataFrame:
    """Return the cells of the estimators `ids` {id: base}.

    Columns: experiment, problem, base, key, rms, root_risk and root_risk_se (x 100).
    """
    cells = items.with_number(records[records["estimator"].isin(ids)], "rms").rename(
        columns={"value": "rms"}
    )
    cells = items.with_diagnostics(cells, "root_risk", "root_risk_se").assign(
        base=cells["estimator"].map(ids)
    )
    cells = cells.drop_duplicates(["experiment", "key"]).astype(
        {"root_risk": float, "root_risk_se": float}
    )
    cells[["root_risk", "root_risk_se"]] *= 100.0
    return cells[["experiment", "problem", "base", "key", "rms", "root_risk", "root_risk_se"]]


def wide(rows, value="root_risk", bases=BASES) -> pd.DataFrame:
    """Return one row per network and a column per estimator, for networks that have all of them."""
    return (
        rows.pivot_table(index="problem", columns="base", values=value, sort=False)
        .reindex(columns=list(bases))
        .dropna()
    )


def printed() -> pd.DataFrame:
    """Return Tables 1 to 6: one row per (item, row), columns for estimators and standard errors."""
    cells = reproduction.reported("gruber2025", TABLES)
    return cells.pivot_table(index=["item", "row"], columns="column", values="value", sort=False)


def exact(value, keys, where, why):
    """Return claims.exact of a number of given data; untested if it is missing."""
    return (
        claims.untested(NOT_RUN)
        if not np.isfinite(value)
        else claims.exact(value, 0.0, keys, where, why)
    )


# Statistics


def valley(records):
    """Test the mean risk at theta = 1 minus the smaller of those half an octave away.

    The difference is paired over the repetitions.
    """
    if not items.with_number(records, "l2_squared")["diagnostics"].notna().any():
        return claims.untested(NOT_RUN)
    thetas, risks, _ = curves(records)
    at, *sides = (risks[:, fig1._nearest(thetas, theta)] for theta in (1.0, 0.5**0.5, 2.0**0.5))
    keys = items.with_number(records, "l2_squared")["key"]
    nearest = min(sides, key=np.mean)
    return claims.estimate_difference(
        at, nearest, keys, claims.PAPER, "400 repetitions of the paper's simulation, n = 500"
    )


def dropped(records):
    """Test the share of DenseNet-40's confidences that float32 rounds to 1."""
    cells = records[records["estimator"].eq("saturated_share") & records["problem"].eq(DENSENET)]
    cells = items.with_diagnostics(items.with_number(cells), "saturated_share").drop_duplicates(
        "key"
    )
    if not len(cells):
        return claims.untested(NOT_RUN)
    one = cells.iloc[0]
    return claims.estimate_share(
        round(one["saturated_share"] * one["n"]),
        one["n"],
        [one["key"]],
        claims.PAPER,
        "all rows of its file; 5 % is ours",
    )


def dropping(right, code):
    """Test the ratio of kde's root risk as published to that without dropping (largest network)."""
    of = [
        frame[frame["base"].eq("kde")].set_index("problem")["root_risk"] for frame in (code, right)
    ]
    keys = pd.concat([code, right]).loc[lambda both: both["base"].eq("kde"), "key"]
    names = _named((of[0] / of[1]).dropna().index)
    return exact(
        (of[0] / of[1]).max(),
        keys,
        claims.PAPER,
        f"{names}, the same rows, split and folds; 5 % is ours",
    )


def _named(problems):
    """Return the names of the available networks of Table 1."""
    return " and ".join(
        {DENSENET: "DenseNet-40", RESNET: "ResNet-110"}.get(name, name) for name in problems
    )


def printed_gap():
    """Test kde's printed root risk minus the largest other, over its error (smallest network)."""
    one = printed().loc["table1"]
    others = one[[base for base in BASES if base != "kde"]]
    name = others.idxmax(axis=1)
    error = np.hypot(one["kde" + SE], [one.loc[row, base + SE] for row, base in name.items()])
    return exact(
        ((one["kde"] - others.max(axis=1)) / error).min(),
        (),
        claims.PAPER,
        "Table 1 as printed; it is LeNet-5's",
    )


def worst(right):
    """Test kde's root risk minus the largest of the others' (smaller of the two networks)."""
    rows = wide(right)
    gap = rows["kde"] - rows.drop(columns="kde").max(axis=1)
    why = f"{_named(gap.index)}, as Table 1 but for dropping no point"
    return exact(gap.min(), right["key"], claims.PAPER, why)


def outlier(right):
    """Test kde's estimate over the largest of the others', on DenseNet-40."""
    rows = wide(right, "rms").reindex([DENSENET])
    ratio = rows["kde"] / rows.drop(columns="kde").max(axis=1)
    keys = right.loc[right["problem"].eq(DENSENET), "key"]
    return exact(
        np.max(ratio),
        keys,
        claims.PAPER,
        "DenseNet-40, as Figure 2a but for dropping no point; published: 1.59; 1.25 is ours",
    )


def marks(top):
    """Test the rank correlation of risk and distance from the median estimate, over networks."""
    risk, rms = wide(top), wide(top, "rms")
    away = rms.sub(rms.median(axis=1), axis=0).abs()
    each = risk.corrwith(away, axis=1, method="spearman") if len(risk) else []
    return claims.estimate_mean(
        each, top["key"], claims.OURS, f"five estimators on each network, corrected; {SHARED}"
    )


def spread(top):
    """Test the largest difference of two root risks over their largest error, over networks."""
    risk, error = wide(top), wide(top, "root_risk_se")
    ratio = (risk.max(axis=1) - risk.min(axis=1)) / error.max(axis=1) if len(risk) else []
    return claims.estimate_mean(
        ratio, top["key"], claims.OURS, f"five estimators on each network, corrected; {SHARED}"
    )


def ranks(top):
    """Test the rank of the 15 bins by risk (5 is the worst) minus that of ukkr, over networks."""
    rows = wide(top).rank(axis=1)
    apart = rows["15 bins"] - rows["ukkr"] if len(rows) else []
    return claims.estimate_mean(
        apart,
        top["key"],
        claims.OURS,
        f"five estimators on each network, corrected, one rank is ours; {SHARED}",
    )


def dominance(top):
    """Test the largest share of the networks on which one estimator has the smallest risk."""
    rows = wide(top)
    first = rows.idxmin(axis=1).value_counts() if len(rows) else pd.Series({"none": 0})
    why = "five estimators on each network, corrected; most often the least: " + str(first.index[0])
    return claims.estimate_share(
        first.iloc[0], len(rows), top["key"], claims.OURS, why, claims.among(len(BASES))
    )


def lead(rows, best, data):
    """Test the smallest lead of `best` over another estimator, in the mean of root risks.

    The intervals hold for all other estimators at once.
    """
    risk, others = wide(rows), [base for base in BASES if base != best]
    level = claims.among(len(others))
    parts = [
        claims.estimate_difference(risk[other], risk[best], rows["key"], claims.OURS, level=level)
        for other in others
    ]
    worst = min(parts, key=lambda part: part.value)
    why = f"{len(risk)} networks on {data}, corrected, the same folds; the next is {others[parts.index(worst)]}"
    return claims.smallest(parts, f"{why}; the networks share the test images")


def printed_trend():
    """Test the share of differing columns of Tables 1 to 6 in which ukkr is printed below kkr."""
    both = printed()
    below, above = ((both["ukkr"] - both["kkr"]).mul(sign).lt(0).sum() for sign in (1, -1))
    why = f"as printed, {below} below and {above} above; the other {len(both) - below - above} of {len(both)} columns are equal"
    return claims.estimate_share(below, below + above, (), claims.PAPER, why)


def least(canonical, base):
    """Test the share of the networks on which `base` has the smallest risk."""
    rows = wide(canonical, bases=ON_VECTORS)
    wins = rows.idxmin(axis=1).eq(base).sum() if len(rows) else 0
    return claims.estimate_share(
        wins,
        len(rows),
        canonical["key"],
        claims.OURS,
        "CIFAR-10 and CIFAR-100 networks, labels aligned",
    )


def agreement(canonical):
    """Test the largest canonical estimate over the smallest, averaged over networks."""
    rows = wide(canonical, "rms", ON_VECTORS)
    ratio = rows.max(axis=1) / rows.min(axis=1) if len(rows) else []
    return claims.estimate_mean(
        ratio,
        canonical["key"],
        claims.OURS,
        f"kde, kkr and ukkr on CIFAR-10 networks, corrected; 1.5 is ours; {SHARED}",
    )


def labels(records):
    """Test the ratio of canonical kkr as published to kkr with its own labels, over samples."""
    cells = items.with_number(records, "rms", "canonical")
    cells = cells[
        cells["problem"].eq("simplex5_gruber2025") & cells["estimator"].isin([MISALIGNED, ALIGNED])
    ]
    both = cells.pivot_table(index="rep", columns="estimator", values="value").reindex(
        columns=[MISALIGNED, ALIGNED]
    )
    ratio = both[MISALIGNED] / both[ALIGNED]
    return claims.estimate_mean(
        ratio, cells["key"], claims.OURS, "the model of Figure 1 at n = 1,000, known truth"
    )


def cost(records):
    """Test log10 of CPU seconds over those of the plug-in on 15 bins, over tuned estimators."""
    cells = items.with_number(records).drop_duplicates("key")
    seconds = cells.pivot_table(index="problem", columns="estimator", values="cpu_seconds")
    tuned = [name for name in PUBLISHED if name in seconds and name != "binned15_gruber2025"]
    if "binned15" not in seconds or not tuned:
        return claims.untested(NOT_RUN)
    ratio = np.log10(seconds[tuned].div(seconds["binned15"], axis=0)).mean()
    why = "DenseNet-40 and ResNet-110, a value per tuned estimator, CPU seconds of one thread here; a factor of ten is ours"
    return claims.estimate_mean(ratio, cells["key"], claims.PAPER, why)
