"""Conclusions of the paper as tests, on its printed numbers and on records of its experiments.

A claim about all n, or about all numbers of classes, is tested in the worst case. Its intervals
hold for all cases at once.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from harness.evaluation import claims, items
from harness.evaluation.claims import OURS, PAPER
from harness.figures import claims_plot

from . import (
    bias_rate,
    comparisons,
    curves,
    fig5,
)
from .claim_records import absent, configured, part
from .fig2 import BINNED, DIRECT, RISK
from .network_claims import claims_on_networks, claims_on_recalibration, claims_on_training
from .printed_claims import claims_on_printed_curves, claims_on_printed_tables


def statistics(records, settings):
    """Return {claim: statistic}; a claim without numbers is untested, with the reason."""
    by_claim = {}
    for make in (
        claims_on_printed_tables,
        claims_on_printed_curves,
        claims_on_simulations,
        claims_on_rates,
        claims_on_recalibration,
        claims_on_networks,
        claims_on_training,
    ):
        by_claim |= make(records, settings)
    return by_claim


render, table, summary, reproduced = claims_plot.item_functions(statistics)


# Simulations


def claims_on_simulations(records, settings):
    """Test the claims on Figures 2 and 5."""
    by_claim = {}
    for name, estimand, more in (
        ("kernel is better than bins, KL", "kl", ""),
        (
            "kernel is better than the usual bins, squared L2",
            "l2_squared",
            ", but for metric and bins: the paper's sentence is on KL, and on bins in which each "
            "point is compared with the mean label",
        ),
    ):
        fine = curves.in_two_columns(
            items.with_number(part(records, settings, "fig2a")[0], estimand)
        )
        why = "Figure 2a's setting, 20 paired samples of each n from 100 to 10,000" + more
        by_claim[name] = least_clear(fine, BINNED[estimand], RISK, "fig2a", why)
    fine = items.with_number(part(records, settings, "fig2b")[0], "kl")
    why = "2, 5 and 10 classes, 20 paired samples of each n from 100 to 10,000"
    by_claim["direct is better than via the risk"] = least_clear(fine, RISK, DIRECT, "fig2b", why)
    mine, part_settings = part(records, settings, "fig2b")
    last = curves.numbers(mine, part_settings)
    last = last[last["estimator"].eq(RISK) & last["estimand"].eq("kl") & last["n"].eq(10000)]
    why = (
        f"via the risk, n = 10,000, the worst of {len(last)} numbers of classes; "
        "10 % is our reading of reliable"
    )
    by_claim["CE_KL is reliable whatever the number of classes"] = relative(
        last, PAPER, "fig2b", why
    )
    mine, part_settings = part(records, settings, "fig5_offline")
    few = fig5.measured(mine, part_settings)
    few_last = few["n"].max()  # the distance from its own value would be 0
    few = few[few["estimator"].eq(fig5.RISK) & few["estimand"].eq("kl") & few["n"].eq(500)]
    few = few[few["truth"].isna() & few["n"].lt(few_last)]
    why = (
        "three networks on CIFAR-10, h = 0.02, a value per network: "
        "the mean of five orders of the images; 10 % is ours"
    )
    own_value = (
        claims.estimate_mean(few["drift"].abs(), few["keys"], OURS, why)
        if len(few)
        else absent("fig5_offline")
    )
    by_claim["CE_KL is close to the estimate on all images with a few hundred points"] = own_value
    return by_claim


def least_clear(fine, first, second, name, why):
    """Test the difference |bias of `first`| - |bias of `second`| where it is smallest.

    The minimum is over the problems and the sample sizes n. Both estimators see the same samples.
    """
    gaps = comparisons.gap(fine, first, second) if len(fine) else pd.DataFrame()
    if not len(gaps):
        return absent(name)
    reps = fine[fine["estimator"].eq(second)].groupby(["problem", "n"])["rep"].nunique()
    level = claims.among(len(gaps))
    parts = [
        claims.attach_interval(r.gap, r.se, reps[r.Index], (), PAPER, level=level)
        for r in gaps.itertuples()
    ]
    mine = fine[fine["estimator"].isin([first, second])]
    (_, n) = gaps["gap"].idxmin()
    worst = replace(
        claims.smallest(parts, f"{why}; the smallest of {len(gaps)} differences, at n = {n:,}"),
        keys=mine["key"],
    )
    return worst


def relative(rows, where, name, why):
    """Test the largest of the relative biases of `rows`, in per cent and without sign."""
    rows = rows[rows["relative"].notna()]
    if not len(rows):
        return absent(name)
    level = claims.among(len(rows))
    parts = [
        claims.absolute(
            claims.attach_interval(r.relative, r.relative_se, r.reps, r.keys, where, level=level)
        )
        for r in rows.itertuples()
    ]
    return claims.largest(parts, why)


def claims_on_rates(records, settings):
    """Test the claims of Section 5 on the bias, at fixed bandwidths with limits by quadrature."""
    mine, part_settings = part(records, settings, "bias_rate")
    names = (
        "the bias falls as 1 / n",
        "CE_KL is asymptotically unbiased at a fixed bandwidth",
        "the estimate converges as n^(-1/2)",
    )
    estimators = configured("bias_rate").estimator
    nodes = {name: estimators[name] for name in part_settings.estimator}
    if not len(items.with_number(mine, "kl")):
        return dict.fromkeys(names, absent("bias_rate"))
    rows = bias_rate.measured(mine, replace(part_settings, estimator=nodes))
    rows = rows[rows["estimand"].eq("kl") & rows["limit"].notna()]
    line = rows[rows["form"].eq("risk") & rows["bandwidth"].eq(0.001)].iloc[0]
    fine = items.with_number(mine[mine["estimator"].eq(line["estimator"])], "kl")
    pairs = (
        fine.pivot(index="rep", columns="n", values="value")[[100, 1600]].dropna() - line["limit"]
    )
    centre = pairs.mean()
    slope = np.log(centre[1600] / centre[100]) / np.log(16)
    error = (
        (pairs[1600] / centre[1600] - pairs[100] / centre[100]).std()
        / np.sqrt(len(pairs))
        / np.log(16)
    )
    limits = rows.drop_duplicates("estimator").assign(
        off=lambda f: 100 * (f["limit"] / f["truth"] - 1).abs()
    )
    nearest = limits.loc[limits["off"].idxmin()]
    why_slope = "via the risk, h = 0.001, n = 100 and 1,600, distance from the limit; -0.9 is ours"
    why_nearest = (
        "limits by quadrature at h = 0.05, 0.01 and 0.001, both forms; the nearest to the truth "
        f"is that of h = {nearest['bandwidth']:g}, {nearest['of'].lower()}; 1 % is ours"
    )
    return {
        names[0]: claims.exact(slope, error, fine["key"], OURS, why_slope),
        names[1]: claims.exact(nearest["off"], 0, nearest["keys"], OURS, why_nearest),
        names[2]: exponents(mine[mine["estimator"].isin(rows["estimator"].unique())]),
    }


def exponents(records):
    """Test how the standard deviation of an estimate falls with n: the exponent of n.

        exponent = log(s / s') / log(n / n')

    s and s' are the standard deviations at the largest n and at the smallest n'. The test is on the
    estimator with the largest exponent. The error follows from var(log s) = 1 / (2 (reps - 1)) for
    normal values. It takes both samples as independent, though the smaller is the beginning of the
    larger.
    """
    fine = items.with_number(records, "kl")
    spread = fine.groupby(["estimator", "n"])["value"].agg(["std", "size"]).unstack("n")
    first, last = fine["n"].min(), fine["n"].max()
    level, parts = claims.among(len(spread)), []
    for name, row in spread.iterrows():
        slope = np.log(row["std", last] / row["std", first]) / np.log(last / first)
        error = np.sqrt(sum(0.5 / (row["size", n] - 1) for n in (first, last)))
        keys = fine.loc[fine["estimator"].eq(name) & fine["n"].isin([first, last]), "key"]
        error = error / np.log(last / first)
        parts.append(claims.exact(slope, error, keys, OURS, None, level))
    return claims.largest(
        parts,
        f"{len(parts)} estimators (both forms, h = 0.05, 0.01 and 0.001), 100 samples of n = "
        f"{first:,} and {last:,}; -0.4 is ours",
    )
