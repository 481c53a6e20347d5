"""Conclusions of moskvichev2025 as tests on the records of its figures and of their stand-ins.

CLAIMS.md has the data and the threshold of each claim, and says when they were written down. For
the words "constant" and "sensitive" the threshold is a factor of 1.5 between the largest and the
smallest value. Estimates that share a draw of the data are averaged first. The values of a test are
therefore independent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import claims, items, rankings
from harness.evaluation.claims import OURS, PAPER, Statistic
from harness.figures import claims_plot

from . import appendix_a, fig4a, fig4b, metrics

METRICS = {"ckce": "ckce", "skce": "skce", "simplex_ece": "l1"}  # {estimator: its estimand}
NAMES = {"ckce": "CKCE", "skce": "JKCE", "simplex_ece": "ECE"}
SMALL = 100  # the largest n of 'the number of calibration samples is small'
PAIRS = {  # Figure 2: calibrated, miscalibrated
    "marginal < over": ("dirichlet10_peaked_uniform", "dirichlet10_peaked_overconfident"),
    "marginal < under": ("dirichlet10_peaked_uniform", "dirichlet10_peaked_underconfident"),
    "true < over": ("dirichlet10_peaked_true", "dirichlet10_peaked_overconfident"),
    "true < under": ("dirichlet10_peaked_true", "dirichlet10_peaked_underconfident"),
}
MARGINAL = "cifar10_uniform"
SETS = (
    (MARGINAL, "cifar10_resnet56", "cifar10_wideresnet16_4", "cifar10_lenet5"),
    (MARGINAL, "cifar10_repvgg_a2", "cifar10_resnet20", "cifar10_vgg16_bn"),
)
INTERVALS = ("simplex_ece2", "simplex_ece", "simplex_ece5", "simplex_ece10")


def select(records: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return the records of one experiment of the paper."""
    return records[records["experiment"].eq(f"moskvichev2025_{experiment}")]


