"""The variational estimator: folds, aggregation, the authors' numbers, the bound in expectation."""

import numpy as np
import pytest
from golden_data import LOSSES, arrays, published_runs, rows
from harness.experiments.berta2026 import authors
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

import harness
from harness import BadInputError, UndefinedError
from harness.calibrators import Isotonic, NadarayaWatson, Partition, Temperature, temperature
from harness.estimators import Variational, variational
from harness.estimators.application import apply
from harness.estimators.base import Estimate
from harness.estimators.variational import cross_fit
from harness.math.folds import assign_folds
from harness.math.losses import LogLoss, Lp, OneSided, Squared, TopClass


def estimate(estimator, p, y, notion, rng, problem=None):
    return apply(estimator, *harness.reduce(p, y, notion), notion, rng, problem)


# Folds


@given(
    st.lists(st.integers(0, 3), min_size=5, max_size=60),
    st.integers(2, 5),
    st.booleans(),
    st.integers(0, 1000),
)
def test_folds_are_balanced(y, folds, stratified, seed):
    y = np.array(y)
    for rng in (default_rng(seed), seed):
        fold = assign_folds(y, folds, stratified, rng)
        sizes = np.bincount(fold, minlength=folds)
        assert sizes.max() - sizes.min() <= 1 and len(sizes) == folds
        if stratified:
            for label in np.unique(y):
                of_class = np.bincount(fold[y == label], minlength=folds)
                assert of_class.max() - of_class.min() <= 1


@pytest.mark.golden
def test_the_stored_folds_are_those_of_scikit_learn():
    for name in ("bin2_over_n200_s0", "mc3_cal_n1000_s0"):
        data = arrays(name)
        fold = authors.folds_of_scikit_learn(data["y"], 5, False, int(data["seed"]))
        np.testing.assert_array_equal(fold, data["kfold"])
        ((used, _),) = authors.Variational(Temperature()).partitions(
            data["p"], data["y"], int(data["seed"])
        )
        np.testing.assert_array_equal(used, data["kfold"])


def test_more_folds_of_scikit_learn_than_samples_are_undefined():
    with pytest.raises(UndefinedError, match="5 folds"):
        authors.folds_of_scikit_learn(np.arange(3), 5, False, 0)


def test_one_fold_is_all_samples():
    np.testing.assert_array_equal(assign_folds(np.arange(3), 1, True, default_rng(0)), [0, 0, 0])


class Spy:
    """A calibrator that records its training samples and predicts the number of the fit."""

    determinism = "exact"

    def __init__(self):
        self.fits = []

    def fit(self, p, y, rng):
        self.fits.append((p, y))
        number = len(self.fits)
        return lambda x: np.full(x.shape, number / 10)


def test_held_out_samples_are_predicted_by_the_other_folds():
    p, y, fold = np.linspace(0, 1, 6), np.array([0, 1, 0, 1, 0, 1]), np.array([0, 1, 2, 0, 1, 2])
    spy = Spy()
    np.testing.assert_array_equal(cross_fit(spy, p, y, fold, None), (fold + 1) / 10)
    for j, (p_seen, y_seen) in enumerate(spy.fits):
        np.testing.assert_array_equal(p_seen, p[fold != j])
        np.testing.assert_array_equal(y_seen, y[fold != j])


def test_one_fold_fits_and_predicts_the_same_samples():
    spy = Spy()
    cross_fit(spy, np.array([0.2, 0.4]), np.array([0, 1]), np.array([0, 0]), None)
    assert len(spy.fits) == 1 and len(spy.fits[0][0]) == 2


# Aggregation


def test_closed_form():
    """Contributions sign(q - f)(y - f) = .8, -.2, .6, -.4; squared (f - y)^2 - (q - y)^2."""
    p, q, y = np.array([0.2, 0.2, 0.6, 0.6]), np.array([0.3, 0.3, 0.5, 0.5]), np.array([1, 0, 0, 1])
    got = Variational().evaluate(p, y, [(np.zeros(4, dtype=int), q)])
    expected = {
        "l1": 0.2,
        "l2_squared": (0.64 - 0.49 + 0.04 - 0.09 + 0.36 - 0.25 + 0.16 - 0.25) / 4,
    }
    expected["kl"] = np.log([0.3 / 0.2, 0.7 / 0.8, 0.5 / 0.4, 0.5 / 0.6]).mean()
    expected |= {"l1_over": 0.2, "l1_under": 0.0}  # q lies between f and 1/2 everywhere
    expected |= {"l2_squared_over": expected["l2_squared"], "l2_squared_under": 0.0}
    assert {name: e.value for name, e in got.items()} == pytest.approx(expected, abs=1e-15)


