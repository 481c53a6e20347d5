"""Boosted trees: the authors' numbers, the warm start, the inner folds, and the edges."""

import os
import random
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from golden_data import LOSSES, arrays, published_runs, rows
from harness.experiments.berta2026 import authors
from samples import assert_probabilities, rng, scalars
from scipy.special import expit, logit, softmax

import harness
from harness.calibrators import CatBoost, LightGBM
from harness.estimators.application import apply
from harness.math.folds import assign_folds
from harness.math.losses import Lp, Squared

# Few trees: enough for everything but the numbers themselves
FEW = {
    "catboost": CatBoost(iterations=4, patience=2, inner_folds=2),
    "catboost_ws": CatBoost(iterations=4, warm_start=True, inner_folds=2),
    "catboost_authors": authors.CatBoost(iterations=4, inner_folds=2),
    "lightgbm": LightGBM(iterations=4, patience=2, inner_folds=2),
    "lightgbm_ws": LightGBM(iterations=4, warm_start=True, inner_folds=2),
    "lightgbm_authors": authors.LightGBM(iterations=4, inner_folds=2, seed=None),
}
AUTHORS_KINDS = (authors.CatBoost, authors.LightGBM)
every = pytest.mark.parametrize("calibrator", FEW.values(), ids=FEW)
either = pytest.mark.parametrize("kind", [CatBoost, LightGBM])


def vectors(n, k=3, seed=0):
    p = rng(seed).dirichlet(np.full(k, 0.5), n)
    return p, rng(seed + 100).integers(0, k, n)


