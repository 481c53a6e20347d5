"""Conclusions of the paper as tests, on its own numbers and networks where these are at hand.

CLAIMS.md has the rules, and says when they were written. A claim about the published estimators is
tested on these. "Without dropping" and "corrected" in a name mean the corrected estimators on the
same split and folds (ids that end in `_split_gruber2025`). Shares and means count a network once.
Networks of one data set share its labels.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.evaluation import claims, items
from harness.figures import claims_plot

from . import fig1
from .claim_numbers import NOT_RUN, NetworkNumbers, exact, jackknife, printed, select_cells, wide
from .printed_claims import (
    agreement,
    gap_of_kde,
    printed_gap,
    printed_lead,
    printed_spread,
    printed_trend,
)
from .risk_curve_plot import curves
from .tuned import BASES

IDS = ("binned15", "tuned_binned", "tuned_kde", "tuned_kkr", "tuned_ukkr")  # in the order of BASES
PUBLISHED = {f"{name}_gruber2025": base for name, base in zip(IDS, BASES)}
CORRECTED = {
    f"{name.replace('binned15', 'crossfit_binned15')}_split_gruber2025": base
    for name, base in zip(IDS, BASES)
}
# The estimators behind the printed numbers: kernel ridge with the ridge that float32 chose.
PRINTED = {
    name.replace("tuned_kkr", "kkr_float32_ridge").replace("tuned_ukkr", "ukkr_float32_ridge"): base
    for name, base in PUBLISHED.items()
}
KDE = {"tuned_kde_split_gruber2025": "kde"}
HALVES = "gruber2025_halves"
CIFAR10 = ["cifar10_densenet40_toplabel", "cifar10_resnet110_toplabel"]
CIFAR100 = ["cifar100_densenet40_toplabel", "cifar100_resnet110_toplabel"]
NETWORKS = [*CIFAR10, *CIFAR100]  # the networks of Tables 1 and 2 that are at hand
DENSENET = CIFAR10[0]
LENET = "LeNet-5"
TOP_LABEL = [
    f"gruber2025_{name}"
    for name in (
        "table1",
        "table2",
        "table1_offline",
        "table2_offline",
        "table4_offline",
        "table6_offline",
    )
]
CANONICAL = ["gruber2025_table3_offline", "gruber2025_table5_offline"]
SHARED = "networks of one data set share its test images"
ON_VECTORS = BASES[2:]  # binning needs scalars
MISALIGNED, ALIGNED = "tuned_kkr_gruber2025", "tuned_kkr_aligned_gruber2025"
JACKKNIFE = "interval by 100 random halves of its rows"
FOUR = f"DenseNet-40 and ResNet-110 on CIFAR-10 and CIFAR-100; {JACKKNIFE}"
ONE_IS_OURS = "one standard error is ours"


def statistics(records, settings) -> dict[str, claims.Statistic]:
    """Return {claim: statistic}; a claim whose records are missing is untested."""
    in_halves = records["experiment"].eq(HALVES)
    whole, halves = records[~in_halves], records[in_halves]
    right, code = select_cells(whole, CORRECTED), select_cells(whole, PUBLISHED)
    top_right, top = (frame[frame["experiment"].isin(TOP_LABEL)] for frame in (right, code))
    canonical = code[code["experiment"].isin(CANONICAL)]
    published = NetworkNumbers(whole, halves, PRINTED)
    kde = NetworkNumbers(whole, halves, KDE)
    tables = printed()
    by_claim = {
        "the risk finds the truth": valley(records[records["experiment"].eq("gruber2025_fig1")]),
        "few inputs are dropped": dropped(records[records["experiment"].eq(TOP_LABEL[0])]),
        "dropping them has no effect": dropping(published, kde),
        "kde is worst beyond the error bars": printed_gap(
            tables.loc["table1"].drop(LENET),
            "Table 1 as printed, without LeNet-5, which the same paragraph excepts; LeNet-5 has "
            f"{printed_gap(tables.loc['table1'].loc[[LENET]], '').value:.2g}",
        ),
        "kde is worst on CIFAR-10": worst(published, CIFAR10),
        "kde is worst on CIFAR-100": worst(published, CIFAR100),
        "kde is worst without dropping": beyond_bins(published, kde),
        "kde is an outlier": outlier(published, published, "as Figure 2a; 1.25 is ours"),
        "kde is an outlier without dropping": outlier(
            published, kde, "as Figure 2a but for dropping no point; 1.25 is ours"
        ),
        "the risk marks outlying estimates": marks(top, "as published"),
        "the risk marks outlying estimates without dropping": marks(top_right, "corrected"),
        "differences are within the error bars": spread(top),
        "no estimator dominates": dominance(top),
        "ukkr has the least risk on CIFAR-10": lead(published, CIFAR10, "ukkr"),
        "tuned bins have the least risk on CIFAR-100": lead(published, CIFAR100, "bins"),
        "ukkr beats kkr in all results": printed_trend(tables),
        "canonical kde wins in some cases": least(canonical, "kde"),
        "most estimates of Figure 5 agree": agreement(),
        "kernel ridge as published fits its own labels": labels(
            records[records["experiment"].eq("gruber2025_own_labels")]
        ),
        "tuning is costly": cost(halves),
        "kde is worst on two medical sets": printed_lead(
            tables.loc["table6"].loc[["Blood", "Derma"]],
            "Table 6 as printed, with its standard errors, as if independent",
        ),
        "the risk is insensitive on LeNet-5": printed_spread(
            [tables.loc[table].loc[[LENET]] for table in ("table1", "table2")],
            BASES,
            f"Tables 1 and 2 as printed; {ONE_IS_OURS}",
        ),
        "the risk is insensitive on another LeNet-5": largest_spread(
            top[top["problem"].isin(["cifar10_lenet5", "cifar100_lenet5"])],
            BASES,
            f"LeNet-5 of NetCal on both data sets; {ONE_IS_OURS}",
        ),
        "canonical risks are similar on CIFAR-10": printed_spread(
            [tables.loc["table5"]], ON_VECTORS, f"Table 5 as printed; {ONE_IS_OURS}"
        ),
        "canonical risks are similar on other CIFAR-10 networks": largest_spread(
            canonical[canonical["experiment"].eq(CANONICAL[1])],
            ON_VECTORS,
            f"five networks at hand, all 10,000 rows; {ONE_IS_OURS}",
        ),
    }
    return {
        name: statistic if np.isfinite(statistic.value) else claims.untested(NOT_RUN)
        for name, statistic in by_claim.items()
    }


render, table, summary, reproduced = claims_plot.item_functions(statistics)


# Statistics


def valley(records):
    """Test the mean risk at theta = 1 minus the smaller mean risk half an octave away.

    The difference is paired over the repetitions.
    """
    if not items.with_number(records, "l2_squared")["diagnostics"].notna().any():
        return claims.untested(NOT_RUN)
    thetas, risks, _ = curves(records)
    truth, *sides = (risks[:, fig1._nearest(thetas, theta)] for theta in (1.0, 0.5**0.5, 2.0**0.5))
    keys = items.with_number(records, "l2_squared")["key"]
    nearest = min(sides, key=np.mean)
    return claims.estimate_difference(
        truth, nearest, keys, claims.PAPER, "400 repetitions of the paper's simulation, n = 500"
    )


def dropped(records):
    """Test the share of DenseNet-40's confidences that float32 rounds to 1."""
    cells = records[
        records["estimator"].eq("saturated_share") & records["problem"].eq(f"{DENSENET}_gruber2025")
    ]
    cells = items.with_diagnostics(items.with_number(cells), "saturated_share").drop_duplicates(
        "key"
    )
    if not len(cells):
        return claims.untested(NOT_RUN)
    cell = cells.iloc[0]
    return claims.estimate_share(
        round(cell["saturated_share"] * cell["n"]),
        cell["n"],
        [cell["key"]],
        claims.PAPER,
        "all rows of its file, of the networks at hand the one with the largest share; 5 % is ours",
    )