def test_pooled_means_and_fold_means():
    p, q, y = np.full(5, 0.5), np.full(5, 0.6), np.array([1, 1, 0, 1, 0])
    fold = np.array([0, 0, 0, 1, 1])
    contributions = y - 0.5
    pooled = Variational(losses=(Lp(1.0),)).evaluate(p, y, [(fold, q)])["l1"].value
    of_folds = Variational(losses=(Lp(1.0),), pooled=False).evaluate(p, y, [(fold, q)])["l1"].value
    assert pooled == pytest.approx(contributions.mean())
    assert of_folds == pytest.approx((contributions[:3].mean() + contributions[3:].mean()) / 2)
    assert pooled != of_folds


def test_every_declared_estimand_comes_back_for_its_notion():
    p, y = harness.load_problem("dirichlet3_overconfident").sample(200, default_rng(0))
    for notion in ("top_label", "classwise", "canonical"):
        got = estimate(Variational(), p, y, notion, default_rng(1))
        assert set(got) <= set(Variational().estimands)
        assert set(got) <= set(harness.math.estimands.names(notion))
    assert Variational(losses=[Lp(1.5)]).estimands == ("l1.5",)


def test_an_impossible_outcome_makes_kl_infinite_and_nothing_else():
    p, y = np.linspace(0.0, 0.9, 50), np.ones(50, dtype=int)
    got = Variational(Temperature())(p, y, default_rng(0))
    assert got["kl"].value == np.inf
    assert all(np.isfinite(e.value) for name, e in got.items() if name != "kl")


def test_a_training_fold_without_a_class():
    """Class 2 has one member: the fit that holds it out never sees it."""
    p = default_rng(0).dirichlet(np.ones(3), 50)
    y = np.r_[2, default_rng(1).integers(0, 2, 49)]
    for calibrator in (Isotonic(), Temperature(), NadarayaWatson(), Partition()):
        got = Variational(calibrator)(p, y, default_rng(0), notion="canonical")
        assert all(np.isfinite(e.value) for e in got.values()), calibrator


# Repeats, levels, parts


def test_repeats_average_over_partitions():
    """An integer seed s gives the partitions of the seeds s, s + 1, s + 2."""
    p, y = harness.load_problem("beta_overconfident").sample(300, default_rng(0))
    alone = [authors.Variational()(p, y, seed) for seed in (7, 8, 9)]
    together = authors.Variational(repeats=3)(p, y, 7)
    for name, e in together.items():
        values = [single[name].value for single in alone]
        assert len(set(values)) == 3
        assert e.value == pytest.approx(np.mean(values), abs=1e-14)
        assert e.diagnostics == pytest.approx({"split_sd": np.std(values, ddof=1)}, rel=1e-9)
        assert e.kind == "point"
        assert all(single[name].diagnostics is None for single in alone)


def test_the_bound_of_one_partition_given_twice_is_its_bound():
    """The evidence is a mean over all folds of all partitions."""
    p, y = harness.load_problem("beta_overconfident").sample(3000, default_rng(0))
    (partition,) = Variational(Temperature()).partitions(p, y, 1)
    once = Variational(Temperature()).evaluate(p, y, [partition])
    twice = Variational(Temperature(), repeats=2).evaluate(p, y, [partition] * 2)
    assert once["l1"].low > 0.0
    for name, e in twice.items():
        assert (e.value, e.low) == pytest.approx((once[name].value, once[name].low), abs=1e-12)
        assert e.diagnostics["split_sd"] == 0.0


def test_bounds_grow_as_the_level_falls():
    p, y = harness.load_problem("beta_overconfident").sample(3000, default_rng(0))
    estimates = [
        Variational(Temperature(), level=level)(p, y, 1)["l1"] for level in (0.99, 0.95, 0.5)
    ]
    assert 0.0 < estimates[0].low < estimates[1].low < estimates[2].low < estimates[2].value
    assert [e.level for e in estimates] == [0.99, 0.95, 0.5] and len(
        {e.value for e in estimates}
    ) == 1


