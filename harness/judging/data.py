"""What is judged: arrays or a file -> `Judged`, validated once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.common import data_files
from harness.errors import BadInputError
from harness.judging.findings import Judged
from harness.math.columns import matched
from harness.math.notions import checked, numeric, reduce
from harness.problems.predictions import Predictions
from harness.sources import files


def from_arrays(
    p: ArrayLike,
    y: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    groups: Mapping[str, ArrayLike] | ArrayLike | None = None,
    name: str = "predictions",
    confidences: bool = False,
) -> Judged:
    """Predictions and labels as arrays.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities of class 1, or of k classes with rows that sum to 1; with `confidences` those of the predicted classes.
    y : array_like, (n,)
        Labels 0..k-1, or names of `classes`; with `confidences` whether each prediction was right.
    classes : sequence, optional
        Names of the k classes, in the order of the columns. Columns of a data frame are matched by name.
    groups : mapping of name to array_like (n,), or one array_like, optional
        What splits the rows, or a data frame of such columns; a bare array is named "group".
    name : str
        What the predictions are called.
    confidences : bool
        Whether p (n,) holds confidences.

    Raises
    ------
    BadInputError
        If an argument cannot be used; it names the argument, what was found and what is allowed.

    Examples
    --------
    >>> data = from_arrays([0.9, 0.2, 0.6], [1, 0, 0], classes=["no", "yes"])
    >>> data.n, data.k, data.notions, data.p[0].round(3).tolist()
    (3, 2, ('binary',), [0.1, 0.9])
    """
    numeric("p", p)
    p, y, names = matched(p, y, classes)
    p, y = checked(p, y)
    if confidences and p.ndim != 1:
        raise BadInputError(
            f"confidences is true, but p has shape {p.shape}; confidences are one number per row, (n,)."
        )
    k = 2 if p.ndim == 1 else p.shape[1]
    return Judged(
        name=str(name),
        p=np.column_stack([1.0 - p, p]) if p.ndim == 1 else p,
        y=y,
        classes=names or (("wrong", "right") if confidences else tuple(map(str, range(k)))),
        understood=f"{len(y):,} rows, "
        + ("confidences of predictions" if confidences else f"{k} classes"),
        groups=_groups(groups, len(y)),
        confidences=bool(confidences),
    )


def from_file(path: str | Path, group: str | Iterable[str] | None = None, **options: Any) -> Judged:
    """Predictions and labels of a file, as `harness.problems.Predictions` reads it, in the order of its rows.

    Parameters
    ----------
    path : str or Path
        A .npz, .csv, .tsv or .parquet file, or published logits.
    group : str or several, optional
        Columns or arrays (n,) of the file that split the rows.
    **options
        Those of `Predictions`: probabilities, logits, labels, top_label, split, positive, class_names, renormalise, float32.

    Raises
    ------
    BadInputError
        If the file cannot be read in one way only; one sentence with the remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "preds.csv"
    >>> _ = path.write_text("p,y,site\\n0.2,0,a\\n0.7,1,b\\n0.4,0,a\\n")
    >>> data = from_file(path, group="site")
    >>> data.name, data.p[:, 1].tolist(), data.groups["site"].tolist()
    ('preds', [0.2, 0.7, 0.4], ['a', 'b', 'a'])
    """
    allowed = set(Predictions.__dataclass_fields__) - {"path", "order", "by_content"}
    unknown = sorted(set(options) - allowed)
    if unknown:
        raise BadInputError(
            f"{unknown[0]} is no option of a file of predictions; allowed are {', '.join(sorted(allowed))}."
        )
    problem: Any = Predictions(str(path), order="file", **options)
    p, y = problem.sample(problem.n_max, np.random.default_rng(0))
    confidences = p.ndim == 1 and problem.top_label
    asked = [group] if isinstance(group, str) else list(group or [])
    data = from_arrays(p, y, classes=None, name=_stem(path), confidences=confidences)
    return Judged(
        name=data.name,
        p=data.p,
        y=data.y,
        classes=data.classes if confidences or problem.names is None else tuple(problem.names),
        understood=problem.described,
        groups=_groups(_columns(path, problem.split, asked), data.n),
        confidences=confidences,
    )


def reduced(data: Judged, notion: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(p, y) of a notion, as `harness.math.notions.reduce`; of confidences the scores as they are."""
    return (data.p[:, 1], data.y) if data.confidences else reduce(data.p, data.y, notion)


def aligned(first: Judged, other: Judged) -> Judged:
    """The other predictions, with their classes in the order of the first.

    Raises
    ------
    BadInputError
        Unless both are of the same rows: as many, of the same classes, with the same labels; it names the first difference.
    """
    both = f"{first.name} and {other.name}"
    if first.n != other.n:
        raise BadInputError(
            f"{both} have {first.n:,} and {other.n:,} rows; models are compared on the same rows."
        )
    if first.confidences != other.confidences:
        raise BadInputError(f"of {both} one holds confidences only; give both in the same form.")
    if first.k != other.k:
        raise BadInputError(
            f"{both} have {first.k} and {other.k} classes; models are compared on the same classes."
        )
    if first.classes != other.classes and set(first.classes) == set(other.classes):
        order = [other.classes.index(one) for one in first.classes]
        place = np.argsort(order)
        other = replace(other, p=other.p[:, order], y=place[other.y], classes=first.classes)
    named = tuple(map(str, range(first.k)))
    if first.classes != other.classes and named not in (first.classes, other.classes):
        j = next(j for j in range(first.k) if first.classes[j] != other.classes[j])
        raise BadInputError(
            f"{both} name class {j} {first.classes[j]!r} and {other.classes[j]!r}; models are compared on the same classes."
        )
    if not first.confidences and not np.array_equal(
        first.y, other.y
    ):  # two models are right on different rows
        i = int(np.argmax(first.y != other.y))
        found = first.classes[first.y[i]], other.classes[other.y[i]]
        raise BadInputError(
            f"{both} have different labels, first in row {i}: {found[0]!r} and {found[1]!r}; "
            "the same rows in the same order are needed."
        )
    return other


def _groups(groups: Any, n: int) -> dict[str, NDArray[Any]]:
    if groups is None:
        return {}
    if hasattr(groups, "columns"):  # a data frame
        groups = {name: groups[name] for name in groups.columns}
    given = groups if isinstance(groups, Mapping) else {"group": groups}
    found = {}
    for name, values in given.items():
        values = np.asarray(values)
        if values.shape != (n,):
            raise BadInputError(
                f"group {name!r} has shape {values.shape}; one value per row is needed, ({n},)."
            )
        found[str(name)] = values
    return found


def _columns(path: str | Path, split: str, names: list[str]) -> dict[str, NDArray[Any]]:
    """Those columns of a file; it is read a second time, and only if there are any."""
    if not names:
        return {}
    held = files.arrays(data_files.find(str(path)), split)
    for name in names:
        if name not in held:
            raise BadInputError(
                f"{path} has no column {name!r} to group by; it has {', '.join(held)}."
            )
    return {name: held[name] for name in names}


def _stem(path: str | Path) -> str:
    name = Path(path).name
    return name.removesuffix(".gz").rsplit(".", 1)[0] or name