def dropping(published, kde):
    """Test the root risk of kde as published over that without dropping, on the worst network."""
    parts = []
    for problem in NETWORKS:
        ratio = [
            first.get("kde", np.nan) / second.get("kde", np.nan)
            for first, second in zip(published(problem), kde(problem))
        ]
        keys = [*published.keys, *kde.keys]
        parts.append(jackknife(*ratio, keys, None, claims.among(len(NETWORKS))))
    return claims.largest(parts, f"{FOUR}; 5 % is ours")


def worst(published, networks):
    """Test kde's root risk as published minus the largest of the others, on the nearest network."""
    parts = [
        jackknife(
            *(gap_of_kde(numbers) for numbers in published(problem)),
            published.keys,
            None,
            claims.among(len(networks)),
        )
        for problem in networks
        if "kde" in published(problem)[0]
    ]
    return claims.smallest(parts, f"DenseNet-40 and ResNet-110; {JACKKNIFE}")


def beyond_bins(published, kde):
    """Test the root risk of kde without dropping minus that of 15 bins, on the worst network."""
    parts = []
    for problem in NETWORKS:
        if "kde" in kde(problem)[0]:
            gap = [
                kept["kde"] - other["15 bins"]
                for kept, other in zip(kde(problem), published(problem))
            ]
            keys = [*published.keys, *kde.keys]
            parts.append(jackknife(*gap, keys, None, claims.among(len(NETWORKS))))
    why = "the paper's sentence is on CIFAR-10, and its kde drops rows, with which it is worst"
    return claims.largest(parts, f"{FOUR}; {why}")


def outlier(published, kde, why):
    """Test the estimate of `kde` over the largest estimate of the others, on DenseNet-40."""
    ratio = [
        kept.get("kde", np.nan) / other.drop(**{axis: "kde"}, errors="ignore").max(axis=number)
        for kept, other, axis, number in zip(
            kde(DENSENET, "rms"), published(DENSENET, "rms"), ("labels", "columns"), (0, 1)
        )
    ]
    return jackknife(*ratio, [*published.keys, *kde.keys], f"{why}; {JACKKNIFE}")


