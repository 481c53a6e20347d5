"""Conclusions of ciosek2026 as tests on our functions, networks and tables.

Only a summary of the paper was at hand, so its functions and networks are not ours. CLAIMS.md has
the data and the threshold of each claim. A claim on several functions, sizes or networks is tested
on the worst of them. The worst of many is extreme by chance as well, so the intervals hold for all
of them at once (`claims.among`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import claims, items
from harness.evaluation.claims import Statistic
from harness.figures import claims_plot
from harness.math import sech_noise

from . import (
    bound,
    convergence,
    ece,
    gaussian_noise,
    perturbation,
    perturbation_trained,
    rates,
    training_cost,
)

NW, TV, LIP = PAPERS = ("nw_kfold_first_order", "tv_kfold", "lip_bkt")
NAMES = {NW: "NW", TV: "TV", LIP: "Lip+Bkt"}
FOUR = tuple(f"{name}_perturbed" for name in convergence.THE_FOUR)
FOURTH, FIRST_THREE = "score_waves", ("score_sine", "score_sigmoid", "score_steps")
CALIBRATED = ("score_calibrated_perturbed", "score_saturated_perturbed")
SMALL, LONG, LARGE = 1000, 100_000, 1_000_000


def statistics(records: pd.DataFrame, settings: Settings) -> dict[str, claims.Statistic]:
    """Return {name of a claim: its statistic}."""
    fine = items.with_number(records)

    def select(*names: str) -> pd.DataFrame:
        """Return the records of these experiments."""
        return fine[fine["experiment"].isin(names)]

    rising = select("ciosek2026_convergence")
    return {
        "the first derivative is bounded after the perturbation": derivative(
            [0.5, 0.0, 0.5], [0.0, 0.0, 1.0], 1, "the least upper bound is 1/2"
        ),
        "the second derivative is bounded after the perturbation": derivative(
            [0.25, 0.5, 0.25],
            [1.0, 0.0, 1.0],
            2,
            "the least upper bound is 1/2, a third of the paper's constant",
        ),
        "sech noise has the smaller slope": slope_ratio(perturbation.CLAIMED),
        **claims_on_bounds(rising[rising["problem"].isin(FOUR) & rising["estimator"].isin(PAPERS)]),
        **claims_on_ece(ece.estimates(select("ciosek2026_ece"))),
        **claims_on_auroc(
            select("ciosek2026_perturbation"), select("ciosek2026_perturbation_trained")
        ),
        "0.02 is reached at ten million samples": extreme(
            claims.largest,
            rising,
            CALIBRATED,
            NW,
            bound.LAST_N,
            "simulated scores; 0.025 is what rounds to 0.02",
        ),
        "0.02 needs ten million samples": extreme(
            claims.smallest,
            rising,
            CALIBRATED,
            NW,
            LARGE,
            "simulated scores; above 0.025 is more than what rounds to 0.02",
        ),
        **claims_on_run_time(select("ciosek2026_study")),
        **training_cost.statistics(),
    }


render, table, summary, reproduced = claims_plot.item_functions(statistics)


def claims_on_run_time(frame: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on run time, from the log-log slope of CPU seconds in n.

    Each sample has one slope; its seconds are averaged over the functions first. A time that grows
    as n log n has the slope 1 + 1 / log n. That is 1.09 at n = 10^5 and 1.06 at n = 10^7.
    """
    late = frame[frame["n"].ge(LONG)].drop_duplicates("key")
    slopes, keys = {}, {}
    for estimator in PAPERS:
        mine = late[late["estimator"].eq(estimator)]
        seconds = mine.pivot_table(index="n", columns="rep", values="cpu_seconds").dropna(axis=1)
        keys[estimator] = mine["key"]
        if len(seconds) > 1 and seconds.shape[1]:
            x = np.log(seconds.index.to_numpy(dtype=float))
            slopes[estimator] = np.polyfit(x, np.log(seconds.to_numpy()), 1)[0]
    if set(slopes) != set(PAPERS):
        needed = claims.untested(f"needs CPU seconds of the three bounds from n = {LONG:,} on")
        return {"NW takes linear time": needed, "every bound takes log-linear time": needed}
    note = "mean over the functions of a sample; the threshold is ours"
    level = claims.among(len(PAPERS))
    parts = [
        claims.estimate_mean(slopes[e], keys[e], claims.OURS, f"{NAMES[e]}, {note}", level)
        for e in PAPERS
    ]
    return {
        "NW takes linear time": claims.estimate_mean(slopes[NW], keys[NW], claims.OURS, note),
        "every bound takes log-linear time": claims.largest(parts),
    }