@pytest.mark.slow
def test_each_class_is_bounded_at_a_share_of_the_level():
    """Three classes at 1 - 0.05/3 each: the mean of their bounds holds at 0.95."""
    problem = harness.load_problem("dirichlet3_overconfident")
    p, y = harness.reduce(*problem.sample(4000, default_rng(0)), "classwise")
    together = apply(Variational(level=0.95), p, y, "classwise", 3)
    of_class = {
        level: [Variational(level=level)(p[:, j], y[:, j], 3, notion="binary") for j in range(3)]
        for level in (1 - 0.05 / 3, 0.95)
    }
    for name, e in together.items():
        strict, loose = (
            np.mean([single[name].low for single in per_class]) for per_class in of_class.values()
        )
        assert e.low == pytest.approx(strict, abs=1e-12)
        assert e.level == 0.95
        assert e.high is None
        assert e.kind == "point"
        assert strict <= loose
        assert e.value == pytest.approx(
            np.mean([single[name].value for single in of_class[0.95]]), abs=1e-12
        )
    assert 0.0 < together["l1"].low < np.mean([single["l1"].low for single in of_class[0.95]])
    assert together["l1"].low < problem.truth("l1", "classwise").value
    without = apply(Variational(stratified=True), p, y, "classwise", 3)
    assert all(e.low is None and e.level is None for e in without.values())


def test_classwise_bounds_without_a_level_are_left_out():
    """An estimator without a level cannot be asked for the share of a class."""

    def bounded(p, y):
        return {"l1": Estimate(0.5, low=0.4, level=0.9)}

    p, y = np.full((10, 3), 1 / 3), np.eye(3, dtype=int)[np.arange(10) % 3]
    (e,) = apply(bounded, p, y, "classwise", None).values()
    assert (e.value, e.low, e.high, e.level) == (0.5, None, None, None)


@pytest.mark.parametrize("parts", [{"a": "much"}, {"a": None}, [1.0], "text"])
def test_parts_are_named_numbers(parts):
    with pytest.raises(BadInputError, match="l1"):
        apply(
            lambda p, y: Estimate(0.5, diagnostics=parts),
            np.full(3, 0.5),
            np.array([0, 1, 1]),
            "binary",
            None,
        )


def test_parts_become_plain_floats():
    given_parts = {"a": np.float32(0.5), 2: 1, "b": True}
    estimates = apply(
        lambda p, y: Estimate(0.5, diagnostics=given_parts),
        np.full(3, 0.5),
        np.array([0, 1, 1]),
        "binary",
        None,
    )
    assert estimates["l1"].diagnostics == {"a": 0.5, "2": 1.0, "b": 1.0}
    assert {type(v) for v in estimates["l1"].diagnostics.values()} == {float}
    assert (
        apply(
            lambda p, y: Estimate(0.5, diagnostics={}),
            np.full(3, 0.5),
            np.array([0, 1, 1]),
            "binary",
            None,
        )["l1"].diagnostics
        is None
    )


# The authors' numbers. `ert`: KFold with the stored fold ids, fold means averaged, log-loss clipped
# to [1e-8, 1 - 1e-8]; one column for binary. `probmetrics1.3.0`: stratified folds (stored), pooled
# mean, log p floored at the logarithm of the smallest float32, itself a float32; two columns for
# binary, so Brier is twice the scalar and Lp 2^(1/p) times.

