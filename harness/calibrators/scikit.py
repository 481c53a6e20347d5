"""Any calibrator as an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from harness.calibrators.base import CalibrationMap, weighted_fit
from harness.calibrators.temperature import Temperature
from harness.errors import BadInputError
from harness.math.arrays import refuse_masked, to_array
from harness.math.class_names import as_text, few
from harness.math.columns import arrange_columns
from harness.math.notions import checked, row_tolerance
from harness.math.weights import checked_weights


class SklearnCalibrator(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A calibrator with the methods of a scikit-learn classifier, whose features are predictions.

    Parameters
    ----------
    calibrator : calibrator, optional
        Any calibrator of `harness.calibrators`, or your own one with `fit(p, y, rng)`. Default:
        `Temperature()`.
    random_state : int or None
        Seed of calibrators that draw random numbers. The same seed gives the same map. None draws
        another stream in each fit.

    Attributes
    ----------
    classes_ : ndarray (k,)
        The labels in ascending order. If a class is absent from y, they must be 0..k-1.
    n_features_in_ : int
        Number of columns of p; 1 for p (n,).

    Notes
    -----
    `transform` returns what `predict_proba` returns, so that a calibrator may stand anywhere in a
    pipeline. A pickle holds the fitted rows instead of the map, and fits the map again when it is
    loaded.

    Examples
    --------
    >>> from harness.calibrators import HistogramBinning
    >>> p, y = [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], ["no", "no", "no", "yes", "yes", "no"]
    >>> calibrator = SklearnCalibrator(HistogramBinning(bins=2)).fit(p, y)
    >>> calibrator.classes_.tolist(), calibrator.predict_proba([0.25, 0.75]).tolist()
    (['no', 'yes'], [[0.8, 0.2], [0.4, 0.6]])
    """

    def __init__(self, calibrator: Any = None, random_state: int | None = 0) -> None:
        self.calibrator = calibrator
        self.random_state = random_state

    def fit(
        self, p: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SklearnCalibrator:
        """Fit the map from predictions to class probabilities.

        Parameters
        ----------
        p : array_like or data frame, (n,) or (n, k)
            Probabilities of the second of two classes, or of k classes. Columns of a data frame
            that are named by class are matched by name.
        y : array_like (n,)
            Labels: numbers or texts.
        sample_weight : array_like (n,), optional
            Weights of the rows, at least 0. Rows of weight 0 are left out. BadInputError if the
            calibrator has no weighted form.
        """
        _refuse_sparse(p)
        y = _checked_labels(y)
        self.classes_ = _classes(y, _count_classes(p))
        names = [as_text(label) for label in self.classes_]
        positions = label_positions(y, self.classes_)
        arranged, labels = checked(arrange_columns(p, names), positions, tolerance=row_tolerance(p))
        self.n_features_in_ = 1 if arranged.ndim == 1 else arranged.shape[1]
        weights = None
        if sample_weight is not None:
            weights = checked_weights(sample_weight, len(labels))
        self._rows = arranged, labels, weights
        self._seed = np.random.SeedSequence(self.random_state).entropy
        self._map = self._fit_map()
        return self

    def predict_proba(self, p: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrated probabilities (n, k) of all classes, also for p (n,)."""
        check_is_fitted(self, "classes_")
        _refuse_sparse(p)
        if self.n_features_in_ > 1 and np.ndim(p) == 1:
            raise BadInputError(
                f"p has shape {np.shape(p)}, but the calibrator was fitted on "
                f"{self.n_features_in_} columns. Reshape your data: p.reshape(1, -1) is one row."
            )
        arranged = arrange_columns(p, [as_text(label) for label in self.classes_])
        y = np.zeros(len(arranged), dtype=np.int64)
        x, _ = checked(arranged, y, tolerance=row_tolerance(p))
        if (1 if x.ndim == 1 else x.shape[1]) != self.n_features_in_:
            raise BadInputError(
                f"p has shape {x.shape}, but the calibrator was fitted on {self.n_features_in_} "
                "columns; pass predictions in the same form."
            )
        q = self._map(x)
        return np.column_stack([1.0 - q, q]) if q.ndim == 1 else q

    def transform(self, p: ArrayLike) -> NDArray[np.float64]:
        """Return the calibrated probabilities (n, k), as `predict_proba` does."""
        return self.predict_proba(p)

    def predict(self, p: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row."""
        q = self.predict_proba(p)
        labels: NDArray[Any] = self.classes_[q.argmax(axis=1)]
        return labels

    def _fit_map(self) -> CalibrationMap:
        calibrator: Any = Temperature() if self.calibrator is None else self.calibrator
        p, y, weights = self._rows
        return weighted_fit(calibrator, p, y, np.random.default_rng(self._seed), weights)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_map"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_rows" in state:
            self._map = self._fit_map()


def _refuse_sparse(p: Any) -> None:
    if issparse(p):
        raise BadInputError("p is a sparse matrix; pass a dense array, p.toarray().")


def _checked_labels(y: Any) -> NDArray[Any]:
    """Return labels as (n,). Refuse numbers that are no classes, such as 0.37."""
    if y is None:
        raise BadInputError("fit requires y to be passed, but the target y is None.")
    refuse_masked("y", y)
    labels = np.asarray(to_array(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = column_or_1d(labels, warn=True)
    if labels.ndim == 1 and len(labels):
        check_classification_targets(labels)
    return labels


def _count_classes(p: ArrayLike) -> int:
    shape = np.shape(p)
    return shape[1] if len(shape) == 2 and shape[1] > 1 else 2


def _classes(y: ArrayLike, k: int) -> NDArray[Any]:
    """Return the k labels in ascending order; 0..k-1 if y holds fewer labels, all among these."""
    labels = np.unique(np.asarray(to_array(y)))
    if len(labels) == k:
        return labels
    numbers = np.arange(k)
    if labels.dtype.kind in "fiub" and np.isin(labels, numbers).all():
        return numbers
    shown: Sequence[Any] = labels.tolist()
    raise BadInputError(
        f"y holds {len(labels)} different labels ({few(shown)}), but p has {k} classes; pass rows "
        f"with labels of every class, or labels 0..{k - 1}."
    )


def label_positions(y: ArrayLike, classes: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each label y (n,) in the labels of a classifier, `classes_`.

    Raises
    ------
    BadInputError
        If a label is not in `classes`.

    Examples
    --------
    >>> label_positions(["no", "yes", "no"], ["no", "yes"]).tolist()
    [0, 1, 0]
    >>> label_positions([1, -1], np.array([-1, 1])).tolist()
    [1, 0]
    """
    refuse_masked("y", y)
    labels = np.asarray(to_array(y))
    if labels.ndim != 1:
        raise BadInputError(f"y has shape {labels.shape}; it must be (n,), one label per row.")
    positions = pd.Index(classes).get_indexer(pd.Index(labels))
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        allowed = ", ".join(map(str, list(classes)[:10]))
        raise BadInputError(
            f"y holds label {labels[row]!s} at row {row}, which the classifier does not know; its "
            f"classes are {allowed}."
        )
    return positions.astype(np.int64)
