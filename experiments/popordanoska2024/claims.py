"""Conclusions of the paper as tests, on its printed numbers and on records of its experiments.

Claims on every n and every number of classes are judged in the worst case, with intervals that hold
for all cases at once.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from harness.configure.figure import Labels
from harness.evaluation import claims, items, reproduction
from harness.evaluation.claims import OURS, PAPER
from harness.figures import claims_plot

from . import bias_rate, comparisons, curves, fig3, fig5, fig6, networks, table2, table5
from .fig2 import BINNED, DIRECT, RISK

PAPER_ID = "popordanoska2024"
SETS = {"digits": "digits/", "CIFAR-10": "cifar10_"}  # how the ids of networks at hand begin


def statistics(records, settings):
    """Return {claim: statistic}; claims without numbers say so."""
    by_claim = {}
    for make in (
        of_printed_tables,
        of_printed_curves,
        of_simulations,
        of_rates,
        of_recalibration,
        of_networks,
        of_training,
    ):
        by_claim |= make(records, settings)
    return by_claim


render, table, summary, reproduced = claims_plot.item_functions(statistics)


def part(records, settings, *names):
    """Return the records of experiments of this paper, and settings with their components."""
    mine = records[
        records["experiment"].isin([f"{PAPER_ID}_{name}" for name in names])
    ].drop_duplicates(["key", "estimand"])
    groups = {group: dict.fromkeys(mine[group].unique(), {}) for group in ("problem", "estimator")}
    return mine, replace(settings, **groups, reasons={}, labels=Labels({}, {}))


def absent(name):
    """Return the statistic of an experiment without records."""
    return claims.untested(f"`calharness experiment={PAPER_ID}_{name}` has to run first")


# The paper's own numbers


def of_printed_tables(records, settings):
    """Test Tables 2, 3 and 5 as printed.

    Counts of networks are exact; losses of accuracy are a mean over networks.
    """
    printed = (
        reproduction.reported(PAPER_ID, ["table2"]).set_index(["row", "column"])["value"].unstack()
    )
    wide = {
        method: printed[printed.index.str.endswith(f", {method}")]
        for method in ("none", "isotonic", "temperature")
    }
    wide = {
        method: frame.rename(index=lambda row: row.rsplit(", ", 1)[0])
        for method, frame in wide.items()
    }
    iso, temperature, none = (wide[method] for method in ("isotonic", "temperature", "none"))
    kl = (temperature["CE_KL"] < iso["CE_KL"]).sum()
    square = (iso["CE_2^2 change"] < temperature["CE_2^2 change"]).sum()
    hundred = none.index.str.startswith("CIFAR-100")
    harmed = (iso["CE_KL"] > none["CE_KL"])[hundred].sum()
    three = (
        reproduction.reported(PAPER_ID, ["table3"])
        .set_index(["row", "column"])["value"]
        .unstack()["Accuracy"]
        .sort_index()
    )
    loss = [
        three[three.index.str.endswith(f", {method}")].to_numpy() for method in ("none", "isotonic")
    ]
    five = table5.printed(settings)
    alike = comparisons.rank_agreement(five, "network", ["label_of_class"], "metric", "CE_KL")
    return {
        "temperature is better in KL, printed": claims.exact(
            kl,
            0,
            (),
            PAPER,
            "Table 2, twelve networks; the exception is VGG16BN on CIFAR-10, 1.38 against 1.36, within its errors",
        ),
        "isotonic is better in squared L2, printed": claims.exact(
            square, 0, (), PAPER, "Table 2's changes, twelve networks"
        ),
        "isotonic may harm KL": claims.exact(
            harmed, 0, (), PAPER, "Table 2, six networks on CIFAR-100"
        ),
        "isotonic keeps the accuracy, printed": claims.estimate_difference(
            *loss,
            (),
            PAPER,
            "Table 3, six networks on CIFAR-10; 0.1 points is our reading of retains",
        ),
        "the estimators order classes alike, printed": claims.exact(
            alike.drop(columns="CE_KL").min().min(),
            0,
            (),
            PAPER,
            "Table 5, two networks; the least of four correlations; 0.9 is ours",
        ),
    }


def of_printed_curves(records, settings):
    """Test Figure 3's networks, from the authors' notebook."""
    printed = reproduction.reported(PAPER_ID, ["fig3_printed"]).set_index("row")["value"]
    ends = [printed[f"L2 sharpness of {layer}, epoch 30"] for layer in ("the output", "layer 4")]
    why = "the authors' notebook, last epoch; Figure 3 leaves the output out. By the theorem it cannot be: the estimate fails"
    return {"sharpness falls up to the output": claims.exact(ends[0] - ends[1], 0, (), PAPER, why)}


# Simulations


def of_simulations(records, settings):
    """Test Figures 2 and 5, on data with a known truth."""
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
    why = f"via the risk, n = 10,000, the worst of {len(last)} numbers of classes; 10 % is our reading of reliable"
    by_claim["reliable whatever the number of classes"] = relative(last, PAPER, "fig2b", why)
    mine, part_settings = part(records, settings, "fig5_offline")
    few = fig5.measured(mine, part_settings)
    few_last = few["n"].max()  # of which there is no distance
    few = few[few["estimator"].eq(fig5.RISK) & few["estimand"].eq("kl") & few["n"].eq(500)]
    why = "simulated data, ten classes, h = 0.02, against the true value; the paper's is the estimate on all images; 10 % is ours"
    by_claim["close to the truth with a few hundred points"] = relative(
        few[few["truth"].notna()], OURS, "fig5_offline", why
    )
    few = few[few["truth"].isna() & few["n"].lt(few_last)]
    why = "three networks on CIFAR-10, h = 0.02, a value per network: the mean of five orders of the images; 10 % is ours"
    own_value = (
        claims.estimate_mean(few["drift"].abs(), few["keys"], OURS, why)
        if len(few)
        else absent("fig5_offline")
    )
    by_claim["close to the estimate on all images with a few hundred points"] = own_value
    return by_claim


def least_clear(fine, first, second, name, why):
    """Test the smallest |bias| of the first minus that of the second, over problems and n.

    Both are on the same samples.
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
    """Test the largest relative bias in per cent of these rows, without sign."""
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