def wide(
    records: pd.DataFrame, estimators: Mapping[str, str] = METRICS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the estimates as a wide table, and the records that it was made from.

    `estimators` maps the id of an estimator to its estimand. The wide table has one row per (n,
    rep) and one column per (estimator, problem).
    """
    fine = items.with_number(records)
    fine = fine[fine["estimand"].eq(fine["estimator"].map(estimators))]
    return fine.pivot_table(
        index=["n", "rep"], columns=["estimator", "problem"], values="value"
    ), fine


def statistics(records: pd.DataFrame, settings: Settings) -> dict[str, Statistic]:
    """Return {name of a claim: its statistic} of the claims whose records are at hand."""
    parts = {
        "fig2": synthetic_pairs,
        "fig3_offline": networks,
        "fig4a": covariate_shift,
        "appendix_a": toy,
        "fig4b_offline": brightness,
        "claims": additional_cells,
    }
    by_claim = {}
    for experiment, part in parts.items():
        stored = select(records, experiment)
        if stored["status"].eq("ok").any():
            by_claim |= part(stored)
    return by_claim


def synthetic_pairs(records: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on Figure 2.

    They ask how often a metric gives a calibrated model a smaller value than a miscalibrated one.
    """
    values, fine = wide(records)
    right = pd.concat(
        {
            (e, pair): values[e, good].lt(values[e, bad])
            for e in METRICS
            for pair, (good, bad) in PAIRS.items()
        },
        axis=1,
    )
    # Small n: which metric is right more often.
    small = right[right.index.get_level_values("n") <= SMALL].groupby("rep").mean()
    by_metric = {e: small[e].mean(axis=1) for e in METRICS}
    keys = {e: fine.loc[fine["estimator"].eq(e) & fine["n"].le(SMALL), "key"] for e in METRICS}
    by_claim = {}
    for other, name in (("skce", "JKCE"), ("simplex_ece", "ECE")):
        by_pair = (small["ckce"] - small[other]).mean()
        worst = by_pair.idxmin()
        why = (
            "mean over n = 20, 50, 100 and the four pairs of a draw; "
            f"by pair from {by_pair[worst]:+.2f} ({worst}) to {by_pair.max():+.2f}"
        )
        pair = (by_metric["ckce"], by_metric[other], [*keys["ckce"], *keys[other]], PAPER, why)
        by_claim[f"CKCE is more reliable than {name} at small n"] = claims.estimate_difference(
            *pair
        )
    # Largest n: all metrics are right.
    n = right.index.get_level_values("n").max()
    last = right.xs(n, level="n")
    used = fine[
        fine["n"].eq(n)
        & fine["problem"].isin({problem for pair in PAIRS.values() for problem in pair})
    ]
    parts = [
        claims.estimate_share(
            last[pair].sum(), len(last), (), PAPER, level=claims.among(last.shape[1])
        )
        for pair in last
    ]
    why = f"the least of three metrics and four pairs at n = {n:,}; 0.95 is ours"
    least = replace(claims.smallest(parts, why), keys=tuple(used["key"]), cells=len(last))
    by_claim["All three metrics tell the pairs apart at large n"] = least
    # Bias on the true model, in standard deviations of one draw.
    n, true = SMALL, "dirichlet10_peaked_true"
    bias = {e: values.loc[n, (e, true)] / values.loc[n, (e, true)].std(ddof=1) for e in METRICS}
    true_rows = fine[fine["n"].eq(n) & fine["problem"].eq(true)]
    keys = {e: true_rows.loc[true_rows["estimator"].eq(e), "key"] for e in METRICS}
    jkce = claims.estimate_mean(
        bias["skce"], keys["skce"], PAPER, f"n = {n}; a quarter of a standard deviation is ours"
    )
    by_claim["JKCE is unbiased"] = claims.absolute(jkce)
    biased = ("ckce", "simplex_ece")
    parts = [
        claims.estimate_mean(
            bias[e],
            keys[e],
            PAPER,
            f"n = {n}; the less biased of the two, {NAMES[e]}",
            claims.among(len(biased)),
        )
        for e in biased
    ]
    by_claim["CKCE and ECE are biased"] = claims.smallest(parts)
    return by_claim


def networks(records: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on Figure 3, on other networks than the paper's.

    They ask in how many trials a metric has four models in the order of their values on all rows.
    """
    values, fine = wide(records)
    n = values.index.get_level_values("n")
    full, trials = values[n == n.max()].iloc[0], values[n == n.min()]
    trial_rows = fine[fine["n"].eq(n.min())]
    in_order = {
        e: _by_trial(
            trials[e], [rankings.order_by_value(dict(full[e][list(models)])) for models in SETS]
        )
        for e in METRICS
    }
    first = {
        e: _by_trial(trials[e], [((MARGINAL,), models[1:]) for models in SETS]) for e in METRICS
    }
    keys = {e: trial_rows.loc[trial_rows["estimator"].eq(e), "key"] for e in METRICS}
    by_claim, note = (
        {},
        f"mean over two sets of four models, {len(trials):,} trials of the same rows",
    )
    for other, name in (("skce", "JKCE"), ("simplex_ece", "ECE")):
        why = f"{in_order['ckce'].mean():.3f} against {in_order[other].mean():.3f}, {note}"
        pair = (in_order["ckce"], in_order[other], [*keys["ckce"], *keys[other]], OURS, why)
        by_claim[f"CKCE ranks networks more consistently than {name}"] = claims.estimate_difference(
            *pair
        )
    # The marginal model against all others.
    best = max(("skce", "simplex_ece"), key=lambda e: first[e].mean())
    why = f"{first['ckce'].mean():.3f} against {first[best].mean():.3f}, {note}"
    pair = (first["ckce"], first[best], [*keys["ckce"], *keys[best]], OURS, why)
    by_claim["CKCE is the best at finding the marginal model"] = claims.estimate_difference(*pair)
    by_claim["JKCE misses the order nearly half of the time"] = claims.estimate_mean(
        1.0 - in_order["skce"], keys["skce"], OURS, note
    )
    # Orders of all pairs on all rows.
    ranks = [full[e].rank() for e in METRICS]
    alike = [
        all(np.sign(r[a] - r[b]) == np.sign(ranks[0][a] - ranks[0][b]) for r in ranks)
        for i, a in enumerate(ranks[0].index)
        for b in ranks[0].index[:i]
    ]
    by_claim["The three metrics agree on all rows"] = claims.exact(
        np.mean(alike),
        0.0,
        fine.loc[fine["n"].eq(n.max()), "key"],
        OURS,
        f"{sum(alike)} of {len(alike)} pairs of seven models",
    )
    return by_claim


def _by_trial(values: pd.DataFrame, orders: Iterable[Any]) -> pd.Series:
    """Return, for each trial, the share of the sets of models that are in the right order.

    `orders` has the right order of each set. `values` has one row per trial and one column per
    model.
    """
    return pd.concat([rankings.is_ordered(values, order) for order in orders], axis=1).mean(axis=1)


def covariate_shift(records: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on Figure 4a, from population values at 41 locations."""
    population = metrics.by_diagnostic(records, "population", **fig4a.SHIFT)
    keys = tuple(population["key"].unique())
    ratio = population.groupby("column")["value"].agg(lambda v: v.max() / v.min())
    other_ratios = {name: ratio[column] for name, column in fig4a.METRICS.items() if name != "CKCE"}
    least = min(other_ratios, key=other_ratios.get)
    ridges = {r: ratio[f"CKCE, ridge {r:g}"] for r in sorted(fig4a.RIDGES)}
    path = ", ".join(f"{value:.2g} with {ridge:g}" for ridge, value in reversed(ridges.items()))
    smallest = min(ridges)
    note = "population values at 41 locations, by quadrature"
    exact = {
        "CKCE stays constant under covariate shift": (
            ratio["CKCE"],
            f"{note}, with the ridge n^(-1/4) of n = 1,000",
        ),
        "JKCE and ECE are sensitive to covariate shift": (
            other_ratios[least],
            f"{note}; the less sensitive of the two, {least}",
        ),
        "CKCE is constant because the conditional laws are": (
            ridges[smallest],
            f"{note}, bandwidth 0.5, by the ridge: {path}",
        ),
    }
    for metric, other in other_ratios.items():
        exact[f"CKCE depends less on the marginal law than {metric}, covariate shift"] = (
            ratio["CKCE"] / other,
            f"{note}; CKCE {ratio['CKCE']:.2f}, {metric} {other:.2f}",
        )
    return {
        name: claims.exact(value, 0.0, keys, PAPER, why) for name, (value, why) in exact.items()
    }


def toy(records: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on Appendix A, from exact values of the toy model.

    Where CKCE has a ridge, it is that of n = 1,000.
    """
    population = appendix_a.exact(records)
    keys = tuple(population["key"].unique())
    ratio = population.groupby("column")["value"].agg(lambda v: v.max() / v.min())
    ckce, jkce, ece = ratio[appendix_a.RIDGE.format(1000)], ratio["JKCE"], ratio["ECE"]
    note = (
        "exact values at p = 0.05 to 0.95 with the ridge of n = 1,000; "
        f"CKCE {ckce:.2f}, JKCE {jkce:.2f}, ECE {ece:.2f}"
    )
    later = ratio[appendix_a.RIDGE.format(10**8)]
    section_3_2 = ratio["CKCE, kernel of Section 3.2, ridge of n = 1,000"]
    why = (
        f"exact values at p = 0.05 to 0.95; with the kernel of Section 3.2 {section_3_2:.2f}, "
        f"with the ridge of n = 10^8 {later:.2f}"
    )
    return {
        "CKCE without a ridge ignores the marginal law": claims.exact(
            ratio["CKCE"], 0.0, keys, PAPER, "exact values at p = 0.05 to 0.95"
        ),
        "CKCE as estimated ignores the marginal law": claims.exact(ckce, 0.0, keys, PAPER, why),
        "CKCE depends less on the marginal law than JKCE, toy model": claims.exact(
            ckce / jkce, 0.0, keys, PAPER, note
        ),
        "CKCE depends less on the marginal law than ECE, toy model": claims.exact(
            ckce / ece, 0.0, keys, PAPER, note
        ),
    }


def brightness(records: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on Figure 4b, from two networks on digits.

    Each network has five seeds, and the images eleven levels of brightness.
    """
    fine = items.with_number(records, list(fig4b.SHOWN), "canonical")
    parts_of_name = fine["problem"].str.extract(fig4b.NAME)
    fine = fine.assign(
        network=parts_of_name["network"],
        seed=parts_of_name["seed"],
        percent=parts_of_name["percent"].astype(float),
    )
    keys = {e: fine.loc[fine["estimand"].eq(e), "key"] for e in fig4b.SHOWN}
    by_claim: dict[str, Statistic] = {}
    apart, data = {}, "two fully connected networks of five seeds on digits"
    for e in fig4b.SHOWN:
        values = fine[fine["estimand"].eq(e)].pivot(
            index="seed", columns=["network", "percent"], values="value"
        )
        first, second = dict.fromkeys(values.columns.get_level_values("network"))
        at_zero = values.xs(0.0, axis=1, level="percent").mean()
        preferred, other = sorted((first, second), key=at_zero.get)
        # Negative if the network that is better at 0 % is better here too.
        apart[e] = (values[preferred] - values[other]) / values.mean().mean()
        if e == "ckce":
            why = f"{data}, changes of brightness from -50 % to +50 %; the network that moves more"
            spreads = [values[net].max(axis=1) / values[net].min(axis=1) for net in (first, second)]
            parts = [
                claims.estimate_mean(spread, keys[e], OURS, why, claims.among(len(spreads)))
                for spread in spreads
            ]
            by_claim["CKCE hardly moves with the brightness"] = claims.largest(parts)
    # CKCE: the preferred network is better at every level.
    worst, levels = apart["ckce"].mean().idxmax(), apart["ckce"].shape[1]
    why = f"the largest difference over {levels} levels, at {worst:+g} %; {data}"
    parts = [
        claims.estimate_mean(apart["ckce"][percent], keys["ckce"], OURS, why, claims.among(levels))
        for percent in apart["ckce"]
    ]
    by_claim["CKCE prefers one network at every brightness"] = claims.largest(parts)
    # JKCE: each network is better at some level.
    mean = apart["skce"].mean()
    why = f"the leads are largest at {mean.idxmax():+g} % and {mean.idxmin():+g} %; {data}"
    leads = [
        claims.largest(
            [
                claims.estimate_mean(
                    sign * apart["skce"][percent], keys["skce"], OURS, why, claims.among(2 * levels)
                )
                for percent in apart["skce"]
            ]
        )
        for sign in (1.0, -1.0)
    ]
    by_claim["JKCE prefers different networks by brightness"] = claims.smallest(leads)
    return by_claim


def additional_cells(records: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of two claims from the cells of the experiment of claims itself.

    One is the sensitivity of ECE to the number of intervals, on six networks. The other is the
    decrease of JKCE with the number of classes.
    """
    estimators = dict.fromkeys(INTERVALS, "l1") | {"skce": "skce"}
    values, fine = wide(records, estimators)
    binned = fine[fine["estimator"].isin(INTERVALS) & fine["problem"].str.startswith("cifar10_")]
    by_bins = {
        name: values[list(INTERVALS)].xs(name, axis=1, level="problem")
        for name in binned["problem"].unique()
    }
    ratio = pd.concat([v.max(axis=1) / v.min(axis=1) for v in by_bins.values()], axis=1).mean(
        axis=1
    )
    why = f"2, 3, 5 and 10 intervals of every axis, n = 500, mean over {len(by_bins)} networks"
    by_claim = {
        "ECE is sensitive to its bins": claims.estimate_mean(ratio, binned["key"], OURS, why)
    }
    few, many = "dirichlet3_overconfident", "dirichlet10_overconfident"
    keys = fine.loc[fine["estimator"].eq("skce") & fine["problem"].isin([few, many]), "key"]
    pair = (values["skce", few], values["skce", many])
    means = " against ".join(f"{v.mean():.4f}" for v in pair)
    why = f"{means}; overconfident Dirichlet problems (T = 0.3, alpha = 0.5), n = 500"
    by_claim["JKCE falls with the number of classes"] = claims.estimate_difference(
        *pair, keys, OURS, why
    )
    return by_claim


render, table, summary, reproduced = claims_plot.item_functions(statistics)