def derivative(weights: list[float], outcomes: list[float], order: int, why: str) -> Statistic:
    """Return the largest derivative of eta(s) = E[Y | score s] for laws on three original scores.

    The unit of s is the width h. The original scores lie d h below a score, at it, and d h above
    it, for 26 values of d from 0.5 to 3. Derivatives are central differences, right to about 1e-6.

    Parameters
    ----------
    weights : list of float
        Probabilities of the three original scores, given the score in the middle.
    outcomes : list of float
        E[Y | original score] for each of them.
    order : int
        1 for the first derivative, 2 for the second.
    why : str
        What the page says about the statistic.
    """
    x, step, most = np.linspace(-1.0, 1.0, 401)[:, None], 1e-3, 0.0
    for d in np.linspace(0.5, 3.0, 26):
        places = np.array([-d, 0.0, d])
        above, middle, below = (
            _eta(x + move, places, np.array(weights) * np.cosh(places), outcomes)
            for move in (step, 0.0, -step)
        )
        if order == 1:
            change = (above - below) / (2.0 * step)
        else:
            change = (above - 2.0 * middle + below) / step**2
        most = max(most, np.abs(change).max())
    return claims.exact(most, 1e-6, (), claims.OURS, f"original scores up to 3 h away; {why}")


def slope_ratio(h: float) -> Statistic:
    """Return how much smaller the slope of eta(s) = E[Y | perturbed score s] is under sech noise.

    The statistic is the least upper bound of |eta'| under sech noise of width h, divided by that
    under truncated Gaussian noise. The Gaussian scale is such that both noises have the same upper
    bound of the mean shift of a score.
    """
    scale = sech_noise.shift_bound(h) / gaussian_noise.shift_bound(1.0)
    sech, gaussian = sech_noise.slope_bound(h), gaussian_noise.slope_bound(scale)
    why = f"{sech:.3g} against {gaussian:.3g}, where the Gaussian scale is {scale:.3g}"
    return claims.exact(sech / gaussian, 0.0, (), claims.OURS, why)


def _eta(
    x: np.ndarray, places: np.ndarray, weights: np.ndarray, outcomes: list[float]
) -> np.ndarray:
    """Return E[Y | score x] for original scores at `places`, with all lengths in units of h.

    `weights` are proportional to the probabilities of the original scores.
    """
    mass = weights / np.cosh(x - places)
    return mass @ outcomes / mass.sum(axis=1)