def of_rates(records, settings):
    """Test Section 5: bias at a fixed bandwidth, with limits known by quadrature."""
    mine, part_settings = part(records, settings, "bias_rate")
    names = ("the bias falls as 1 / n", "asymptotically unbiased at a fixed bandwidth")
    nodes = {name: options("bias_rate")[name] for name in part_settings.estimator}
    if not len(items.with_number(mine, "kl")):
        return dict.fromkeys(names, absent("bias_rate"))
    rows = bias_rate.measured(mine, replace(part_settings, estimator=nodes))
    rows = rows[rows["estimand"].eq("kl") & rows["limit"].notna()]
    at = rows[rows["form"].eq("risk") & rows["bandwidth"].eq(0.001)].iloc[0]
    fine = items.with_number(mine[mine["estimator"].eq(at["estimator"])], "kl")
    pairs = fine.pivot(index="rep", columns="n", values="value")[[100, 1600]].dropna() - at["limit"]
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
    return {
        names[0]: claims.exact(
            slope, error, fine["key"], OURS, "via the risk, h = 0.001, n = 100 and 1,600, distance from the limit; -0.9 is ours"
        ),
        names[1]: claims.exact(
            nearest["off"], 0, nearest["keys"], OURS,
            f"limits by quadrature at h = 0.05, 0.01 and 0.001, both forms; the nearest to the truth is that of h = "
            f"{nearest['bandwidth']:g}, {nearest['of'].lower()}; 1 % is ours",
        ),
    }  # fmt: skip


def options(name):
    """Return the estimators of an experiment of this paper, as configured."""
    from harness.configure.compose import compose

    return compose([f"experiment={PAPER_ID}_{name}"]).estimator


# Networks at hand


