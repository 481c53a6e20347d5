"""Turn the arguments of `harness.judge` into predictions: arrays, a classifier, or two samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from harness.calibrators.scikit import SklearnCalibrator, label_positions
from harness.calibrators.temperature import Temperature
from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.judging.data import from_arrays, with_classes_of
from harness.judging.judged import Judged
from harness.judging.row_ids import in_order
from harness.math.class_names import as_text

FORMS = "judge takes (p, y), (classifier, x, y) or (p_val, y_val, p_test, y_test)"


def read_models(
    arguments: Sequence[Any],
    *,
    second: Any = None,
    calibrators: Any = None,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    groups: Any = None,
    group_rows: Any = None,
    sample_weight: Any = None,
    confidences: bool = False,
    seed: int = 0,
) -> list[Judged]:
    """Return the predictions of all models that the arguments of `harness.judge` describe.

    `arguments` are the positional ones.

    Raises
    ------
    BadInputError
        If their number is wrong, or if an argument cannot be used.
    """
    samples, name, classes = _samples(list(arguments), classes)
    options: dict[str, Any] = {"classes": classes, "confidences": confidences}
    p, y = samples[-1]
    rows = {"groups": groups, "group_rows": group_rows, "sample_weight": sample_weight}
    first = from_arrays(p, y, name=name, **rows, **options)
    if len(samples) == 1:
        if calibrators is not None:
            raise BadInputError(
                "calibrators= needs rows to fit on; pass (p_val, y_val, p_test, y_test)."
            )
        others = [in_order(p, other) for other in _listed(second, p)]
        models = [first, *(from_arrays(other, y, **options) for other in others)]
        if len(models) > 1:
            models = [replace(model, name=f"model {i + 1}") for i, model in enumerate(models)]
    elif second is not None:
        raise BadInputError(
            "second= cannot be given with two samples; the models that are compared are those of "
            "calibrators=."
        )
    else:
        fitting = with_classes_of(first, from_arrays(*samples[0], name="the first rows", **options))
        if calibrators is None:
            calibrators = [Temperature()]
        elif not isinstance(calibrators, (list, tuple)):
            calibrators = [calibrators]
        models = [first, *(recalibrate(first, fitting, one, seed) for one in calibrators)]
    if names is None:
        return models
    if len(names) != len(models) or len(set(names)) != len(models):
        raise BadInputError(
            f"names are {', '.join(map(str, names))}; pass {len(models)} different names, one for "
            "each model."
        )
    return [replace(model, name=str(text)) for model, text in zip(models, names)]


def recalibrate(data: Judged, fitting: Judged, calibrator: Any, seed: int) -> Judged:
    """Return the predictions `data` after a calibrator that was fitted on the rows `fitting`.

    `calibrator` is one of `harness.calibrators`, or a classifier of scikit-learn on scores.
    """
    name = type(calibrator).__name__
    if isinstance(calibrator, SklearnCalibrator):
        name = type(calibrator.calibrator or Temperature()).__name__
    is_classifier = hasattr(calibrator, "predict_proba")
    estimator = clone(calibrator) if is_classifier else SklearnCalibrator(calibrator, seed)
    q = estimator.fit(_scores(fitting), fitting.y).predict_proba(_scores(data))
    understood = f"{data.understood}; {name} fitted on {format_count(fitting.n, 'other row')}"
    return replace(data, p=np.asarray(q), name=name, understood=understood, groups={})


def _scores(data: Judged) -> np.ndarray:
    return data.p[:, 1] if data.k == 2 else data.p


def _samples(
    arguments: list[Any], classes: Sequence[Any] | None
) -> tuple[list[tuple[Any, Any]], str, Sequence[Any] | None]:
    """Return the samples (p, y) of the arguments, the name of the model, and the classes.

    The last sample is judged. A sample before it is for fitting calibrators.
    """
    classifier = arguments.pop(0) if hasattr(arguments[0], "predict_proba") else None
    if len(arguments) not in (2, 4):
        hint = "a second model is given as second="
        if classifier is None and not hasattr(arguments[0], "__len__"):
            hint = f"{type(arguments[0]).__name__} has no predict_proba"
        raise BadInputError(f"{FORMS}; {hint}.")
    samples = [(p, in_order(p, y)) for p, y in zip(arguments[::2], arguments[1::2])]
    if classifier is None:
        return samples, "predictions", classes
    labels = getattr(classifier, "classes_", None)
    if labels is None:
        raise BadInputError("the classifier has no classes_; fit it before it is judged.")
    names = [as_text(label) for label in (labels if classes is None else classes)]
    if len(names) != len(labels):
        raise BadInputError(
            f"classes has {len(names)} names, but the classifier has {len(labels)} classes."
        )
    texts = np.array(names, dtype=object)
    samples = [
        (np.asarray(classifier.predict_proba(x)), texts[label_positions(y, labels)])
        for x, y in samples
    ]
    return samples, type(classifier).__name__, names


def _listed(second: Any, p: Any) -> list[Any]:
    """Return the other models as a list. `second` is one model in the form of p, or a list."""
    if second is None:
        return []
    is_list = isinstance(second, (list, tuple)) and second and np.ndim(second[0]) == np.ndim(p)
    return list(second) if is_list else [second]
