"""Weighted fits: equal weights change nothing, whole numbers repeat rows, 0 leaves rows out."""

import pickle

import numpy as np
import pytest
from samples import vectors

import harness
from harness import BadInputError, SklearnCalibrator, calibrators
from harness.calibrators import (
    BBQ,
    BetaCalibration,
    HistogramBinning,
    Identity,
    Isotonic,
    MatrixScaling,
    Mixture,
    Partition,
    Platt,
    Temperature,
    VectorScaling,
)
from harness.calibrators.base import WEIGHTED
from harness.estimators import Variational
from harness.math.weights import takes_weights

FREE_OF_UNIT = [Identity(), Isotonic(), Temperature(), Platt(), BetaCalibration(), VectorScaling()]
EVERY = [
    *FREE_OF_UNIT,
    HistogramBinning(),
    HistogramBinning(7, "width"),
    Mixture(Platt()),
]
X = np.linspace(0.0, 1.0, 101)


def draw(k, seed=0, n=300):
    """Return p, y and whole weights; p falls with y, so that beta calibration has a constraint."""
    p, y = vectors(n, max(k, 2))
    if k == 1:
        p = p[:, 1].round(2)
        y = (np.random.default_rng(seed).random(n) < 0.3 + 0.3 * p).astype(int)
    return p, y, np.random.default_rng(seed).integers(0, 4, n)


def points(k):
    return X if k == 1 else np.random.default_rng(9).dirichlet(np.full(k, 0.7), 50)


def test_the_message_names_calibrators_with_weights():
    made = {name: getattr(calibrators, name) for name in calibrators.__all__}
    weighted = {
        name for name, kind in made.items() if takes_weights(getattr(kind, "fit_each", kind.fit))
    }
    assert weighted == set(WEIGHTED)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
def test_whole_numbers_repeat_rows(calibrator, k):
    p, y, w = draw(k)
    repeated = calibrator.fit(np.repeat(p, w, axis=0), np.repeat(y, w), 0)(points(k))
    weighted = calibrator.fit(p, y, 0, sample_weight=w)(points(k))
    assert weighted == pytest.approx(repeated, abs=1e-9)
    if not isinstance(calibrator, Identity):
        assert weighted != pytest.approx(calibrator.fit(p, y, 0)(points(k)), abs=1e-3)


@pytest.mark.parametrize("order", [1, -1])
def test_beta_calibration_with_and_without_its_constraint(order):
    p, y, w = draw(1)
    p = p[::order] if order == 1 else 1.0 - p
    repeated = BetaCalibration().fit(np.repeat(p, w), np.repeat(y, w))(X)
    assert BetaCalibration().fit(p, y, sample_weight=w)(X) == pytest.approx(repeated, abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
def test_equal_weights_give_the_unweighted_map(calibrator, k):
    p, y, _ = draw(k)
    expected = calibrator.fit(p, y, 0)(points(k))
    assert calibrator.fit(p, y, 0, sample_weight=np.ones(300))(points(k)) == pytest.approx(
        expected, abs=1e-12
    )
    if calibrator in FREE_OF_UNIT:
        weights = np.full(300, 0.1)
        assert np.array_equal(calibrator.fit(p, y, 0, sample_weight=weights)(points(k)), expected)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
def test_rows_of_weight_0_are_left_out(calibrator, k):
    p, y, _ = draw(k)
    w = np.random.default_rng(1).random(300)
    w[::3] = 0.0
    kept = w > 0.0
    expected = calibrator.fit(p[kept], y[kept], 0, sample_weight=w[kept])(points(k))
    assert np.array_equal(calibrator.fit(p, y, 0, sample_weight=w)(points(k)), expected)


@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
@pytest.mark.parametrize("weights", [[1.0] * 299, [np.nan] * 300, [-1.0] * 300, [0.0] * 300])
def test_other_weights_are_refused(calibrator, weights):
    p, y, _ = draw(1)
    with pytest.raises(BadInputError, match="sample_weight"):
        calibrator.fit(p, y, 0, sample_weight=weights)


@pytest.mark.parametrize("calibrator", [MatrixScaling(), Partition(), BBQ(), Mixture(BBQ())])
def test_calibrators_without_weights_refuse_them(calibrator):
    p, y, w = draw(1)
    with pytest.raises(BadInputError, match=r"has no weighted form.*BetaCalibration, "):
        SklearnCalibrator(calibrator).fit(p, y, w)
    if isinstance(calibrator, MatrixScaling):
        with pytest.raises(BadInputError, match="has no weighted form"):
            calibrator.fit(p, y, sample_weight=w)


@pytest.mark.parametrize("k", [1, 4])
def test_weights_in_scikit_learn(k):
    p, y, w = draw(k)
    fitted = SklearnCalibrator(Isotonic()).fit(p, y, sample_weight=w)
    expected = SklearnCalibrator(Isotonic()).fit(np.repeat(p, w, axis=0), np.repeat(y, w))
    q = fitted.predict_proba(p)
    assert q == pytest.approx(expected.predict_proba(p), abs=1e-9)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(p), q)
    with pytest.raises(BadInputError, match="shape"):
        SklearnCalibrator().fit(p, y, w[:-1])


@pytest.mark.parametrize("notion", ["binary", "top_label", "canonical"])
def test_the_variational_estimate_in_sample_repeats_rows(notion):
    p, y, w = draw(1 if notion == "binary" else 3)
    estimator = Variational(Temperature(), folds=1)
    repeated = harness.estimate(estimator, np.repeat(p, w, axis=0), np.repeat(y, w), notion)
    weighted = harness.estimate(estimator, p, y, notion, sample_weight=w)
    assert {name: e.value for name, e in weighted.items()} == pytest.approx(
        {name: e.value for name, e in repeated.items()}, abs=1e-10
    )


def test_the_variational_estimate_of_weighted_rows_is_held_out_and_has_no_bound():
    """Folds, fits and means by hand."""
    p, y, _ = draw(1)
    w = np.random.default_rng(1).random(300)
    for pooled in (True, False):
        estimator = Variational(Platt(), folds=3, pooled=pooled)
        e = estimator(p, y, np.random.default_rng(5), sample_weight=w)["l2_squared"]
        ((fold, _),) = estimator.partitions(p, y, np.random.default_rng(5))
        gains = np.empty(300)
        for j in range(3):
            out = fold == j
            q = Platt().fit(p[~out], y[~out], sample_weight=w[~out])(p[out])
            gains[out] = (p[out] - y[out]) ** 2 - (q - y[out]) ** 2
        by_fold = [np.average(gains[fold == j], weights=w[fold == j]) for j in range(3)]
        expected = np.average(gains, weights=w) if pooled else np.mean(by_fold)
        assert e.value == pytest.approx(expected, abs=1e-10) and e.low is None
    equal = estimator(p, y, np.random.default_rng(5), sample_weight=np.full(300, 3.0))
    assert equal == estimator(p, y, np.random.default_rng(5))
    with pytest.raises(BadInputError, match="BBQ has no weighted form"):
        Variational(BBQ())(p, y, np.random.default_rng(0), sample_weight=w)