TINY = float(np.exp(np.float64(np.log(np.finfo(np.float32).tiny))))
CALIBRATORS = {
    "isotonic": Isotonic(),
    "ts": Temperature(),
    "nadaraya_watson": NadarayaWatson(0.1),
    "partitionwise": Partition(15, 30, random_state=42),
    "isotonic_overfitted": Isotonic(),
    "isotonic_all(in-sample)": Isotonic(),
    "ts_overfitted": Temperature(),
    "partitionwise15_overfitted": Partition(15, 15, random_state=42),
}
TWO_COLUMNS = {
    "proper-L1": Lp(1.0), "proper-L1.5": Lp(1.5), "proper-L2": Lp(2.0), "proper-L3": Lp(3.0),
    "proper-Linf": Lp(np.inf),
    "brier": Squared(), "logloss": authors.LogLoss(TINY),
}  # fmt: skip
ONE_COLUMN = {  # (factor of the library, loss on the scalar)
    "L1_scalar(=proper-L1/2)": (1, Lp(1.0)),
    "over-proper-L1": (2, OneSided(Lp(1.0), "over")),
    "under-proper-L1": (2, OneSided(Lp(1.0), "under")),
    "over-brier": (2, OneSided(Squared(), "over")),
    "under-brier": (2, OneSided(Squared(), "under")),
}
TOP_CLASS = {
    "topclass-proper-L1": (2, TopClass(Lp(1.0))),
    "topclass-brier": (2, TopClass(Squared())),
}
# the library splits at 1/2 even for more than two classes; ours go by the sign
TOP_CLASS_AT_HALF = {
    "topclass-over-proper-L1": (2, OneSided(Lp(1.0), "over")),
    "topclass-under-proper-L1": (2, OneSided(Lp(1.0), "under")),
}


def peers():
    grouped = {}
    for row in rows("peer_outputs.csv"):
        if row["estimator"] in CALIBRATORS:
            grouped.setdefault((row["input"], row["stack"], row["estimator"]), []).append(row)
    return grouped


def as_the_peer(data, q, fold, stack, metric):
    """Return our number under the peer's conventions."""
    p, y = data["p"], data["y"]

    def mean(loss, p=p, q=q, y=y, notion="binary"):
        estimator = Variational(losses=(loss,), pooled=stack != "ert", stratified=stack != "ert")
        return estimator.evaluate(p, y, [(fold, q)], notion)[loss.name].value

    if stack == "ert":
        return mean(LOSSES[metric])
    if p.ndim == 1 and metric in TWO_COLUMNS:
        return mean(TWO_COLUMNS[metric], np.column_stack([1 - p, p]), np.column_stack([1 - q, q]))
    if metric in TWO_COLUMNS:
        return mean(TWO_COLUMNS[metric])
    if metric in TOP_CLASS_AT_HALF:
        index, top = np.arange(len(p)), p.argmax(axis=1)
        factor, loss = TOP_CLASS_AT_HALF[metric]
        return factor * mean(loss, p[index, top], q[index, top], (top == y).astype(int))
    factor, loss = {**ONE_COLUMN, **TOP_CLASS}[metric]
    return factor * mean(loss)


@pytest.mark.golden
@pytest.mark.parametrize("case", peers(), ids="-".join)
def test_estimates_equal_the_authors(case):
    name, stack, estimator = case
    data = arrays(name)
    in_sample = "overfitted" in estimator or "in-sample" in estimator
    fold = (
        np.zeros(len(data["y"]), dtype=int)
        if in_sample
        else data["kfold" if stack == "ert" else "stratified_fold"]
    )
    q = cross_fit(CALIBRATORS[estimator], data["p"], data["y"], fold, None)
    for row in peers()[case]:
        ours = as_the_peer(data, q, fold, stack, row["metric"])
        assert ours == pytest.approx(float(row["value"]), abs=1e-9), row["metric"]


# The authors' published runs, through their own random stream

ESTIMATORS = {
    "isotonic_cv": "variational_isotonic_berta2026",
    "isotonic_overfitted": "variational_isotonic_insample",
    "ts_cv": "variational_temperature_berta2026",
    "ts_overfitted": "variational_temperature_insample",
    "nadaraya_watson_cv": "variational_nadaraya_watson_berta2026",
    "partitionwise_cv": "variational_partition_berta2026",
    "partitionwise_overfitted": "variational_partition_insample_berta2026",
}


RUNS = published_runs("fig1_runs_sample.csv", "fig3_runs_sample.csv")


@pytest.mark.golden
@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS, ids=lambda case: f"{case[0]}-{case[1]}")
def test_published_runs_come_back(case):
    name, seed = case
    problem = harness.load_problem(f"{name}_legacy")
    notion, done = problem.default_notions[0], {}
    for row in RUNS[case]:
        n, estimator, metric = int(row["n"]), row["estimator"], row["metric"].lower()
        if estimator == "TRUE":
            ours = problem.authors_truth(metric, seed)
        else:
            if (n, estimator) not in done:
                binning = "binned15_mass" if notion == "binary" else "kmeans15_berta2026"
                ours = harness.load_estimator(ESTIMATORS.get(estimator, binning))
                done[n, estimator] = estimate(ours, *problem.sample(n, seed), notion, seed)
            ours = done[n, estimator][metric].value
        assert ours == pytest.approx(float(row["value"]), abs=1e-9), (n, estimator, metric)


