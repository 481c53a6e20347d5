"""Fitted recalibration maps, which are saved as readable JSON.

    from harness.judging.saved import load
    recalibrate = load("map.json")
    q = recalibrate(p)

p has shape (n, k). For two classes it may also have shape (n,), with probabilities of class 1, or
confidences. q has the shape of p. If p is a data frame, its columns are matched by name, and q is a
data frame.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "map.json"
>>> save(FittedMap("temperature", 3, ("a", "b", "c"), 1000, {"beta": np.array(0.5)}), path)
>>> recalibrate = load(path)
>>> recalibrate(np.array([[0.81, 0.16, 0.03], [0.25, 0.25, 0.5]])).round(3)
array([[0.611, 0.272, 0.118],
       [0.293, 0.293, 0.414]])
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from harness.calibrators.logits import centred_logits, floored_log, log_odds
from harness.calibrators.newton import normalised
from harness.calibrators.scaling import smoothed
from harness.common.reading import read_text
from harness.common.writing import write_text
from harness.errors import BadInputError
from harness.math.arrays import refuse_masked, to_array
from harness.math.class_names import few
from harness.math.columns import column_order
from harness.math.notions import checked
from harness.math.softmax import softmax

FORMAT, VERSION = "calharness recalibration map", 1
FORMULAS = {
    "temperature": "q = softmax(beta log p)",
    "vector": "q = softmax(w * z + b), z = log p - its mean over the classes",
    "matrix": "q = softmax(W z + b), z = log p - its mean over the classes",
    "platt": "P(class 1) = 1 / (1 + exp(-(a + b log(p / (1 - p)))))",
    "beta": "P(class 1) = 1 / (1 + exp(-(a log p - b log(1 - p) + c)))",
    "isotonic": (
        "q_j = linear interpolation of (x_j, y_j) at p_j, constant outside, divided by their sum "
        "over j (one j for two classes: class 1), then (rows q + 1 / k) / (rows + 1)"
    ),
}
# Shapes of the parameters. Those of isotonic maps are lists of curves of different lengths.
SHAPES: dict[str, dict[str, tuple[str, ...]]] = {
    "temperature": {"beta": ()},
    "vector": {"w": ("k",), "b": ("k",)},
    "matrix": {"W": ("k", "k"), "b": ("k",)},
    "platt": {"a": (), "b": ()},
    "beta": {"a": (), "b": (), "c": ()},
    "isotonic": {"x": ("curves",), "y": ("curves",)},
}
Array = NDArray[np.float64]


@dataclass(frozen=True)
class FittedMap:
    """A fitted recalibration map, a callable p -> q.

    Attributes
    ----------
    method : str
        A key of FORMULAS. "platt" and "beta" are for two classes, "vector" and "matrix" for more
        than two.
    k : int
        Number of classes.
    classes : tuple of str
        Names of the classes, in the order of the columns of p.
    rows : int
        Number of rows on which the map was fitted.
    parameters : mapping of str to array
        Parameters with the names in FORMULAS. Those of "isotonic" are lists of arrays.

    Examples
    --------
    >>> parameters = {"a": np.array(0.0), "b": np.array(2.0)}
    >>> FittedMap("platt", 2, ("no", "yes"), 100, parameters)(np.array([0.5, 0.75]))
    array([0.5, 0.9])
    """

    method: str
    k: int
    classes: tuple[str, ...]
    rows: int
    parameters: Mapping[str, Any]

    def __call__(self, p: ArrayLike) -> Any:
        """Return the recalibrated probabilities q of p, in the shape of p.

        p has shape (m, k), or (m,) if k = 2. The columns of a data frame are matched with the
        classes by name. q is then a data frame with the same rows and columns.

        Raises
        ------
        BadInputError
            If p has another number of classes, or does not hold probabilities.
        """
        p = to_array(p)
        refuse_masked("p", p)
        order = column_order(p, self.classes)
        x = np.asarray(p, dtype=np.float64)
        if order is None:
            return self._map(x)
        q = np.empty_like(x)
        q[:, order] = self._map(x[:, order])
        frame: Any = p
        index = {"index": frame.index} if hasattr(frame, "index") else {}
        return type(frame)(q, columns=frame.columns, **index)

    def _map(self, x: Array) -> Array:
        """Apply the map to an array whose columns are in the order of the classes."""
        if x.shape[1:] != (self.k,) and not (x.ndim == 1 and self.k == 2):
            names = few(self.classes)
            allowed = f"(n, {self.k}) or (n,)" if self.k == 2 else f"(n, {self.k})"
            raise BadInputError(
                f"p has shape {x.shape}, but this map was fitted on {self.k} classes ({names}); "
                f"pass p of shape {allowed}."
            )
        if len(x):
            x, _ = checked(x, np.zeros(len(x), dtype=np.int64))
        if x.ndim == 1:
            return self._map_binary(x)
        if self.k == 2:
            q = self._map_binary(x[:, 1])
            return np.column_stack([1.0 - q, q])
        return self._map_vectors(x)

    def _map_vectors(self, x: Array) -> Array:
        a = self.parameters
        if self.method == "temperature":
            return softmax(a["beta"] * floored_log(x))
        if self.method == "isotonic":
            curves = zip(x.T, a["x"], a["y"])
            q = np.column_stack([np.interp(scores, x, y) for scores, x, y in curves])
            return smoothed(normalised(q), self.rows)
        z = centred_logits(x)
        if self.method == "vector":
            return softmax(z * a["w"] + a["b"])
        return softmax(z @ a["W"].T + a["b"])

    def _map_binary(self, x: Array) -> Array:
        a = self.parameters
        if self.method == "isotonic":
            return smoothed(np.interp(x, a["x"][0], a["y"][0]), self.rows)
        if self.method == "temperature":
            logit = a["beta"] * log_odds(x)
        elif self.method == "platt":
            logit = a["a"] + a["b"] * log_odds(x)
        else:
            logit = a["a"] * floored_log(x) - a["b"] * floored_log(1.0 - x) + a["c"]
        q: Array = expit(logit)
        return q


def save(fitted: FittedMap, path: str | Path) -> None:
    """Write a map to a JSON file with its formula in words, its parameters and the class names.

    Raises
    ------
    BadInputError
        If the file cannot be written.
    """
    parameters = {
        name: [curve.tolist() for curve in value]
        if isinstance(value, list)
        else np.asarray(value).tolist()
        for name, value in fitted.parameters.items()
    }
    content = {
        "format": FORMAT,
        "version": VERSION,
        "method": fitted.method,
        "formula": FORMULAS[fitted.method],
        "k": fitted.k,
        "classes": list(fitted.classes),
        "rows": fitted.rows,
        "parameters": parameters,
    }
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def load(path: str | Path) -> FittedMap:
    """Read a map from a file that `save` wrote. No content of the file is executed.

    Raises
    ------
    BadInputError
        If the file does not exist, is not a map, has another version, or is damaged.
    """
    try:
        content = json.loads(read_text(path))
    except BadInputError:
        raise
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BadInputError(
            f"{path} is not a recalibration map; pass a file that --save-calibrator wrote."
        )
    if content.get("version") != VERSION:
        raise BadInputError(
            f"{path} has version {content.get('version')!r}, but this calharness reads version "
            f"{VERSION}; write the file again with --save-calibrator."
        )
    try:
        return _parse(content)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadInputError(
            f"{path} is damaged ({error}); write it again with --save-calibrator."
        ) from None


def _parse(content: dict[str, Any]) -> FittedMap:
    """Build the map from the content of its file.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the content is damaged.
    """
    method, k, rows = content["method"], int(content["k"]), int(content["rows"])
    if method not in SHAPES:
        raise ValueError(f"method is {method!r}; allowed are {', '.join(SHAPES)}")
    classes = tuple(map(str, content["classes"]))
    if len(classes) != k or k < 2 or rows < 1:
        raise ValueError(f"there must be {k} class names, at least 2 classes and at least 1 row")
    if (k > 2 and method in ("platt", "beta")) or (k == 2 and method in ("vector", "matrix")):
        raise ValueError(f"{method} is not for {k} classes")
    sizes = {"k": k, "curves": 1 if k == 2 else k}
    parameters: dict[str, Any] = {}
    for name, shape in SHAPES[method].items():
        value = content["parameters"][name]
        if method == "isotonic":
            arrays = parameters[name] = [np.asarray(curve, dtype=np.float64) for curve in value]
            actual: tuple[int, ...] = (len(arrays),)
        else:
            parameters[name] = np.asarray(value, dtype=np.float64)
            arrays, actual = [parameters[name]], parameters[name].shape
        expected = tuple(sizes[size] for size in shape)
        if actual != expected or not all(np.isfinite(array).all() for array in arrays):
            raise ValueError(f"parameter {name} must have shape {expected} and be finite")
    for x, y in zip(parameters.get("x", ()), parameters.get("y", ())):
        ascending = x.ndim == 1 and len(x) and (np.diff(x) > 0.0).all()
        if not ascending or y.shape != x.shape or y.min() < 0.0 or y.max() > 1.0:
            raise ValueError("each curve needs ascending x, and equally many y in [0, 1]")
    return FittedMap(method, k, classes, rows, parameters)