def calibrated_vectors(n, seed=0):
    """Return predictions of three classes and labels that follow them, so that trees can learn."""
    p = rng(seed).dirichlet(np.full(3, 0.5), n)
    return p, (rng(seed + 100).random((n, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)


def apart(a, b):
    """Return True if arrays differ by more than the order of a sum or the processor can explain."""
    return np.abs(a - b).max() > 1e-4


# The authors' numbers. In binary L1 depends on the sign of q - p alone: it is equal to the last
# digit. The rest differs by their fits in float32, which stop early.

AUTHORS = {
    "ws_catboost(InitLogit)": "variational_catboost_ws_berta2026",
    "ws_lgbm(InitLogit)": "variational_lightgbm_ws_berta2026",
    "lightgbm": "variational_lightgbm_berta2026",
    "catboost_it300(Table1)": "variational_catboost300_berta2026",
    "catboost_it1000(synthetic)": "variational_catboost_berta2026",
}
BINARY = {"L1": 1e-12, "L1_over": 1e-12, "L1_under": 1e-12, "sq": 1e-5, "KL": 3e-5}
VECTORS = {"L1": 2e-3, "Lp1.5": 5e-4, "L2": 5e-4, "Lp3": 5e-4, "sqL2": 5e-5, "KL": 1e-4}


def by_the_authors():
    """{(estimator, input): {metric: value}}."""
    result = {}
    for row in rows("peer_outputs.csv"):
        if row["stack"] == "ert" and row["estimator"] in AUTHORS:
            result.setdefault((row["estimator"], row["input"]), {})[row["metric"]] = float(
                row["value"]
            )
    return result


def by_cost(case):
    """Return a parameter of `make hours` for trees from scratch that take ten seconds or more."""
    estimator, data = case
    from_scratch = not estimator.startswith("ws_") and "_n1000_" in data
    repeats = from_scratch and (data.startswith("bin2") or estimator.startswith("catboost"))
    return pytest.param(case, marks=pytest.mark.hours if repeats else pytest.mark.slow)


@pytest.mark.golden
@pytest.mark.parametrize("case", [by_cost(case) for case in by_the_authors()], ids="-".join)
def test_estimates_equal_the_authors(case):
    data, reported = arrays(case[1]), by_the_authors()[case]
    notion, tolerance = ("binary", BINARY) if data["p"].ndim == 1 else ("canonical", VECTORS)
    estimator = harness.load_estimator(
        AUTHORS[case[0]], losses=[LOSSES[metric] for metric in reported]
    )
    got = estimator(data["p"], data["y"], int(data["seed"]), notion=notion)
    for metric, value in reported.items():
        assert got[LOSSES[metric].name].value == pytest.approx(value, abs=tolerance[metric]), metric


PUBLISHED = {
    "ws_catboost_cv": "variational_catboost_ws_berta2026",
    "ws_lgbm_cv": "variational_lightgbm_ws_berta2026",
    "lightgbm_cv": "variational_lightgbm_berta2026",
    "catboost_cv": "variational_catboost_berta2026",
    "random_forest_cv": "variational_random_forest_berta2026",
    "extra_trees_cv": "variational_extra_trees_berta2026",
    "sms_cv": "variational_sms_berta2026",
    "sms_overfitted": "variational_sms_insample",
}
EXACT = ("random_forest_cv", "extra_trees_cv")  # no scaling after the trees


RUNS = published_runs("fig1_runs_trees.csv", "fig3_runs_trees.csv")


def by_novelty():
    """Return the runs; those of estimators and class numbers seen before are for `make hours`."""
    seen, parameters = set(), []
    for case, run in RUNS.items():
        kinds = {(row["estimator"], row.get("classes")) for row in run}
        mark = pytest.mark.hours if kinds <= seen else pytest.mark.slow
        parameters.append(pytest.param(case, marks=mark))
        seen |= kinds
    return parameters


@pytest.mark.golden
@pytest.mark.parametrize("case", by_novelty(), ids=lambda case: f"{case[0]}-{case[1]}")
def test_estimates_equal_the_published_runs(case):
    name, seed = case
    problem, done = harness.load_problem(f"{name}_legacy"), {}
    notion = problem.default_notions[0]
    for row in RUNS[case]:
        n, estimator, metric = int(row["n"]), row["estimator"], row["metric"].lower()
        if (n, estimator) not in done:
            ours = harness.load_estimator(PUBLISHED[estimator])
            done[n, estimator] = apply(
                ours, *harness.reduce(*problem.sample(n, seed), notion), notion, seed
            )
        # After SMS in float32 a few components of q - p near 0 change sign, each worth 2 p of L1.
        tolerance = (
            1e-12 if notion == "binary" or estimator in EXACT else 1e-2 if metric == "l1" else 1e-3
        )
        value = float(row["value"])
        assert done[n, estimator][metric].value == pytest.approx(value, abs=tolerance), (
            n,
            estimator,
            metric,
        )


@pytest.mark.golden
@pytest.mark.slow
def test_the_library_agrees_on_vectors():
    """probmetrics 1.3.0: stratified folds, pooled means, otherwise the same models."""
    ours = {
        "WS_LGBMClassifier": "variational_lightgbm_ws_berta2026",
        "WS_CatboostClassifier": "variational_catboost_ws_berta2026",
    }
    losses = {
        "proper-L1.5": Lp(1.5),
        "proper-L2": Lp(2.0),
        "proper-L3": Lp(3.0),
        "brier": Squared(),
    }
    done, seen = {}, 0
    for row in rows("peer_outputs.csv"):
        if row["estimator"] in ours and row["metric"] in losses:
            key = row["estimator"], row["input"]
            if key not in done:
                data = arrays(key[1])
                estimator = harness.load_estimator(
                    ours[key[0]],
                    stratified=True,
                    pooled=True,
                    losses=[Lp(1.5), Lp(2.0), Lp(3.0), Squared()],
                )
                done[key] = estimator(data["p"], data["y"], int(data["seed"]), notion="canonical")
            value = done[key][losses[row["metric"]].name].value
            assert value == pytest.approx(float(row["value"]), abs=5e-4), (key, row["metric"])
            seen += 1
    assert seen == 4 * 4


# Inner folds


@every
@pytest.mark.parametrize("k", [2, 3])
def test_the_scaling_is_fitted_on_held_out_probabilities(calibrator, k, monkeypatch):
    """The scaling is fitted on pairs (q, label), one for each sample.

    The q of a sample comes from a model that never saw the sample.
    """
    p, y = scalars(90) if k == 2 else vectors(90)
    seen = []

    class Spy:
        def fit(self, q, labels):
            seen.append((q, labels))
            return lambda x: x

    monkeypatch.setattr(type(calibrator), "scaling", lambda self, p: Spy())
    calibrator.fit(p, y, 3)
    ((q, labels),) = seen
    theirs = isinstance(calibrator, AUTHORS_KINDS)
    fold = authors.folds_of_scikit_learn(y, 2, True, 0) if theirs else assign_folds(y, 2, True, 3)
    order = np.concatenate([np.flatnonzero(fold == j) for j in range(2)])
    np.testing.assert_array_equal(labels, y[order])
    z = calibrator.start(p) if calibrator.warm_start else None
    for held_out, result, raw in calibrator.models(p, y, z, fold, 3):
        inside = np.isin(order, np.flatnonzero(held_out))
        np.testing.assert_array_equal(result, q[inside])
        scores = raw(calibrator.features(p[held_out]), None if z is None else z[held_out])
        again = expit(scores) if k == 2 else softmax(scores, axis=1)
        np.testing.assert_allclose(result, again, rtol=1e-12)


@every
@pytest.mark.parametrize("k", [2, 3])
def test_held_out_labels_choose_the_number_of_trees_and_nothing_else(calibrator, k):
    """A single tree leaves no choice, so that held-out probabilities do not depend on held-out
    labels.
    """
    p, y = scalars(400) if k == 2 else vectors(400)
    z, fold, single = calibrator.start(p), np.arange(400) % 2, replace(calibrator, iterations=1)
    other = np.where(fold == 0, (y + 1) % k, y)
    start = z if single.warm_start else None
    first, second = (next(single.models(p, labels, start, fold, 0))[1] for labels in (y, other))
    np.testing.assert_array_equal(first, second)
    trained = next(single.models(p, np.where(fold == 1, (y + 1) % k, y), start, fold, 0))[1]
    assert apart(trained, first)


@either
def test_early_stopping_stops(kind):
    """Boosting stops `patience` rounds after the best round, and keeps the trees up to the best
    round.
    """
    p, y = scalars(300)
    fold = assign_folds(y, 3, True, 0)
    for patience in (1, 5):
        calibrator = kind(iterations=200, patience=patience, warm_start=True)
        for _, _, raw in calibrator.models(p, y, logit(p), fold, 0):
            if kind is CatBoost:
                (model,) = raw.__defaults__
                tried, kept = (
                    len(model.get_evals_result()["validation"]["Logloss"]),
                    model.tree_count_,
                )
            else:
                booster, kept = raw.__defaults__
                tried = booster.current_iteration()
            assert 1 <= kept <= tried < 200 and tried - kept == patience


# The warm start


@either
@pytest.mark.parametrize("k", [2, 3])
def test_a_warm_start_without_trees_is_the_identity(kind, k):
    """Constant p leaves nothing to split: the raw scores are the logits that were given."""
    p = np.full(60, 0.3) if k == 2 else np.tile([0.2, 0.3, 0.5], (60, 1))
    calibrator = kind(iterations=3, warm_start=True)
    y, z = rng().integers(0, k, 60), calibrator.start(p)
    for held_out, result, raw in calibrator.models(p, y, z, np.arange(60) % 4, 0):
        np.testing.assert_array_equal(
            raw(calibrator.features(p[held_out]), z[held_out]), z[held_out]
        )
        np.testing.assert_allclose(result, p[held_out], rtol=1e-15)


def test_trees_of_too_few_samples_do_not_split():
    """LightGBM's leaves hold at least 40: with fewer than 80 to learn from, the warm-started model
    is p itself."""
    p, y = scalars(88)
    z = logit(p)
    for held_out, result, _ in LightGBM(iterations=3, warm_start=True).models(
        p, y, z, np.arange(88) % 8, 0
    ):
        np.testing.assert_allclose(result, p[held_out], rtol=1e-12)


@pytest.mark.parametrize("kind", AUTHORS_KINDS)
def test_a_start_from_log_p_says_p_over_one_plus_p(kind):
    """A start from log p gives sigma(log p) = p / (1 + p), a start from logit p gives p.

    The untrained model of berta2026's synthetic runs starts from log p.
    """
    p, y = np.full(60, 0.25), np.arange(60) % 2
    for init, expected in (("log", 0.2), ("logit", 0.25)):
        calibrator = kind(iterations=1, warm_start=True, init=init)
        for _, result, _ in calibrator.models(p, y, calibrator.start(p), np.arange(60) % 2, 0):
            np.testing.assert_allclose(result, expected, rtol=1e-14)
    p, y = scalars(300)
    q = {
        init: kind(iterations=4, warm_start=True, init=init).fit(p, y, 0)(p)
        for init in ("log", "logit")
    }
    assert (np.abs(q["log"] - q["logit"]) > 1e-4).mean() > 0.9
    vector, label = vectors(100)
    from_log, from_logit = (
        kind(iterations=4, warm_start=True, init=init).fit(vector, label, 0)(vector) for init in q
    )
    np.testing.assert_array_equal(from_log, from_logit)  # vectors start from log p in any case


def test_without_samples_to_split_a_cold_start_is_the_share():
    """CatBoost on constant p gives the share of ones, smoothed by one sample of the uniform law.

    Each half learns from the labels of the other half.
    """
    p, y = np.full(8, 0.3), np.array([1, 0, 0, 0, 1, 1, 1, 0])
    fold = np.repeat([0, 1], 4)
    result = [q for _, q, _ in CatBoost(iterations=2).models(p, y, None, fold, 0)]
    np.testing.assert_allclose(result, np.repeat([[3.5 / 5], [1.5 / 5]], 4, axis=1), rtol=1e-14)
    p, y = np.tile([0.2, 0.3, 0.5], (4, 1)), np.array([0, 1, 2, 2])
    (_, result, _), _ = CatBoost(iterations=2).models(p, y, None, np.array([0, 1, 1, 1]), 0)
    np.testing.assert_allclose(result, [[1 / 12, 4 / 12, 7 / 12]], rtol=1e-14)


# Edges


P80, Y80 = scalars(80)
SCALAR_EDGES = {
    "zeros and ones": (np.round(P80), Y80),
    "zeros and ones, right": (np.round(P80), np.round(P80).astype(int)),
    "near zero and one": (np.where(P80 < 0.5, 5e-324, 1 - 2**-53), Y80),
    "ties": (np.round(P80 * 3) / 3, Y80),
    "constant": (np.full(80, 0.3), Y80),
    "constant zero": (np.zeros(80), Y80),
    "all zero": (P80, np.zeros(80, dtype=int)),
    "all one": (P80, np.ones(80, dtype=int)),
    "one positive": (P80, (np.arange(80) == 5).astype(int)),
    "separable": (P80, (P80 > 0.5).astype(int)),
}


@every
@pytest.mark.parametrize("n", [1, 2, 5, 19, 20, 200])
@pytest.mark.parametrize("k", [2, 3])
def test_few_samples(calibrator, n, k):
    """With fewer than 20 samples there are no trees: the scaling is fitted to the prediction.

    With 20, the number of trees that the held-out samples choose may be 0, by rounding.
    """
    p, y = scalars(n) if k == 2 else vectors(n)
    x = np.array([0.0, 0.2, 1.0]) if k == 2 else np.vstack([np.eye(3), [[0.2, 0.3, 0.5]]])
    q = calibrator.fit(p, y, rng())(x)
    assert_probabilities(q, x)
    is_scaled = np.array_equal(q, calibrator.scaling(p).fit(p, y)(x))
    assert is_scaled if n < 20 else n == 20 or not is_scaled


@every
@pytest.mark.parametrize("edge", SCALAR_EDGES)
def test_edges_of_scalars_are_probabilities(calibrator, edge):
    """The mixture with the uniform law keeps q away from 0 and 1."""
    x = np.array([0.0, 5e-324, 0.3, 0.5, 1 - 2**-53, 1.0])
    q = calibrator.fit(*SCALAR_EDGES[edge], rng())(x)
    assert_probabilities(q, x, 0.5 / 81 * (1 - 1e-6))
    if edge.startswith("all"):
        assert (q < 0.3).all() if edge == "all zero" else (q > 0.7).all()


@every
@pytest.mark.parametrize(
    "edge", ["corners", "ties", "constant", "one class", "two classes", "one member", "two members"]
)
def test_edges_of_vectors_are_probabilities(calibrator, edge):
    """Predictions are at corners, tied or constant, and some inner models never see a class."""
    p, y = vectors(80)
    p, y = {
        "corners": (np.eye(3)[p.argmax(axis=1)], y),
        "ties": (np.eye(3)[p.argmax(axis=1)] * 0.7 + 0.1, y),
        "constant": (np.tile([0.2, 0.3, 0.5], (80, 1)), y),
        "one class": (p, np.ones(80, dtype=int)),
        "two classes": (p, y % 2),
        "one member": (p, np.r_[2, y[1:] % 2]),
        "two members": (p, np.r_[2, 2, y[2:] % 2]),
    }[edge]
    x = np.vstack([np.eye(3), [[5e-324, 0.5, 0.5]], rng(1).dirichlet(np.ones(3), 10)])
    q = calibrator.fit(p, y, rng())(x)
    assert_probabilities(q, x, 1 / (3 * 81) * (1 - 1e-9))


@every
def test_two_columns_are_one(calibrator):
    p, y = scalars(120)
    both = np.column_stack([1 - p, p])
    single, columns = calibrator.fit(p, y, 5)(p), calibrator.fit(both, y, 5)(both)
    np.testing.assert_array_equal(columns, np.column_stack([1 - single, single]))


@pytest.mark.parametrize("subsample", [0.5, 0.1, 0.9, 1.0, None])
def test_a_tree_of_catboost_never_sees_no_sample(subsample):
    """CatBoost refuses an empty sample. Each of many trees draws its subsample anew."""
    calibrator = CatBoost(iterations=100, patience=100, inner_folds=3, subsample=subsample)
    for n in (6, 12, 30, 45):
        p, y = scalars(n)
        assert np.isfinite(calibrator.fit(p, y, rng())(p)).all()


# Chance, and nothing else


@every
@pytest.mark.parametrize("k", [2, 3])
def test_the_same_seed_gives_the_same_bits(calibrator, k):
    """Another seed gives another model.

    Each inner fold has 150 samples, which LightGBM's leaves of 40 samples can split.
    """
    p, y = scalars(300) if k == 2 else calibrated_vectors(300)
    kept = p.copy(), y.copy()
    for make in (lambda: 7, lambda: rng(7)):
        first, second = (calibrator.fit(p, y, make())(p) for _ in range(2))
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(p, kept[0])
    np.testing.assert_array_equal(y, kept[1])
    assert np.ptp(second, axis=0).max() > 0.1 and apart(calibrator.fit(p, y, rng(8))(p), second)


@every
def test_a_fixed_seed_leaves_the_inner_folds_to_chance(calibrator):
    """The authors' calibrators fix their inner folds as well."""
    p, y = scalars(300)
    fixed = replace(calibrator, seed=0)
    first, other = fixed.fit(p, y, rng(1))(p), fixed.fit(p, y, 2)(p)
    if isinstance(calibrator, AUTHORS_KINDS):
        np.testing.assert_array_equal(first, other)
        assert apart(first, replace(fixed, inner_seed=1).fit(p, y, 2)(p))
    else:
        np.testing.assert_array_equal(first, fixed.fit(p, y, rng(1))(p))
        assert apart(first, other)
    assert apart(other, replace(fixed, seed=1).fit(p, y, 2)(p))


@every
def test_each_row_is_predicted_by_itself(calibrator):
    for p, y in (scalars(300), calibrated_vectors(300)):
        q = calibrator.fit(p, y, 0)
        np.testing.assert_allclose(
            np.concatenate([q(p[i : i + 1]) for i in range(10)]), q(p)[:10], rtol=1e-12
        )


@every
def test_a_fit_leaves_no_file_no_output_and_no_global_state(
    calibrator, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    states = np.random.get_state()[1].copy(), random.getstate()
    environment = dict(os.environ)
    for p, y in (scalars(60), vectors(60), (np.full(60, 0.5), scalars(60)[1])):
        calibrator.fit(p, y, rng())(p)
    assert os.listdir(tmp_path) == [] and capfd.readouterr() == ("", "")
    np.testing.assert_array_equal(np.random.get_state()[1], states[0])
    assert random.getstate() == states[1] and dict(os.environ) == environment


def test_models_run_on_one_thread(monkeypatch):
    """Only cells run in parallel. A second thread would also change the last bits of sums."""
    import catboost
    import lightgbm

    settings = []
    for module, name in ((catboost, "CatBoost"), (lightgbm, "Booster")):
        kind = getattr(module, name)

        def spy(given, *rest, kind=kind):
            settings.append(given)
            return kind(given, *rest)

        monkeypatch.setattr(module, name, spy)
    before = threading.active_count()
    for calibrator in (FEW["catboost"], FEW["lightgbm"]):
        calibrator.fit(*scalars(60), rng())
    assert [s.get("thread_count", s.get("num_threads")) for s in settings] == [1, 1, 1, 1]
    assert threading.active_count() <= before


@pytest.mark.slow
def test_the_packages_are_imported_only_to_fit():
    code = """
import sys, harness
for name in ("variational_catboost", "variational_lightgbm_ws"):
    harness.load_estimator(name)
sys.exit(sorted({"catboost", "lightgbm", "sklearn"} & set(sys.modules)))
"""
    assert subprocess.run(
        [sys.executable, "-c", code], capture_output=True
    ).stderr.decode().strip() in ("", "[]")


# The bound in expectation
