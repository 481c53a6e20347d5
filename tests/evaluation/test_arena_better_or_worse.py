"""Comparisons over families: error rates, Holm, confidence sets, recommendations."""

import math

import numpy as np
import pandas as pd
import pytest
from test_arena import random_records, rows, settings_of

from harness.errors import BadInputError
from harness.evaluation import arena
from harness.evaluation.arena.better_or_worse import p_values

LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "t3": lambda rng, size: rng.standard_t(3, size=size),
    "Laplace": lambda rng, size: rng.laplace(size=size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size=size),
}
SIMULATIONS = 20_000


def settings_by_family(ratios, n=100, names=("a", "b")):
    """Settings of two estimators, one problem per family.

    The second is off by 0.1, the first by 0.1 times the ratio of the family.
    """
    parts = []
    for i, ratio in enumerate(ratios):
        errors = (0.1 * ratio, 0.1)
        parts += [rows(e, [0.3 + x, 0.3 - x], f"p{i}", n) for e, x in zip(names, errors)]
    records = pd.DataFrame([row for part in parts for row in part])
    problems = {f"f{i}": [f"p{i}"] for i in range(len(ratios))}
    return arena.settings(records, problems, {f"p{i}": 2 for i in range(len(ratios))})


def test_a_statement_by_hand():
    """Log ratios log 2 and log 8 in turn over six families: mean log 4, sd log(2) sqrt(6 / 5)."""
    result = arena.better(settings_by_family([2, 8] * 3), "a", "b")
    half = 2.5706 * math.log(2) / 5**0.5
    assert math.isclose(result.ratio, 4.0) and result.families == 6
    assert math.isclose(result.low, 4.0 * math.exp(-half), rel_tol=1e-4)
    assert math.isclose(result.high, 4.0 * math.exp(half), rel_tol=1e-4)
    assert result.verdict == "worse" and result.p_value < 0.01
    assert result.about == "families like these"
    other = arena.better(settings_by_family([2, 8] * 3), "b", "a")
    assert other.verdict == "better" and math.isclose(other.ratio * result.ratio, 1.0)


def test_few_families_make_no_verdict():
    result = arena.better(settings_by_family([9, 9.1, 9.2, 9.3]), "a", "b")
    assert result.low > 8.5 and math.isnan(result.p_value)
    assert (result.verdict, result.about) == ("undecided", "these families")
    assert arena.better(settings_by_family([9]), "a", "b").verdict == "undecided"


def test_equal_estimators_are_undecided():
    result = arena.better(settings_by_family([1] * 6), "a", "b")
    assert (result.ratio, result.p_value, result.verdict) == (1.0, 1.0, "undecided")


def test_only_common_settings_and_replications_count():
    """In rep 0, which both have, a is off by 0.2 and b by 0.1."""
    table = settings_of(rows("a", [0.5, 0.3]), rows("b", [0.4]), rows("a", [0.9, 0.9], "q"))
    assert math.isclose(arena.better(table, "a", "b").ratio, 2.0)


def test_a_truth_of_zero_enters_no_ratio():
    table = settings_of(rows("a", [0.1, 0.1], truth=0.0), rows("b", [0.2, 0.2], truth=0.0))
    with pytest.raises(BadInputError, match="truth"):
        arena.better(table, "a", "b")


def test_mixed_estimands_are_refused():
    more = [rows(name, [0.1, 0.2], estimand="kl") for name in "ab"]
    table = settings_of(rows("a", [0.4, 0.2]), rows("b", [0.5, 0.1]), *more)
    with pytest.raises(BadInputError, match="estimands"):
        arena.better(table, "a", "b")


@pytest.mark.parametrize("families", [8, 20, 40])
@pytest.mark.parametrize("law", LAWS)
def test_error_rate_of_the_test(law, families):
    """Without a difference, the test rejects with a probability of at most its level.

    Measured with 100,000 simulations, for 8, 20 and 40 families: normal 0.050, 0.050, 0.049; t with
    3 degrees of freedom 0.039, 0.043, 0.046; Laplace 0.039, 0.046, 0.048; Cauchy 0.019, 0.020,
    0.021. The law of the difference has to be symmetric: a gamma law of shape 2 gives 0.079, 0.066
    and 0.060. The bound is three Monte Carlo errors.
    """
    differences = LAWS[law](np.random.default_rng(families), (families, SIMULATIONS))
    rate = (p_values(differences) <= 0.05).mean()
    assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / SIMULATIONS)


def test_equal_estimators_are_rarely_called_different():
    """From records to verdicts, 12 families: the rate is at most 0.05 up to three Monte Carlo
    errors of 200 trials.
    """
    trials, families = 200, 12
    frame = random_records(
        np.random.default_rng(0), trials * families, {"a": 1.0, "b": 1.0}, reps=4, sizes=(100,),
        between=0.3,
    )  # fmt: skip
    names = sorted(frame["problem"].unique())
    table = arena.settings(frame, {name: [name] for name in names}, dict.fromkeys(names, 2))
    trial = pd.factorize(table["problem"])[0] // families
    verdicts = [arena.better(part, "a", "b").verdict for _, part in table.groupby(trial)]
    wrong = trials - verdicts.count("undecided")
    assert wrong / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


def test_holm_by_hand():
    """Times 3, 2 and 1 in increasing order, never below the value before, at most 1."""
    assert np.allclose(arena.holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])
    assert arena.holm([0.6, 0.9]).tolist() == [1.0, 1.0]
    assert np.isnan(arena.holm([np.nan, 0.02])).tolist() == [True, False]
    assert arena.holm([]).tolist() == []


