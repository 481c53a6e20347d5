"""Conclusions of the paper as tests, on its printed numbers and on records of its experiments.

A claim about all n, or about all numbers of classes, is tested in the worst case. Its intervals
hold for all cases at once.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from harness.configure.figure import Labels
from harness.evaluation import claims, items
from harness.evaluation.claims import OURS, PAPER
from harness.figures import claims_plot

from . import (
    bias_rate,
    comparisons,
    curves,
    fig3,
    fig5,
    fig6,
    fig7,
    networks,
    table2,
    table5,
    twins,
)
from .fig2 import BINNED, DIRECT, RISK
from .printed_claims import PAPER_ID, claims_on_printed_curves, claims_on_printed_tables

DIGITS = "digits/"  # first part of the ids of the networks on digits


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


def part(records, settings, *names):
    """Return the records of some experiments of this paper, and settings with their components."""
    mine = records[
        records["experiment"].isin([f"{PAPER_ID}_{name}" for name in names])
    ].drop_duplicates(["key", "estimand"])
    groups = {group: dict.fromkeys(mine[group].unique(), {}) for group in ("problem", "estimator")}
    return mine, replace(settings, **groups, reasons={}, labels=Labels({}, {}))


def absent(name):
    """Return an untested statistic that names the experiment to run first."""
    return claims.untested(f"`calharness experiment={PAPER_ID}_{name}` has to run first")


# Simulations


def claims_on_simulations(records, settings):
    """Test the claims on Figures 2 and 5."""
    by_claim = {}
    for name, estimand, more in (
        ("KL", "kl", ""),
        ("squared L2", "l2_squared", ", but for the metric: the figure is of KL"),
    ):
        fine = curves.in_two_columns(
            items.with_number(part(records, settings, "fig2a")[0], estimand)
        )
        why = "Figure 2a's setting, 20 paired samples of each n from 100 to 10,000" + more
        by_claim[f"kernel is better than bins, {name}"] = least_clear(
            fine, BINNED[estimand], RISK, "fig2a", why
        )
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
    why = (
        "simulated data, ten classes, h = 0.02, against the true value; "
        "the paper's is the estimate on all images; 10 % is ours"
    )
    by_claim["CE_KL is close to the truth with a few hundred points"] = relative(
        few[few["truth"].notna()], OURS, "fig5_offline", why
    )
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


def configured(name):
    """Return the settings of an experiment of this paper."""
    from harness.configure.compose import compose

    return compose([f"experiment={PAPER_ID}_{name}"])


# Networks at hand


def claims_on_recalibration(records, settings):
    """Test the claims on Tables 2 and 4, on networks that are available here.

    Networks on digits give a value per network and seed. Networks like the paper's give a value per
    network.
    """
    by_claim = {}
    mine, part_settings = part(records, settings, "table2_offline")
    fine = recalibrated(
        curves.in_two_columns(items.with_number(mine[mine["estimator"].eq(table2.PUBLISHED)])),
        part_settings,
        100,
    )
    better = {"temperature is better in KL": ("kl", "isotonic", "temperature")}
    better["isotonic is better in squared L2"] = ("l2_squared", "temperature", "isotonic")
    note = "six architectures of five seeds, a value per network and seed"
    for claim, (estimand, worse, good) in better.items():
        by_claim[f"{claim}, digits"] = change(
            fine, estimand, worse, good, f"x 100, {note}", "table2_offline"
        )
        by_claim[f"{claim}, networks like the paper's"] = twin_change(
            records, settings, estimand, worse, good
        )
    mine, part_settings = part(records, settings, "table4_offline")
    fine = recalibrated(items.with_number(mine, "accuracy"), part_settings, 100)
    by_claim["isotonic keeps the accuracy, digits"] = change(
        fine, "accuracy", "none", "isotonic", f"{note}; 0.1 points is ours", "table4_offline"
    )
    return by_claim


def twin_change(records, settings, estimand, worse, good):
    """Test the mean difference of two recalibrations over networks like the paper's.

    Each network gives one difference.
    """
    mine, part_settings = part(records, settings, "table2_twins")
    if not len(items.with_number(mine, estimand)):
        return absent("table2_twins")
    part_settings = replace(part_settings, labels=configured("table2_twins").labels)
    rows = twins.differences(mine, part_settings, estimand, worse, good)
    why = (
        f"{len(rows)} networks on CIFAR-10 and CIFAR-100 that fit the rule of NOTES.md, "
        "a value each"
    )
    return claims.estimate_mean(rows["difference"], rows["keys"], OURS, why)


def recalibrated(fine, settings, scale):
    """Add network, method and seed to records of networks that are recalibrated as published."""
    fine = networks.recalibrated(fine, settings)
    seed = fine["problem"].str.extract(r"_seed(\d+)", expand=False)
    return fine.assign(seed=seed, value=scale * fine["value"])[fine["variant"].ne(networks.OURS)]


def change(fine, estimand, first, second, why, name):
    """Test a method's value minus another's on digits, a value per network and seed."""
    mine = fine[fine["estimand"].eq(estimand) & fine["problem"].str.startswith(DIGITS)]
    mine = mine[mine["method"].isin([first, second])]
    if not len(mine):
        return absent(name)
    wide = mine.pivot_table(index=["network", "seed"], columns="method", values="value")
    wide = wide.reindex(columns=[first, second])
    return claims.estimate_difference(wide[first], wide[second], mine["key"], OURS, why)


def claims_on_networks(records, settings):
    """Test the claim on Table 5, on networks that are available here.

    Each network gives one value: the smaller of its two rank correlations.
    """
    name = "the estimators order classes alike, ours"
    mine, part_settings = part(records, settings, "table5_offline")
    mine = mine[mine["estimator"].isin([table5.KERNEL, table5.BINS])]
    if not len(items.with_number(mine)):
        return {name: absent("table5_offline")}
    rows = table5.measured(mine, part_settings)
    rows = rows[rows["published"].eq(True)]
    alike = comparisons.rank_agreement(rows, "network", ["label_of_class"], "metric", "CE_KL").drop(
        columns="CE_KL"
    )
    why = (
        f"{len(alike)} networks on digits and CIFAR-10; "
        "of each the smaller of its two correlations; 0.9 is ours"
    )
    mean = claims.estimate_mean(alike.min(axis=1), rows["keys"], OURS, why)
    if np.isfinite(mean.high):  # a correlation lies in [-1, 1]
        mean = replace(mean, low=max(mean.low, -1.0), high=min(mean.high, 1.0))
    return {name: mean}


def claims_on_training(records, settings):
    """Test the claims on Figures 3, 6 and 7, on networks in training.

    Each network gives one value.
    """
    only, stop = (
        "only the calibration error rises",
        "CE_KL and the validation loss choose the same stopping point",
    )
    grows = "the calibration error grows in over-training"
    by_claim = {
        "sharpness falls from layer to layer": falling_sharpness(
            records, settings, "fig3_offline", "five networks on digits"
        ),
        "sharpness falls from layer to layer, MNIST": falling_sharpness(
            records, settings, "fig3", "five networks on MNIST"
        ),
        **dict.fromkeys((only, stop, grows), absent("fig6_offline")),
        **claims_on_snapshots(records, settings),
    }
    mine, part_settings = part(records, settings, "fig6_offline")
    changes = fig6.changes(mine[mine["estimator"].isin(["logloss", fig5.RISK])], part_settings)
    if len(changes):
        why = (
            "five networks on digits, validation images, as published, "
            "from the epoch of the least log-loss to the last"
        )
        by_claim[only] = claims.estimate_mean(
            changes["refinement"], changes["keys"], OURS, f"{why}; 0.01 nats is ours"
        )
        by_claim[grows] = claims.estimate_mean(changes["error"], changes["keys"], OURS, why)
        why = (
            "five networks on digits, validation images, as published; "
            "the mean of the distances without sign; ten epochs is ours"
        )
        by_claim[stop] = claims.estimate_mean(
            (changes["least loss"] - changes["least error"]).abs(), changes["keys"], OURS, why
        )
    return by_claim


def falling_sharpness(records, settings, name, where):
    """Test the share of epochs at which the sharpness falls from hidden layer to hidden layer.

    Each network gives one value.
    """
    mine, part_settings = part(records, settings, name)
    mine = mine[mine["estimator"].eq(fig5.RISK)]
    if not len(items.with_number(mine, fig3.L2)):
        return absent(name)
    rows = fig3.falling(networks.estimates(mine, part_settings, "canonical"))
    falls = rows.groupby("seed")["falls"].mean()
    why = (
        f"{where}, h = 0.005: share of {rows['epoch'].nunique()} epochs at which the estimates of "
        "the four hidden layers fall"
    )
    return claims.estimate_mean(falls, mine["key"], OURS, why)


def claims_on_snapshots(records, settings):
    """Test the claims on Figure 7.

    Two snapshots are chosen on four networks: the most accurate and the best calibrated. They are
    then compared on sixteen other networks.
    """
    accurate = "the most accurate snapshot is not the best calibrated"
    calibrated = "the best calibrated snapshot is not the most accurate"
    points, point_settings = part(records, settings, "fig7_offline")
    others, other_settings = part(records, settings, "pareto")
    for name, mine in (("fig7_offline", points), ("pareto", others)):
        if not len(items.with_number(mine, "kl")):
            return dict.fromkeys((accurate, calibrated), absent(name))
    means = fig7.snapshots(
        points[points["estimator"].isin([fig5.RISK, "accuracy"])], point_settings
    )
    best = means["epoch"][means["error"].idxmin()], means["epoch"][means["ce"].idxmin()]
    fine = networks.estimates(others, other_settings, "classwise")
    fine = fine[fine["epoch"].isin(best)]
    kl, accuracy = (
        fine[fine["estimand"].eq(name)].pivot(index="seed", columns="epoch", values="value")
        for name in ("kl", "accuracy")
    )
    why = (
        f"epoch {best[0]:g} is the most accurate, epoch {best[1]:g} the best calibrated of four "
        f"networks on digits, as published; compared on {len(kl)} networks of other seeds"
    )
    keys = fine["key"]
    return {
        accurate: claims.estimate_difference(kl[best[0]], kl[best[1]], keys, OURS, why),
        calibrated: claims.estimate_difference(
            accuracy[best[0]], accuracy[best[1]], keys, OURS, why
        ),
    }
