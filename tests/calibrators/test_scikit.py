"""Calibrators as estimators of scikit-learn."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from samples import vectors
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils import estimator_checks

import harness
from harness import BadInputError, SklearnCalibrator
from harness.calibrators import BBQ, HistogramBinning, Isotonic, Partition, Temperature


class OfFeatures(SklearnCalibrator):
    """A calibrator whose features are mapped into [0, 1], by a softmax of fixed projections."""

    def fit(self, x, y, sample_weight=None):
        self._k = max(2, len(np.unique(np.asarray(y)))) if y is not None else 2
        self._columns = np.shape(np.asarray(x))[-1:]
        return super().fit(self._mapped(x), y, sample_weight)

    def predict_proba(self, x):
        return super().predict_proba(self._mapped(x) if hasattr(self, "_k") else x)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # random projections separate no classes
        return tags

    def _mapped(self, x):
        """Map a finite matrix of numbers; leave everything else for the calibrator to refuse."""
        a = np.asarray(x)
        if a.ndim != 2 or a.dtype.kind not in "fiu" or a.shape[1:] != self._columns or not a.size:
            return x
        if not np.isfinite(a).all():
            return x
        projection = np.random.default_rng(a.shape[1]).standard_normal((a.shape[1], self._k))
        return softmax(a @ projection, axis=1)


# Checks that cannot hold, because X must be probabilities.
LEFT_OUT = {
    "check_n_features_in_after_fitting": "the features are the mapped columns, one for each class",
    "check_dtype_object": "numbers of type object are refused, as everywhere in the library",
    "check_estimators_empty_data_messages": "a matrix of probabilities needs two columns",
    "check_classifiers_one_label": "with one label, the classes are 0 to k - 1",
}


def test_checks_of_scikit_learn():
    results = estimator_checks.check_estimator(OfFeatures(), on_fail=None, on_skip=None)
    failed = {row["check_name"]: row["exception"] for row in results if row["status"] == "failed"}
    assert set(failed) <= set(LEFT_OUT), failed
    assert len(results) - len(failed) > 50


QUICK = [Temperature(), Isotonic(), HistogramBinning(bins=5), BBQ(), Partition(bins=3)]


@pytest.mark.parametrize("calibrator", QUICK, ids=repr)
@pytest.mark.parametrize("k", [2, 4])
def test_the_map_is_that_of_the_calibrator(calibrator, k):
    p, y = vectors(300, k)
    fitted = SklearnCalibrator(calibrator, random_state=3).fit(p, y)
    q = calibrator.fit(p, y, np.random.default_rng(3))(p)
    assert np.array_equal(fitted.predict_proba(p), q)
    for again in (clone(fitted).fit(p, y), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(again.predict_proba(p), q)
    assert np.array_equal(fitted.predict(p), q.argmax(axis=1))
    assert fitted.score(p, y) == np.mean(q.argmax(axis=1) == y)


def test_a_stream_that_is_not_seeded_is_pickled():
    p, y = vectors(200, 3)
    fitted = SklearnCalibrator(Partition(vector_bins=5), random_state=None).fit(p, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(p), fitted.predict_proba(p))


def test_scores_of_one_class_have_two_columns_of_probabilities():
    p, y = np.array([0.1, 0.4, 0.6, 0.9]), np.array(["no", "yes", "no", "yes"])
    fitted = SklearnCalibrator().fit(p, y)
    q = fitted.predict_proba(p)
    assert q.shape == (4, 2) and fitted.n_features_in_ == 1
    assert q[:, 1] == pytest.approx(Temperature().fit(p, (y == "yes").astype(int))(p))
    assert fitted.predict(p).tolist() == ["no", "no", "yes", "yes"]
    with pytest.raises(BadInputError, match="1 columns"):
        fitted.predict_proba(q)


def test_labels_of_any_kind_and_columns_in_any_order():
    p, y = vectors(200, 3)
    q = SklearnCalibrator(Isotonic()).fit(p, y).predict_proba(p)
    for labels in (np.array([-1, 2, 7]), np.array(["a", "b", "c"])):
        fitted = SklearnCalibrator(Isotonic()).fit(p, labels[y])
        assert np.array_equal(fitted.predict_proba(p), q)
        assert np.array_equal(fitted.classes_, labels)
    frame = pd.DataFrame(p, columns=["p_a", "p_b", "p_c"])[["p_c", "p_a", "p_b"]]
    assert np.array_equal(fitted.predict_proba(frame), q)


def test_a_class_may_be_absent_if_labels_are_numbers_from_0():
    p = vectors(50, 3)[0]
    fitted = SklearnCalibrator().fit(p, np.arange(50) % 2)
    assert fitted.classes_.tolist() == [0, 1, 2]
    with pytest.raises(BadInputError, match="2 different labels"):
        SklearnCalibrator().fit(p, np.array(["a", "b"])[np.arange(50) % 2])


def test_it_is_fitted_before_it_predicts():
    with pytest.raises(NotFittedError):
        SklearnCalibrator().predict_proba([0.5])


def test_in_cross_validation_and_grid_search():
    p, y = harness.load_problem("beta_overconfident").sample(600, np.random.default_rng(0))
    q = cross_val_predict(SklearnCalibrator(BBQ()), p, y, method="predict_proba")
    assert q.shape == (600, 2)
    grid = {"calibrator": [HistogramBinning(bins=200, smoothing=0.01), Isotonic(), Temperature()]}
    search = GridSearchCV(SklearnCalibrator(), grid, scoring="neg_brier_score").fit(p, y)
    assert search.best_params_["calibrator"] != grid["calibrator"][0]


def test_what_is_no_prediction_or_class_is_refused():
    p, y = vectors(30, 3)
    fitted = SklearnCalibrator().fit(p, y)
    assert np.array_equal(fitted.transform(p), fitted.predict_proba(p))
    for call, words in (
        (lambda: fitted.predict_proba(csr_array(p)), "p.toarray()"),
        (lambda: fitted.predict_proba(p[0]), "reshape(1, -1)"),
        (lambda: SklearnCalibrator().fit(p, None), "y is None"),
        (lambda: SklearnCalibrator().fit(p, np.linspace(0.0, 1.0, 30)), "continuous"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            call()
    with pytest.warns(DataConversionWarning):
        column = SklearnCalibrator().fit(p, y[:, None])
    assert np.array_equal(column.predict_proba(p), fitted.predict_proba(p))