def marks(top, variant):
    """Test if estimators with a large risk have outlying estimates.

    The statistic is a rank correlation over five estimators, one value per network. It is that of
    the risk and the distance of the estimate from the median estimate.
    """
    risk, rms = wide(top), wide(top, "rms")
    away = rms.sub(rms.median(axis=1), axis=0).abs()
    each = risk.corrwith(away, axis=1, method="spearman") if len(risk) else []
    return claims.estimate_mean(
        each, top["key"], claims.OURS, f"five estimators on each network, {variant}; {SHARED}"
    )


def spreads(rows, bases):
    """Return the largest difference of two root risks over the largest error, by network."""
    risk, error = wide(rows, bases=bases), wide(rows, "root_risk_se", bases)
    return (risk.max(axis=1) - risk.min(axis=1)) / error.max(axis=1)


def spread(top):
    """Test the mean over the networks of `spreads`, without kde."""
    bases = [base for base in BASES if base != "kde"]
    each = spreads(top, bases) if len(top) else []
    return claims.estimate_mean(
        each, top["key"], claims.OURS, f"four estimators on each network, as published; {SHARED}"
    )


def largest_spread(rows, bases, why):
    """Test the largest of `spreads` over the networks of `rows`."""
    return exact(spreads(rows, bases).max(), rows["key"], claims.OURS, why)


def dominance(top):
    """Test the largest share of the networks on which one estimator has the smallest risk."""
    rows = wide(top)
    first = rows.idxmin(axis=1).value_counts() if len(rows) else pd.Series({"none": 0})
    why = f"five estimators on each network, as published; most often the least: {first.index[0]}"
    return claims.estimate_share(
        first.iloc[0], len(rows), top["key"], claims.OURS, why, claims.among(len(BASES))
    )


def lead(published, networks, best):
    """Test the smallest lead of `best` over another estimator, in the mean root risk of networks.

    The intervals hold for all other estimators at once. The networks share their test images. So
    their errors are added as if they were fully correlated, which can only widen the interval.
    """
    others = [base for base in BASES if base != best]
    parts = []
    for other in others:
        pairs = [published(problem) for problem in networks]
        if all(other in whole_rows and len(many) > 1 for whole_rows, many in pairs):
            gaps = [
                (whole_rows[other] - whole_rows[best], many[other] - many[best])
                for whole_rows, many in pairs
            ]
            mean, error = (
                np.mean([gap for gap, _ in gaps]),
                np.mean([many.std(ddof=1) for _, many in gaps]),
            )
            reps = min(len(many) for _, many in gaps)
            parts.append(
                claims.attach_interval(
                    mean,
                    error,
                    reps,
                    published.keys,
                    claims.PAPER,
                    other,
                    claims.among(len(others)),
                )
            )
    if not parts:
        return claims.untested(NOT_RUN)
    closest = min(parts, key=lambda part: part.value).why
    return claims.smallest(
        parts, f"DenseNet-40 and ResNet-110, as Tables 1 and 2; the next is {closest}; {JACKKNIFE}"
    )


def least(canonical, base):
    """Test the number of networks on which `base` has the smallest risk."""
    rows = wide(canonical, bases=ON_VECTORS)
    wins = rows.idxmin(axis=1).eq(base).sum() if len(rows) else np.nan
    why = f"{len(rows)} networks on CIFAR-10 and CIFAR-100, all 10,000 rows"
    return exact(float(wins), canonical["key"], claims.OURS, why)


def labels(records):
    """Test canonical kkr as published over kkr that is fitted on the right labels.

    The result is the mean ratio over the samples.
    """
    cells = items.with_number(records, "rms", "canonical")
    cells = cells[
        cells["problem"].eq("simplex5_gruber2025") & cells["estimator"].isin([MISALIGNED, ALIGNED])
    ]
    both = cells.pivot_table(index="rep", columns="estimator", values="value").reindex(
        columns=[MISALIGNED, ALIGNED]
    )
    ratio = both[MISALIGNED] / both[ALIGNED]
    return claims.estimate_mean(
        ratio,
        cells["key"],
        claims.OURS,
        "the model of Figure 1 at n = 1,000, known truth; a property of the published code, not of "
        "the derivation",
    )


def cost(records):
    """Test log10 of the CPU seconds of the cheapest tuned estimator over those of the plug-in.

    There is one value per half: the mean over the networks.
    """
    cells = items.with_number(records).drop_duplicates("key")
    seconds = cells.pivot_table(
        index=["problem", "rep"], columns="estimator", values="cpu_seconds", aggfunc="first"
    )
    tuned = [name for name in PUBLISHED if name in seconds and name != "binned15_gruber2025"]
    if "binned15" not in seconds or not tuned:
        return claims.untested(NOT_RUN)
    ratio = np.log10(seconds[tuned].min(axis=1) / seconds["binned15"])
    why = (
        "bins, kde, kkr and ukkr on 100 halves of four networks, CPU seconds of one thread here; "
        "a factor of ten is ours"
    )
    return claims.estimate_mean(ratio.groupby("rep").mean(), cells["key"], claims.PAPER, why)