# The bound in expectation


@pytest.mark.parametrize("calibrator", ["isotonic", "temperature"])
def test_cross_fitted_estimates_are_lower_bounds_in_expectation(calibrator):
    """The mean of 100 samples of 500 is at most the truth plus 3 standard errors, and positive."""
    problem, estimator = (
        harness.load_problem("beta_overconfident"),
        harness.load_estimator(f"variational_{calibrator}"),
    )
    got = []
    for rep in range(100):
        p, y = problem.sample(500, default_rng([8, rep]))
        got.append({name: e.value for name, e in estimator(p, y, default_rng([9, rep])).items()})
    for name in ("l1", "l2_squared", "kl"):
        values, truth = np.array([g[name] for g in got]), problem.truth(name).value
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert values.mean() <= truth + 3 * error, name
        assert values.mean() > 3 * error, name  # and it is no idle bound


def test_the_oracle_does_not_judge_a_class_by_itself():
    """The oracle knows the posterior C given the whole vector, not given one column."""
    assert "classwise" not in harness.load_estimator("oracle").notions
    problem = harness.load_problem("dirichlet3_harmonic")
    with pytest.raises(UndefinedError, match="one coordinate"):
        estimate(
            harness.load_estimator("oracle"),
            *problem.sample(5, default_rng(0)),
            "top_label",
            None,
            problem,
        )


@pytest.mark.parametrize(
    "name", ["lightgbm_ws", pytest.param("catboost_ws", marks=pytest.mark.slow), "partition"]
)
def test_a_model_differs_by_nothing_from_itself(name):
    p, y = harness.load_problem("beta_wavy").sample(120, default_rng(0))
    estimator = harness.load_estimator(f"variational_{name}", repeats=2)
    for e in harness.paired_difference(p, p, y, default_rng(1), estimator).values():
        assert (e.value, e.low, e.high) == (0.0, 0.0, 0.0)


def test_an_impossible_outcome_leaves_no_interval():
    p = np.full(60, 0.5)
    q = p.copy()
    q[0] = 0.0
    y = np.r_[1, np.zeros(29, dtype=int), np.ones(30, dtype=int)]
    kl = harness.paired_difference(q, p, y, default_rng(1))["kl"]
    assert kl.value == np.inf and kl.kind == "point" and kl.low is None


def test_only_variational_estimators_are_paired():
    with pytest.raises(BadInputError, match="Binned"):
        harness.paired_difference([0.5], [0.5], [1], 0, harness.load_estimator("binned15"))


def test_whole_floats_are_integers():
    assert Variational(folds=5.0, repeats=2.0).repeats == 2
    assert type(Variational(folds=5.0).folds) is int


def test_one_sided_log_loss_is_bounded_with_the_hedged_map():
    """q = 0 for the outcome: only the hedged contribution stays above log 0.1."""
    loss = OneSided(LogLoss(), "over")
    f, q, y = np.array([0.4, 0.9]), np.array([0.0, 0.0]), np.array([1.0, 1.0])
    assert (loss.for_bound(f, q, y) >= loss.least(True)).all()
    assert (loss.contribution(f, q, y) < loss.least(True)).any()


@pytest.mark.parametrize("pooled", [True, False])
def test_blocks_of_rows_give_the_estimates_of_the_whole_sample(monkeypatch, pooled):
    p, y = harness.load_problem("beta_overconfident").sample(40_000, default_rng(0))
    estimator = Variational(Temperature(), pooled=pooled)
    blocks = estimator(p, y, default_rng(1))
    for module in (variational, temperature):
        monkeypatch.setattr(module, "row_blocks", lambda n: [slice(0, n)])
    for name, whole in estimator(p, y, default_rng(1)).items():
        assert blocks[name].value == pytest.approx(whole.value, rel=1e-10), name
        assert blocks[name].low == pytest.approx(whole.low, rel=1e-10), name
