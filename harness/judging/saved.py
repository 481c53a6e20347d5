"""Fitted recalibration maps, saved as JSON that a person can read, and applied by the formulas of harness.calibrators.

    from harness.judging.saved import load
    recalibrate = load("map.json")
    q = recalibrate(p)          p (n, k), or (n,) of P(class 1) or of confidences; q alike,
                                a data frame of a data frame, whose columns are matched by name

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
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from harness.calibrators.logits import floored_log, log_odds
from harness.calibrators.matrices import centred_logits
from harness.calibrators.newton import normalised
from harness.calibrators.scaling import smoothed
from harness.common.writing import write_text
from harness.errors import BadInputError
from harness.math import columns
from harness.math.softmax import softmax

FORMAT, VERSION = "calharness recalibration map", 1
ROW_SUM_TOLERANCE = 1e-4

FORMULAS = {
    "temperature": "q = softmax(beta log p)",
    "vector": "q = softmax(w * z + b), z = log p - its mean over the classes",
    "matrix": "q = softmax(W z + b), z = log p - its mean over the classes",
    "platt": "P(class 1) = 1 / (1 + exp(-(a + b log(p / (1 - p)))))",
    "beta": "P(class 1) = 1 / (1 + exp(-(a log p - b log(1 - p) + c)))",
    "isotonic": "q_j = linear interpolation of (x_j, y_j) at p_j, constant outside, divided by their sum over j (one j for two "
    "classes: class 1), then (rows q + 1 / k) / (rows + 1)",
}  # fmt: skip
# the shape of every parameter: numbers, "k", or "any" for lists of one length per class
SHAPES: dict[str, dict[str, tuple[str, ...]]] = {
    "temperature": {"beta": ()},
    "vector": {"w": ("k",), "b": ("k",)},
    "matrix": {"W": ("k", "k"), "b": ("k",)},
    "platt": {"a": (), "b": ()},
    "beta": {"a": (), "b": (), "c": ()},
    "isotonic": {"x": ("curves", "any"), "y": ("curves", "any")},
}


@dataclass(frozen=True)
class FittedMap:
    """A fitted recalibration map: callable, p -> q.

    Attributes
    ----------
    method : str
        One of FORMULAS, which has the map. "platt" and "beta" are of two classes, "vector" and "matrix" of more.
    k : int
        The number of classes.
    classes : tuple of str
        Their names, in the order of the columns.
    rows : int
        How many rows it was fitted on.
    parameters : mapping of str to array, or to a list of arrays for isotonic

    Examples
    --------
    >>> FittedMap("platt", 2, ("no", "yes"), 100, {"a": np.array(0.0), "b": np.array(2.0)})(np.array([0.5, 0.75]))
    array([0.5, 0.9])
    """

    method: str
    k: int
    classes: tuple[str, ...]
    rows: int
    parameters: Mapping[str, Any]

    def __call__(self, p: ArrayLike) -> Any:
        """q of p: (m, k) -> (m, k); for k = 2 also (m,) -> (m,), of class 1 or of confidences.

        Columns of a data frame are matched with the classes by name. q is then a data frame with the same rows and columns.
        """
        order = columns.order_of(p, self.classes)
        if order is None:
            return self._mapped(np.asarray(p, dtype=np.float64))
        q = np.empty(np.shape(p))
        q[:, order] = self._mapped(np.asarray(p, dtype=np.float64)[:, order])
        like: Any = p
        index = {"index": like.index} if hasattr(like, "index") else {}
        return type(like)(q, columns=like.columns, **index)

    def _mapped(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """q of an array whose columns are in the order of the classes."""
        if x.ndim == 1 and self.k == 2:
            return self._one(_valid(x))
        if x.ndim != 2 or x.shape[1] != self.k:
            raise BadInputError(
                f"p has shape {x.shape}; this map was fitted on {self.k} classes ({', '.join(self.classes[:5])}"
                f"{' ...' if self.k > 5 else ''}) and takes (n, {self.k}){' or (n,)' if self.k == 2 else ''}."
            )
        _valid(x)
        if self.k == 2:
            q = self._one(x[:, 1])
            return np.column_stack([1.0 - q, q])
        if self.method == "temperature":
            return softmax(self.parameters["beta"] * floored_log(x))
        if self.method == "isotonic":
            return self._isotonic(x)
        z = centred_logits(x)
        if self.method == "vector":
            return softmax(z * self.parameters["w"] + self.parameters["b"])
        return softmax(z @ self.parameters["W"].T + self.parameters["b"])

    def _one(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of two classes: P(class 1)."""
        a = self.parameters
        if self.method == "isotonic":
            return smoothed(np.interp(x, a["x"][0], a["y"][0]), self.rows)
        if self.method == "temperature":
            log_odds_after = a["beta"] * log_odds(x)
        elif self.method == "platt":
            log_odds_after = a["a"] + a["b"] * log_odds(x)
        else:
            log_odds_after = a["a"] * floored_log(x) - a["b"] * floored_log(1.0 - x) + a["c"]
        q: NDArray[np.float64] = expit(log_odds_after)
        return q

    def _isotonic(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        curves = zip(self.parameters["x"], self.parameters["y"])
        q = np.column_stack([np.interp(x[:, j], at, fit) for j, (at, fit) in enumerate(curves)])
        return smoothed(normalised(q), self.rows)


def save(fitted: FittedMap, path: str | Path) -> None:
    """Write a map to a JSON file: its formula in words, its parameters, the names of the classes."""
    if not isinstance(fitted, FittedMap):
        raise BadInputError(
            f"there is no map to save: a fitted map is needed, not {type(fitted).__name__}."
        )
    parameters = {
        name: [v.tolist() for v in value] if isinstance(value, list) else np.asarray(value).tolist()
        for name, value in fitted.parameters.items()
    }
    content = {
        "format": FORMAT, "version": VERSION, "method": fitted.method, "formula": FORMULAS[fitted.method], "k": fitted.k,
        "classes": list(fitted.classes), "rows": fitted.rows, "parameters": parameters,
    }  # fmt: skip
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def load(path: str | Path) -> FittedMap:
    """The map of a file that `save` wrote; nothing in it is run.

    Raises
    ------
    BadInputError
        Where there is no such file, or it is another's, of a newer version, or damaged.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise BadInputError(
            f"{path} is no JSON; give a file that --save-calibrator wrote."
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BadInputError(
            f"{path} is no recalibration map; give a file that --save-calibrator wrote."
        )
    if content.get("version") != VERSION:
        raise BadInputError(
            f"{path} has version {content.get('version')!r}; this calharness reads version {VERSION}."
        )
    broken = _broken(content)
    if broken:
        raise BadInputError(f"{path} is damaged: {broken}.")
    method = content["method"]
    parameters = {
        name: [np.array(v, dtype=np.float64) for v in content["parameters"][name]]
        if "any" in shape
        else np.array(content["parameters"][name], dtype=np.float64)
        for name, shape in SHAPES[method].items()
    }
    return FittedMap(method, content["k"], tuple(content["classes"]), content["rows"], parameters)


def _broken(content: dict[str, Any]) -> str | None:
    """What is wrong with a file's content, or None."""
    method, k, classes, rows = (content.get(name) for name in ("method", "k", "classes", "rows"))
    if not isinstance(method, str) or method not in SHAPES:
        return f"method is {method!r}; allowed are {', '.join(SHAPES)}"
    if not (_whole(k) and k >= 2) or not (_whole(rows) and rows >= 1):  # type: ignore[operator]
        return f"k is {k!r} and rows is {rows!r}; integers of at least 2 and 1 are needed"
    if (
        not isinstance(classes, list)
        or len(classes) != k
        or not all(isinstance(name, str) for name in classes)
    ):
        return f"classes must be the names of {k} classes"
    if (k > 2 and method in ("platt", "beta")) or (k == 2 and method in ("vector", "matrix")):
        return f"{method} is not of {k} classes"
    given = content.get("parameters")
    if not isinstance(given, dict) or set(given) != set(SHAPES[method]):
        return f"parameters must be {', '.join(SHAPES[method])}"
    sizes = {"k": k, "curves": 1 if k == 2 else k}
    for name, shape in SHAPES[method].items():
        if not _fits(given[name], [sizes.get(size) for size in shape]):
            wanted = " by ".join(str(sizes.get(size, "some")) for size in shape) or "one number"
            return f"parameter {name} must be {wanted}, all finite"
    if method == "isotonic":
        for x, y in zip(given["x"], given["y"]):
            if (
                len(x) != len(y)
                or any(a >= b for a, b in zip(x[:-1], x[1:]))
                or not all(0.0 <= v <= 1.0 for v in y)
            ):
                return "the curves must have ascending x and as many y, within 0 and 1"
    return None


def _fits(value: Any, shape: list[Any]) -> bool:
    """Whether nested lists have this shape (None: any length of at least 1) and hold finite numbers."""
    if not shape:
        return (
            isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        )
    if (
        not isinstance(value, list)
        or not value
        or (shape[0] is not None and len(value) != shape[0])
    ):
        return False
    return all(_fits(one, shape[1:]) for one in value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _valid(p: NDArray[np.float64]) -> NDArray[np.float64]:
    if p.size and not (p.min() >= 0.0 and p.max() <= 1.0):  # false for NaN, too
        raise BadInputError("p holds values outside [0, 1] or NaN; probabilities are needed.")
    if p.ndim == 2 and len(p) and np.abs(p.sum(axis=1) - 1.0).max() > ROW_SUM_TOLERANCE:
        raise BadInputError(
            f"p has rows that do not sum to 1 within {ROW_SUM_TOLERANCE:g}; probabilities of all classes are needed."
        )
    return p
