"""Claims on networks that are available here: recalibrated networks, and networks in training."""

from dataclasses import replace

import numpy as np

from harness.evaluation import claims, items
from harness.evaluation.claims import OURS

from . import (
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
from .claim_records import absent, configured, part

DIGITS = "digits/"  # first part of the ids of the networks on digits


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