# Model confidence set


def losses(rng, families, means):
    noise = 0.3 * rng.normal(size=(families, len(means)))
    return pd.DataFrame(means + noise, columns=[f"m{i}" for i in range(len(means))])


@pytest.mark.parametrize(("families", "models"), [(8, 3), (8, 20), (18, 10), (40, 5)])
def test_a_confidence_set_contains_the_best_of_equals(families, models):
    """With equal models, each is the best. It is in the set in at least 95 % of 200 simulations, up
    to three Monte Carlo errors, and most models stay.
    """
    rng = np.random.default_rng(families + models)
    sets = [
        arena.confidence_set(losses(rng, families, np.zeros(models)), resamples=200, seed=seed)
        for seed in range(200)
    ]
    share = np.mean(["m0" in names for names in sets])
    assert share >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 200)
    assert np.mean([len(names) for names in sets]) >= 0.9 * models


def test_a_confidence_set_excludes_what_is_clearly_worse():
    """Losses 0, 0.6, 1.2 ... with a standard deviation of 0.3 over 18 families."""
    rng = np.random.default_rng(0)
    sets = [arena.confidence_set(losses(rng, 18, 0.6 * np.arange(6))) for _ in range(20)]
    assert sets == [["m0"]] * 20


def test_a_confidence_set_of_few_families_excludes_nothing():
    assert arena.confidence_set(pd.DataFrame({"a": [0.0] * 4, "b": [9.0] * 4})) == ["a", "b"]
    assert arena.confidence_set(pd.DataFrame({"a": [0.0] * 6, "b": [0.0] * 6})) == ["a", "b"]


# Rivals and recommendations


def board_of(errors, development, n=100, truth=0.3):
    """Settings with one problem per family; {estimator: error in each family}."""
    parts = []
    for name, values in errors.items():
        for i, error in enumerate(values):
            parts += rows(name, [truth + error] * 2, f"p{i}", n, truth=truth)
    families = {f"f{i}": [f"p{i}"] for i in range(len(values))}
    return pd.DataFrame(parts), families, [f"f{i}" for i in range(development)]


def test_rivals_are_chosen_on_the_development_families_alone():
    """a is the best on the two development families, b on the six others."""
    errors = {"a": [0.1] * 2 + [0.3] * 6, "b": [0.2] * 2 + [0.1] * 6, "best": [0.05] * 8}
    records, families, development = board_of(errors, 2)
    table = arena.settings(records, families, {f"p{i}": 2 for i in range(8)})
    assert arena.rivals(table, development)["estimator"].tolist() == ["a"]
    assert arena.rivals(table, ["f5", "f6"])["estimator"].tolist() == ["b"]
    assert not len(arena.rivals(table, []))


def test_a_recommendation_by_hand():
    """best is off by 0.1, and a by 0.2 or 0.4 in turn, so that the ratio is 1 / sqrt 8."""
    errors = {"a": [0.1] * 2 + [0.2, 0.4] * 3, "b": [0.2] * 2 + [0.3] * 6, "best": [0.1] * 8}
    records, families, development = board_of(errors, 2)
    zero = rows("best", [0.04, 0.04], "zero", truth=0.0)
    classes = {f"p{i}": 2 for i in range(8)} | {"zero": 2}
    table = arena.settings(pd.concat([records, pd.DataFrame(zero)]), families, classes)
    row = arena.recommendations(table, development).iloc[0]
    assert row["n"] == 100 and (row["own"], row["rival"]) == ("best", "a")
    assert math.isclose(row["own_rmse"], 0.1) and math.isclose(row["rival_rmse"], 0.08**0.5)
    assert math.isclose(row["ratio"], 8**-0.5) and row["families"] == 6
    assert math.isclose(row["own_bias"], 0.1) and math.isclose(row["rival_bias"], 0.3)
    assert math.isclose(row["own_relative"], 4 / 3)
    assert math.isclose(row["own_rmse_calibrated"], 0.04)
    assert math.isnan(row["rival_rmse_calibrated"])
    assert row["verdict"] == "better" and row["p_holm"] == row["p_value"] < 0.01
    assert row["confidence_set"] == ("best",) and math.isinf(row["simulated_n"])


def test_holm_is_over_the_n_of_a_board():
    """The same ratios at two n: both p-values are doubled."""
    errors = {"a": [0.2, 0.4] * 4, "best": [0.1, 0.3] * 4}
    parts = [board_of(errors, 2, n)[0] for n in (100, 400)]
    _, families, development = board_of(errors, 2)
    table = arena.settings(pd.concat(parts), families, {f"p{i}": 2 for i in range(8)})
    table = arena.recommendations(table, development)
    assert np.allclose(table["p_holm"], 2 * table["p_value"])


def test_without_test_families_there_is_no_recommendation():
    records, families, _ = board_of({"a": [0.1] * 3, "best": [0.2] * 3}, 0)
    table = arena.settings(records, families, {f"p{i}": 2 for i in range(3)})
    assert not len(arena.recommendations(table, ["f0", "f1", "f2"]))
    row = arena.recommendations(table, ["f0"]).iloc[0]
    assert row["verdict"] == "undecided" and row["families"] == 2 and math.isnan(row["p_value"])
    assert set(row["confidence_set"]) == {"a", "best"}