def claims_on_bounds(frame: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on the paper's three bounds, on four functions."""
    names = [
        "NW is tightest",
        "NW is several times tighter than Lip+Bkt",
        "NW falls faster than TV",
    ]
    names += [f"{name} has slopes in the printed range" for name in NAMES.values()] + [
        "the spread over 64 samples is invisible"
    ]
    slopes = rates.excess_slopes(frame).dropna(subset="slope")
    if set(slopes["estimator"]) != set(PAPERS):
        return dict.fromkeys(
            names, claims.untested("needs all three bounds at three sample sizes or more")
        )
    # Ratios of the bounds, and of their distances from the truth, by function and n.
    tight, times = [], []
    for (problem, n), part in frame.groupby(["problem", "n"], sort=False):
        wide = part.pivot(index="rep", columns="estimator", values="value").dropna()
        if set(wide) == set(PAPERS) and len(wide) > 1:
            truth = part["truth"].iloc[0]
            for other in (TV, LIP):
                place = {
                    "where": f"{NAMES[other]}, {problem}, n = {n:,}",
                    "keys": tuple(part["key"]),
                }
                tight.append(
                    {**rates.ratio_of_means(wide[NW].to_numpy(), wide[other].to_numpy()), **place}
                )
            excess = (wide - truth).to_numpy().T[[wide.columns.get_loc(e) for e in (LIP, NW)]]
            times.append({**rates.ratio_of_means(*excess), **place})
    results = [
        _worst(tight, "mean", 1),
        _worst(times, "mean", 1, "; 2 as what several times begins with is ours"),
    ]
    # Difference of the slopes of TV and NW by function.
    pairs = slopes[slopes["estimator"].eq(TV)].merge(
        slopes[slopes["estimator"].eq(NW)], on="problem", suffixes=("", "_nw")
    )
    steeper = pairs.assign(
        mean=pairs["slope"] - pairs["slope_nw"],
        se=np.hypot(pairs["se"], pairs["se_nw"]),
        where=pairs["problem"],
        keys=pairs["keys"] + pairs["keys_nw"],
    )
    results.append(_worst(steeper.to_dict("records"), "mean", -1))
    for estimator in PAPERS:
        # A slope depends on the function, so that slopes of ours cannot contradict printed ones.
        mine = slopes.loc[slopes["estimator"].eq(estimator), "slope"]
        results.append(
            claims.untested(
                "the paper's four functions are not in its summary; on ours the slopes are "
                f"{mine.min():.3f} to {mine.max():.3f}"
            )
        )
    means = items.means(frame, ["problem", "estimator", "n"]).dropna(subset="se")
    # Relative width of the 95 % interval of the mean over the samples.
    wide = 1.96 * means["se"] / means["mean"]
    text = means["estimator"] + ", " + means["problem"] + ", n = " + means["n"].map("{:,}".format)
    error = wide / np.sqrt(2.0 * (means["reps"] - 1))
    results.append(
        _worst(
            means.assign(mean=wide, se=error, where=text).to_dict("records"),
            "mean",
            1,
            "; the threshold is ours",
        )
    )
    return dict(zip(names, results))


def _worst(rows: list[dict[str, Any]], by: str, sign: int, more: str = "") -> Statistic:
    """Return the largest of several numbers as a statistic, or the smallest.

    Parameters
    ----------
    rows : list of dict
        Each has the number in `by`, its standard error `se`, `keys` of cells, and `where`, a text
        that says what the number belongs to. With `reps`, the interval is that of Student's t.
    by : str
        The key of the number.
    sign : int
        1 for the largest number, -1 for the smallest.
    more : str
        Text that is added to what the page says.
    """
    rows = [row for row in rows if not np.isnan([row[by], row["se"]]).any()]
    if not rows:
        return claims.untested("needs two samples or more of every setting")
    worst = max(rows, key=lambda row: sign * row[by])
    level = claims.among(len(rows))
    parts = [
        claims.attach_interval(
            row[by], row["se"], row.get("reps"), row["keys"], claims.OURS, level=level
        )
        for row in rows
    ]
    which = "largest" if sign > 0 else "smallest"
    choose = claims.largest if sign > 0 else claims.smallest
    return choose(parts, f"{which} of {len(rows)}: {worst['where']}{more}")


def claims_on_ece(frame: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on binned ECE, on functions without perturbation."""
    at_end = frame[frame["n"].eq(LARGE) & frame["problem"].isin((FOURTH, *FIRST_THREE))]
    fixed = at_end[at_end["estimator"].eq(ece.FIXED)]
    below = fixed["value"].lt(fixed["truth"])
    acceptable = []
    for problem, part in fixed[fixed["problem"].isin(FIRST_THREE)].groupby("problem", sort=False):
        error = part["value"] / part["truth"] - 1.0
        why = f"largest of the three: {problem}; the threshold of a tenth is ours"
        level = claims.among(len(FIRST_THREE))
        acceptable.append(
            claims.estimate_mean(
                np.sign(error.mean()) * error, part["key"], claims.OURS, why, level
            )
        )
    lacking = len(acceptable) < len(FIRST_THREE)
    none = claims.untested(f"needs samples of n = {LARGE:,} of the three functions")
    return {
        "15 bins do not converge on the fourth function": _not_closer(frame, ece.FIXED),
        "ECE is acceptable on the first three functions": none
        if lacking
        else claims.largest(acceptable),
        "ECE is not an upper bound": claims.estimate_share(
            below.sum(),
            len(below),
            fixed["key"],
            claims.OURS,
            "our four functions; a bound of level 0.95 may be below on one sample in twenty",
        ),
    }


def _not_closer(frame: pd.DataFrame, estimator: str) -> Statistic:
    """Return how much the error of the mean estimate grows from n = 1,000 to n = 1,000,000.

    The error is the distance from the true value. The function is our square waves, which stand for
    the paper's fourth function.
    """
    mine = frame[
        frame["problem"].eq(FOURTH)
        & frame["estimator"].eq(estimator)
        & frame["n"].isin([SMALL, LARGE])
    ]
    error = mine.assign(error=mine["value"] - mine["truth"]).pivot(
        index="rep", columns="n", values="error"
    )
    error = (error * np.sign(error.mean())).reindex(columns=[LARGE, SMALL])
    return claims.estimate_difference(
        error[LARGE],
        error[SMALL],
        mine["key"],
        claims.OURS,
        "our fourth function, square waves; the paper's own is not at hand",
    )


def claims_on_auroc(records: pd.DataFrame, on_cifar: pd.DataFrame) -> dict[str, Statistic]:
    """Return the statistics of the claims on the decrease of the AUROC by the perturbation.

    `on_cifar` has the records of the network on CIFAR-10 that was trained with the perturbation,
    `records` those of all other predictions.
    """
    parts = [perturbation.curves(records), perturbation_trained.curves(on_cifar)]
    frame = pd.concat(parts if all(map(len, parts)) else [parts[0][:0]], ignore_index=True)
    trained = frame[frame["h"].eq(perturbation.CLAIMED) & frame["aware"]]
    return {
        "AUROC hardly falls at h = 2^-6, trained with the perturbation": _end(trained, 1),
        "AUROC falls notably at h = 2^-4": _end(frame[frame["h"].eq(perturbation.NOTABLE)], -1),
    }


def _end(part: pd.DataFrame, sign: int) -> Statistic:
    """Return the largest mean decrease of the AUROC (`sign` 1), or the smallest (`sign` -1).

    Each row of `part` is a mean over classes, tables or seeds. Rows of one member are ignored.
    """
    part = part[part["members"].gt(1)]
    if not len(part):
        return claims.untested(
            "needs networks trained here (calharness data make perturbed_networks, and "
            "cifar10_networks with and without --width 2^-6)"
        )
    where = part["panel"] + ", " + part["series"]
    where += part["aware"].map(
        lambda aware: ", trained with the perturbation" if aware else ", perturbed afterwards"
    )
    rows = part.assign(where=where, reps=part["members"]).to_dict("records")
    return _worst(rows, "mean", sign, "; a value per class, table or seed")


def extreme(
    choose: Callable[[list[Statistic]], Statistic],
    frame: pd.DataFrame,
    problems: Sequence[str],
    estimator: str,
    n: int,
    why: str,
) -> Statistic:
    """Return the mean estimate at n of the problem where it is largest, or smallest.

    `choose` is `claims.largest` or `claims.smallest`. Without records of every problem, the result
    is a claim that is not tested.
    """
    frame = frame[
        frame["estimator"].eq(estimator) & frame["n"].eq(n) & frame["problem"].isin(problems)
    ]
    level = claims.among(len(problems))
    parts = [
        claims.estimate_mean(part["value"], part["key"], claims.OURS, f"{problem}; {why}", level)
        for problem, part in frame.groupby("problem", sort=False)
    ]
    if len(parts) < len(problems):
        return claims.untested(f"needs bounds at n = {n:,} of {' and '.join(problems)}")
    return choose(parts)