def of_recalibration(records, settings):
    """Test Tables 2 and 4 on available networks.

    Digits: the mean over six networks, one value per seed. CIFAR-10: one value per network.
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
    note = {
        "digits": "six networks, a value per seed",
        "CIFAR-10": "five networks that are nearly calibrated, a value per network",
    }
    for claim, (estimand, worse, good) in better.items():
        for data, by in (("digits", "seed"), ("CIFAR-10", "network")):
            by_claim[f"{claim}, {data}"] = change(
                fine, estimand, data, worse, good, by, f"x 100, {note[data]}", "table2_offline"
            )
    mine, part_settings = part(records, settings, "table4_offline")
    fine = recalibrated(items.with_number(mine, "accuracy"), part_settings, 100)
    by_claim["isotonic keeps the accuracy, digits"] = change(
        fine,
        "accuracy",
        "digits",
        "none",
        "isotonic",
        "seed",
        f"{note['digits']}; 0.1 points is ours",
        "table4_offline",
    )
    return by_claim


def recalibrated(fine, settings, scale):
    """Add network, method and seed of networks that are recalibrated as published."""
    fine = networks.recalibrated(fine, settings)
    seed = fine["problem"].str.extract(r"_seed(\d+)", expand=False)
    return fine.assign(seed=seed, value=scale * fine["value"])[fine["variant"].ne(networks.OURS)]


def change(fine, estimand, data, first, second, by, why, name):
    """Test the first method's value minus the second's, as a mean of means by `by`."""
    mine = fine[fine["estimand"].eq(estimand) & fine["problem"].str.startswith(SETS[data])]
    mine = mine[mine["method"].isin([first, second])]
    if not len(mine):
        return absent(name)
    wide = mine.pivot_table(index=by, columns="method", values="value").reindex(
        columns=[first, second]
    )
    return claims.estimate_difference(wide[first], wide[second], mine["key"], OURS, why)


def of_networks(records, settings):
    """Test Table 5 on available networks: one value per network, its smaller correlation."""
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
    why = f"{len(alike)} networks on digits and CIFAR-10; of each the smaller of its two correlations; 0.9 is ours"
    mean = claims.estimate_mean(alike.min(axis=1), rows["keys"], OURS, why)
    return {name: replace(mean, low=max(mean.low, -1.0), high=min(mean.high, 1.0))}  # a correlation


def of_training(records, settings):
    """Test Figures 3 and 6 on digits, one value per network (five seeds)."""
    order, only, stop = (
        "sharpness falls from layer to layer",
        "only the calibration error rises",
        "the same stopping point",
    )
    grows = "the calibration error grows in over-training"
    by_claim = dict.fromkeys((order,), absent("fig3_offline")) | dict.fromkeys(
        (only, stop, grows), absent("fig6_offline")
    )
    mine, part_settings = part(records, settings, "fig3_offline")
    mine = mine[mine["estimator"].eq(fig5.RISK)]
    if len(items.with_number(mine, fig3.L2)):
        falls = (
            fig3.falling(networks.estimates(mine, part_settings, "canonical"))
            .groupby("seed")["falls"]
            .mean()
        )
        why = "five networks on digits, h = 0.005: share of 14 epochs at which the estimates of the four hidden layers fall"
        of_networks = claims.estimate_mean(falls, mine["key"], OURS, why)
        if falls.nunique() == 1:  # of which a mean would have an interval without width
            of_networks = claims.estimate_share(
                falls.eq(1.0).sum(), len(falls), mine["key"], OURS, f"{why}, the same for each"
            )
        by_claim[order] = of_networks
    mine, part_settings = part(records, settings, "fig6_offline")
    changes = fig6.changes(mine[mine["estimator"].isin(["logloss", fig5.RISK])], part_settings)
    if len(changes):
        why = "five networks on digits, validation images, as published, from the epoch of the least log-loss to the last"
        by_claim[only] = claims.estimate_mean(
            changes["refinement"], changes["keys"], OURS, f"{why}; 0.01 nats is ours"
        )
        by_claim[grows] = claims.estimate_mean(changes["error"], changes["keys"], OURS, why)
        why = "five networks on digits, validation images, as published; the mean of the distances without sign; ten epochs is ours"
        by_claim[stop] = claims.estimate_mean(
            (changes["least loss"] - changes["least error"]).abs(), changes["keys"], OURS, why
        )
    return by_claim
