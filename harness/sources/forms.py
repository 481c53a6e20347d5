"""The forms in which people keep predictions: named arrays -> probabilities, labels and one line that says what was understood.

Whatever can be read in one way only is accepted, and the line names the reading; what could be read in two ways is refused with
the option that decides. `harness.problems.Predictions` documents names, forms and options. Rows are counted from 0.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from harness.errors import BadInputError, guess
from harness.math.notions import ROW_SUM_TOLERANCE

PROBABILITY_NAMES = (
    "p", "prob", "probs", "probability", "probabilities", "proba", "probas", "confidence", "score", "scores", "y_prob", "y_proba",
    "y_score", "y_pred_proba", "y_pred_prob",
)  # fmt: skip
LOGIT_NAMES = ("logits", "logit")
LABEL_NAMES = ("y", "labels", "label", "target", "targets", "correct", "y_true", "true_label", "ground_truth")
HARD_NAMES = ("y_pred", "y_hat", "pred", "preds", "prediction", "predictions", "predicted", "predicted_label", "pred_label")
INDEX_NAMES = ("", "id", "index", "idx", "row")
CLASS_NAMES = ("classes", "class_names", "classes_")
TOP_LABEL_NAMES = ("confidence", "pred_label", "true_label")
PAIRS = (("no", "yes"), ("false", "true"), ("negative", "positive"), ("neg", "pos"), ("n", "y"), ("f", "t"))
MISSING = ("nan", "na", "n/a", "<na>", "none", "null", "nat", "-", "?")  # as text among numbers
ROUNDED = 0.005  # what rounding to 2 digits can add to one probability
SHOWN = 6


class Asked(NamedTuple):
    """The options of Predictions that say how a file is read."""

    probabilities: Any = None
    logits: Any = None
    labels: str | None = None
    top_label: bool = False
    float32: bool = False
    renormalise: bool = False
    positive: Any = None
    class_names: tuple | None = None


class Columns(NamedTuple):
    """Probabilities or logits: their name, the arrays they are made of, what these names say of the classes."""

    title: str
    names: tuple[str, ...]
    values: np.ndarray | None  # one array; else the columns are `names`
    classes: tuple[str, ...] | None = None
    numbered: bool = False  # the classes are numbers that may count positions
    listed: bool = False  # the user gave the columns in their order


class Labels(NamedTuple):
    """Labels as distinct values (int, bool, str; None missing, float not whole) and the index of each row's value."""

    title: str
    values: list
    index: np.ndarray
    one_hot: int = 0  # classes of the indicators that they come from, if they do

    @property
    def texts(self):
        return [_text(v) for v in self.values]

    def row(self, value):
        return int(np.argmax(self.index == self.values.index(value)))


def understood(arrays: dict[str, np.ndarray], path, asked: Asked):
    """(p, y, line, names of the classes or None) of the arrays of a file, in their order. p: (n,) or (n, k) float64; y: (n,)
    int64 in 0..k-1.
    Raises BadInputError that names the array, what was found and the option or change that mends it."""
    arrays = dict(arrays)
    everything = list(arrays)
    if not asked.labels and set(TOP_LABEL_NAMES) <= set(arrays):
        if not asked.top_label:
            raise BadInputError(f"{path} holds confidences of predicted labels; they are judged with top_label=true.")
        predicted, true = arrays.pop("pred_label"), arrays.pop("true_label")
        if (predicted.dtype.kind in "fiub") != (true.dtype.kind in "fiub"):
            raise BadInputError(f"{path}: pred_label has type {predicted.dtype} and true_label {true.dtype}; they must be alike.")
        arrays["correct"] = (predicted == true).astype(np.int64)
    named, taken = _find_labels(arrays, asked.labels, path)
    labels = _labels(named, path)
    if len(taken) > 1:
        labels = labels._replace(one_hot=len(taken))
    rest = {name: values for name, values in arrays.items() if name not in taken}
    columns, are_logits = _find_predictions(rest, labels, asked, path, everything)
    matrix = _numbers(columns, rest, "logits" if are_logits else "probabilities", path)
    if len(matrix) == 0:
        raise BadInputError(f"{path}: {columns.title} is empty; at least one sample is needed.")
    if len(matrix) != len(labels.index):
        turned = matrix.ndim == 2 and matrix.shape[1] == len(labels.index)
        hint = f"; transpose it, whose shape is {matrix.shape}" if turned else ""
        raise BadInputError(
            f"{path}: p has {len(matrix)} rows but y has {len(labels.index)} labels; they must be equally many "
            f"({columns.title}, {labels.title}){hint}."
        )
    if are_logits:
        matrix = matrix.astype(np.float32 if asked.float32 else np.float64)
        _refuse_probabilities_as_logits(matrix, columns.title, bool(asked.logits), path)
        p, note = softmax(matrix, path).astype(np.float64), ", of which the softmax is taken"
        if p.ndim == 1:
            note = ", of which the logistic function is taken"
    else:
        if asked.float32:
            matrix = matrix.astype(np.float32)
        p, note = _probabilities(matrix.astype(np.float64, copy=False), columns, asked, path)
    stored = None if asked.class_names else _stored_classes(rest, p, labels)
    if stored:
        asked = asked._replace(class_names=tuple(map(_text, rest[stored].tolist())))
    y, names, meaning = _encode(labels, columns, p, asked, path)
    classes = f"classes: {_few(names)}" if names else f"{2 if p.ndim == 1 else p.shape[1]} classes"
    used = {*taken, *columns.names, *([stored] if stored else [])}
    if "correct" in taken and "correct" not in everything:
        taken = ("pred_label", "true_label")
        used |= set(taken)
        meaning = " (1 where they agree)"
    parts = [
        f"{len(y):,} rows",
        classes,
        _described(columns, matrix, are_logits) + note,
        f"label column{'s' if len(taken) > 1 else ''} {_few(list(taken))}{meaning}",
        f"classes named by {stored}" if stored else "",
        _ignored([name for name in everything if name not in used]),
    ]
    return p, y, "; ".join(part for part in parts if part), tuple(map(str, names)) if names else None


def softmax(z, path="logits"):
    """(n, k) logits -> probabilities, in the precision given; (n,) -> logistic. Infinite or NaN logits are refused."""
    if not np.isfinite(z).all():
        raise BadInputError(f"{path}: {int((~np.isfinite(z)).sum())} logits are NaN or infinite; finite numbers are needed.")
    return special.expit(z.reshape(-1)) if z.ndim == 1 or z.shape[1] == 1 else special.softmax(z, axis=1)


# Labels


def _find_labels(arrays, asked, path):
    """((name, values), names of the arrays): one array of labels or of indicators, or columns of indicators."""
    if asked:
        if asked in arrays:
            return (asked, arrays[asked]), (asked,)
        group = _indicators(arrays, asked)
        if group is None:
            hint = guess(asked, list(arrays))
            raise BadInputError(f"{path} has no array {asked!r} for labels{hint}; it holds {_few(list(arrays), 20)}.")
        return group
    found = _named(arrays, LABEL_NAMES)
    if len(found) > 1:
        raise BadInputError(f"{path} holds {' and '.join(found)}; say which are the labels by labels=.")
    if found:
        return (found[0], arrays[found[0]]), (found[0],)
    groups = [group for group in (_indicators(arrays, name) for name in LABEL_NAMES) if group]
    if len(groups) == 1:
        return groups[0]
    near = _near(arrays, LABEL_NAMES)
    raise BadInputError(
        f"{path} holds {_few(list(arrays), 20)}; none is named {', '.join(LABEL_NAMES)}: "
        f"name the labels by labels={near or 'NAME'}."
    )


def _indicators(arrays, prefix):
    """Columns <prefix>_<class> of 0 and 1, one 1 per row, as labels; None if there are none."""
    found = _suffixed(arrays, prefix.rstrip("_. -"))
    if len(found) < 2:
        return None
    matrix = [arrays[name] for name in found.values()]
    if any(column.dtype.kind not in "fiub" or not np.isin(column, (0, 1)).all() for column in matrix):
        return None
    matrix = np.column_stack(matrix)
    if not (matrix.sum(axis=1) == 1).all():
        return None
    labels = np.array(list(found))[matrix.argmax(axis=1)]
    return (prefix, labels), tuple(found.values())


def _labels(named, path):
    """The labels as distinct values and their index per row."""
    title, values = named
    values = np.asarray(values)
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    elif values.ndim == 2:
        whole = values.dtype.kind in "fiub" and np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all()
        if not whole:
            raise BadInputError(
                f"{path}: {title} has shape {values.shape} and is not one-hot; "
                "give one label per row, or rows of one 1 and 0 else."
            )
        return Labels(title, list(range(values.shape[1])), values.argmax(axis=1), one_hot=values.shape[1])
    if values.ndim != 1:
        raise BadInputError(f"{path}: {title} has shape {values.shape}; one label per row of p is needed.")
    if values.dtype.kind in "fiub":
        distinct, index = np.unique(values, return_inverse=True)
        return Labels(title, [_value(v) for v in distinct.tolist()], index.reshape(-1))
    if values.dtype.kind not in "OUS":
        raise BadInputError(f"{path}: {title} has type {values.dtype}; labels are numbers, booleans or names.")
    codes: dict = {}
    index = np.array([codes.setdefault(_plain(v), len(codes)) for v in values.tolist()], dtype=np.int64)
    distinct = [None if key is None else key[1] for key in codes]
    numbers = [v for v in distinct if not isinstance(v, str)]
    words = [v for v in distinct if isinstance(v, str)]
    digits = [v for v in words if re.fullmatch(r"[+-]?\d+", v) and str(int(v)) == v.lstrip("+")]
    if (digits or numbers) and len(digits) + len(numbers) + sum(w.lower() in MISSING for w in words) == len(distinct):
        distinct = [int(v) if v in digits else None if isinstance(v, str) else v for v in distinct]
    return _merged(title, distinct, index)


def _merged(title, distinct, index):
    """Values that are equal once read ('1' and 1, NaN and 'n/a') become one."""
    values = list(dict.fromkeys(distinct))
    return Labels(title, values, np.array([values.index(v) for v in distinct], dtype=np.int64)[index])


def _plain(value):
    """(type, value) of one label of an array of text or objects; None if it is missing."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return (str, value.strip()) if value.strip() else None
    if isinstance(value, (bool, np.bool_)):
        return bool, bool(value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        value = _value(float(value) if isinstance(value, (float, np.floating)) else int(value))
        return None if value is None else (type(value), value)
    return None if value is None or str(value) in ("<NA>", "NaT") else (str, str(value))


def _value(v):
    """int where it is whole, None for NaN, else the float."""
    if isinstance(v, float):
        return None if v != v else int(v) if v.is_integer() else v
    return v


def _text(value):
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.strip() if isinstance(value, str) else str(value)


# Predictions


def _find_predictions(arrays, labels, asked, path, everything):
    """(Columns, whether they are logits): what was named, else what is recognised by its name, else columns named by class."""
    for option, wanted in (("probabilities", asked.probabilities), ("logits", asked.logits)):
        if wanted and not (asked.probabilities and asked.logits):
            return _asked_for(arrays, wanted, option, labels, path), option == "logits"
    if asked.probabilities and asked.logits:
        raise BadInputError(f"{path}: probabilities={asked.probabilities} and logits={asked.logits} are both given; give one.")
    probabilities = _candidates(arrays, PROBABILITY_NAMES, labels, path)
    logits = _candidates(arrays, LOGIT_NAMES, labels, path)
    for found, option in ((probabilities, "probabilities"), (logits, "logits")):
        if len(found) > 1:
            names = " and ".join(one.title for one in found)
            raise BadInputError(f"{path} holds {names}; say which are the {option} by {option}=.")
    if probabilities and logits:
        both = f"{probabilities[0].title}, {logits[0].title}"
        raise BadInputError(f"{path} holds both probabilities and logits ({both}); name one by probabilities= or logits=.")
    if logits:
        return logits[0], True
    if not probabilities:
        free = {n: a for n, a in arrays.items() if n.lower() not in (*INDEX_NAMES, *HARD_NAMES) and not n.startswith("Unnamed: ")}
        by_class = _by_class("", {name: name for name, a in free.items() if a.ndim == 1}, arrays, labels, bare=True)
        if by_class is None:
            near, hard = _near(free, PROBABILITY_NAMES), _named(arrays, HARD_NAMES)
            hint = f" ({hard[0]} is taken for predicted labels)" if hard else ""
            raise BadInputError(
                f"{path} holds neither probabilities nor logits among {_few(everything, 20)}{hint}; "
                f"name them by probabilities={near or 'NAME'} or logits=NAME."
            )
        return by_class, False
    return probabilities[0], False


def _asked_for(arrays, wanted, option, labels, path):
    """The array, the columns with a common prefix, or the list of columns that the user named."""
    if not isinstance(wanted, str):
        absent = [name for name in wanted if name not in arrays]
        if absent:
            hint = guess(str(absent[0]), list(arrays))
            raise BadInputError(f"{path} has no array {absent[0]!r} for {option}{hint}; it holds {_few(list(arrays), 20)}.")
        if any(arrays[name].ndim != 1 for name in wanted):
            raise BadInputError(f"{path}: {option}=[...] lists columns, one per class; a matrix is named alone.")
        return Columns(option, tuple(wanted), None, tuple(wanted), listed=True)
    if wanted in arrays:
        return Columns(wanted, (wanted,), arrays[wanted])
    found = _prefixed(arrays, wanted.rstrip("_. -") or wanted, labels, path, single=True)
    if found is None:
        hint = guess(wanted, list(arrays))
        raise BadInputError(f"{path} has no array {wanted!r} for {option}{hint}; it holds {_few(list(arrays), 20)}.")
    return found


def _candidates(arrays, names, labels, path):
    direct = [Columns(name, (name,), arrays[name]) for name in _named(arrays, names)]
    grouped = [one for one in (_prefixed(arrays, name, labels, path) for name in names) if one]
    if not direct and not grouped:
        grouped = [one for one in (_prefixed(arrays, name, labels, path, single=True) for name in names) if one]
    titles = [one.title for one in direct]
    return direct + [one._replace(title=f"{one.title}_*") if one.title in titles else one for one in grouped]


def _suffixed(arrays, prefix, path=None):
    """{suffix: array} of the vectors named <prefix>0, <prefix>_0, <prefix>_cat; numbers without leading zeros."""
    found: dict[str, str] = {}
    for name, values in arrays.items():
        match = re.fullmatch(re.escape(prefix) + r"(?:[_. -]?(\d+)|[_. -](.+))", name, re.IGNORECASE)
        if not match or values.ndim != 1:
            continue
        suffix = str(int(match[1])) if match[1] else match[2].strip()
        if suffix in found:
            raise BadInputError(f"{path or 'the file'} holds both {found[suffix]} and {name}; one column per class is needed.")
        found[suffix] = name
    return found


def _prefixed(arrays, prefix, labels, path, single=False):
    """Columns with a common prefix and a number or a class each; None if there are none, or only one and `single` is false."""
    found = _suffixed(arrays, prefix, path)
    if len(found) < 2 and not (single and found):
        return None
    numbers = sorted(int(s) for s in found if s.isdigit())
    if len(numbers) < len(found):
        return _by_class(prefix, found, arrays, labels, single=single)
    names = tuple(found[str(j)] for j in numbers)
    gap = numbers != list(range(numbers[0], numbers[0] + len(numbers)))
    if gap and set(map(str, numbers)) != set(labels.texts):
        raise BadInputError(f"{path}: the columns {prefix}* are numbered {numbers}; a gap leaves a class out.")
    return Columns(prefix, names, None, tuple(map(str, numbers)), numbered=not gap)


def _by_class(prefix, found, arrays, labels, single=False, bare=False):
    """Columns named by class: all of `found` ({class: array}) if every label is among them and their rows sum to 1, else those
    whose class is a label. Columns that no label names are taken only with a prefix, and if their rows sum to 1."""
    numeric = {c: n for c, n in found.items() if arrays[n].dtype.kind in "fiu" and _in_unit(arrays[n])}
    hit = {c: n for c, n in found.items() if c in labels.texts}
    complete = len(numeric) >= 2 and (set(labels.texts) <= set(numeric) or (not bare and not hit))
    if complete and _sums_to_one(np.column_stack([arrays[n] for n in numeric.values()])):
        chosen = numeric
    else:
        chosen = hit
    if len(chosen) < 2 and not (single and chosen):
        return None
    title = prefix or "the columns named by class"
    return Columns(title, tuple(chosen.values()), None, tuple(chosen))


def _near(arrays, names):
    """The array whose name is nearest to one of `names`, if any is near."""
    near = [(name, difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.7)) for name in arrays]
    return next((name for name, close in near if close), None)


def _named(arrays, names):
    return [name for known in names for name in arrays if name.lower() == known]


def _numbers(columns, arrays, what, path):
    """The predictions as an array of numbers, (n,) or (n, k >= 2), in C order."""
    if columns.values is None:
        made = [_column(arrays[name], name, what, path) for name in columns.names]
        matrix = made[0] if len(made) == 1 else np.column_stack(made)
    else:
        matrix = _column(np.asarray(columns.values), columns.title, what, path)
    if matrix.ndim == 2 and matrix.shape[1] == 1:
        matrix = matrix[:, 0]
    if matrix.ndim not in (1, 2):
        raise BadInputError(f"{path}: {columns.title} has {matrix.ndim} dimensions; allowed are (n,) and (n, k).")
    return np.ascontiguousarray(matrix)


def _column(values, name, what, path):
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.kind not in "OUS":
        raise BadInputError(f"{path}: {what} has type {values.dtype} ({name}); numbers are needed.")
    made = np.empty(values.shape, dtype=np.float64)
    for i, value in np.ndenumerate(values):
        try:
            made[i] = np.nan if value is None or str(value).strip().lower() in ("", *MISSING) else float(value)
        except (TypeError, ValueError):
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            comma = re.fullmatch(r"\s*[+-]?\d*,\d+\s*", text)
            percent = re.fullmatch(r"\s*\d+([.,]\d+)?\s*%\s*", text)
            hint = "; write points, or commas throughout and semicolons between columns" if comma else ""
            hint = "; leave out the sign and divide by 100" if percent else hint
            row = i[0] if len(i) == 1 else i
            raise BadInputError(
                f"{path}: {what} has type {values.dtype}: {name} holds {text[:40]!r} at row {row}; numbers are needed{hint}."
            ) from None
    return made


# What the numbers are


def _in_unit(values):
    return bool(len(values)) and bool(((values >= 0) & (values <= 1)).all())  # false for NaN


def _tolerance(k):
    """How far a row of k probabilities rounded to 2 digits can be from a sum of 1."""
    return min(k * ROUNDED, 0.5) + ROW_SUM_TOLERANCE


def _sums_to_one(matrix, total=1.0):
    return bool((np.abs(matrix.sum(axis=1, dtype=np.float64) - total) <= total * _tolerance(matrix.shape[1])).all())


def _refuse_probabilities_as_logits(z, name, named, path):
    """Rows that sum to 1 are no logits, whoever says so; a vector within [0, 1] may be, if the user says so."""
    if z.ndim == 2 and _in_unit(z) and _sums_to_one(z):
        raise BadInputError(
            f"{path}: {name} holds no logits but probabilities: every row lies in [0, 1] and sums to 1; "
            f"say so by probabilities={name}, or store the logits."
        )
    if z.ndim == 2 and (z >= 0).all() and _sums_to_one(z, 100.0):
        raise BadInputError(
            f"{path}: {name} holds no logits but percent: every row sums to 100; divide by 100, as probabilities."
        )
    if z.ndim == 1 and not named and _in_unit(z) and ((z > 0) & (z < 1)).any():
        raise BadInputError(
            f"{path}: {name} lies within [0, 1], as probabilities do; say probabilities={name}, or, if it does hold logits, "
            f"logits={name}."
        )


def _probabilities(p, columns, asked, path):
    """The probabilities, validated, and what was done to them. Nothing is clipped; rows are renormalised only if asked to."""
    if not _in_unit(p.reshape(-1)):
        _refuse_values(p, columns, path)
    if p.ndim == 1:
        return p, ""
    sums = p.sum(axis=1)
    off = np.abs(sums - 1.0)
    worst = int(np.argmax(off))
    if off[worst] > ROW_SUM_TOLERANCE:
        found = f"{path}: row {worst} sums to {sums[worst]:.6g}, the worst of {len(p)} rows ({columns.title})"
        if off[worst] > _tolerance(p.shape[1]):
            raise BadInputError(
                f"{found}; every row must sum to 1 within {ROW_SUM_TOLERANCE:g}: a class is missing, or one too many."
            )
        if not asked.renormalise:
            raise BadInputError(
                f"{found}; every row must sum to 1 within {ROW_SUM_TOLERANCE:g}: if they were rounded, "
                "renormalise=true divides each row by its sum."
            )
    if not asked.renormalise:
        return p, ""
    low, high = float(sums.min()), float(sums.max())
    return p / sums[:, None], f", whose rows summed to {low:.4g} to {high:.4g} and are divided by their sums"


def _refuse_values(p, columns, path):
    wrong = np.argwhere(~((p >= 0.0) & (p <= 1.0)))
    at = tuple(int(i) for i in wrong[0])
    name = columns.names[at[1]] if columns.values is None and len(columns.names) > 1 else columns.title
    if columns.values is None and len(columns.names) == 1:
        name = columns.names[0]
    place = f"row {at[0]}" + (f", column {at[1]}" if p.ndim == 2 and columns.values is not None else "")
    value = "NaN" if np.isnan(p[at]) else f"{p[at]:.10g}"
    found = f"{path}: {name} holds {value} at {place} ({len(wrong)} such values); probabilities must lie in [0, 1]"
    finite = p[np.isfinite(p)]
    if np.isnan(p[at]):
        remedy = "fill in or leave out the rows that lack one"
    elif len(finite) < p.size:
        remedy = "infinite values and NaN are none"
    elif finite.min() >= -1e-3 and finite.max() <= 1.001:
        remedy = "if this is round-off, clip to [0, 1]"
    elif finite.min() < 0 or finite.max() > 100:
        remedy = f"these look like logits: logits={columns.title if columns.values is not None else columns.title.rstrip('*_')}"
    elif p.ndim == 1 or _sums_to_one(p, 100.0):
        remedy = "these look like percent: divide by 100"
    elif (p == np.floor(p)).all():
        remedy = "these look like counts: divide each row by its sum"
    else:
        remedy = f"neither probabilities nor percent, whose rows sum to 100; if they are logits: logits={columns.title}"
    raise BadInputError(f"{found}: {remedy}.")


# What the labels mean


def _encode(labels, columns, p, asked, path):
    """(y in 0..k-1, the names of the classes or None, what is said of the labels)."""
    k = 2 if p.ndim == 1 else p.shape[1]
    wrong = [i for i, v in enumerate(labels.values) if v is None] or [
        i for i, v in enumerate(labels.values) if isinstance(v, float)
    ]
    if wrong:
        rows = np.flatnonzero(np.isin(labels.index, wrong))
        bad, many = labels.values[labels.index[rows[0]]], len(rows)
        allowed = "names" if any(isinstance(v, str) for v in labels.values) else f"integers 0..{k - 1}"
        remedy = ": leave out such rows" if bad is None else ", names or booleans; mend such rows"
        shown = "nan" if bad is None else f"{bad:.6g}"
        raise BadInputError(
            f"{path}: {labels.title} holds {shown} at row {rows[0]}; labels must be {allowed}{remedy}, {many:,} in all."
        )
    if p.ndim == 2 and asked.top_label:
        raise BadInputError(
            f"{path}: top_label=true is for one column of confidences, {columns.title} has {k} columns; "
            "leave it out, and notion=[top_label] judges the largest of them."
        )
    if p.ndim == 2 and asked.positive is not None:
        raise BadInputError(f"{path}: positive={asked.positive} is for one column of p, {columns.title} has {k}; leave it out.")
    if labels.one_hot not in (0, k):
        raise BadInputError(
            f"{path}: {labels.title} is one-hot of {labels.one_hot} classes, but p has {k}; they must be as many."
        )
    codes, names, meaning = (_one_column if p.ndim == 1 else _matrix)(labels, columns, k, asked, path)
    y = np.array(codes, dtype=np.int64)[labels.index]
    notes = ", ".join(note for note in ("one-hot" if labels.one_hot else "", meaning) if note)
    return y, names, f" ({notes})" if notes else ""


def _one_column(labels, columns, k, asked, path):
    """(0 or 1 per distinct label, class names, what is said) where p is the probability of one of two classes."""
    values, texts = labels.values, labels.texts
    if asked.class_names:
        return _by_names(labels, k, asked.class_names, path, one=True)
    own = columns.classes[0] if columns.classes else None
    wanted = _text(asked.positive) if asked.positive is not None else own if own in texts else None
    if wanted is not None and asked.positive is None and wanted == "0" and set(texts) <= {"0", "1"}:
        raise BadInputError(
            f"{path}: {columns.names[0]} is named by label 0; if it is the probability of label 0 say positive=0, else 1."
        )
    if wanted is not None:
        if wanted not in texts:
            hint = guess(wanted, texts)
            raise BadInputError(f"{path}: positive={wanted} is no label of {labels.title}{hint}; it holds {_few(texts)}.")
        others = [t for t in texts if t != wanted]
        names = [others[0] if len(others) == 1 else "other", wanted]
        return [int(t == wanted) for t in texts], names, f"1 = {wanted}, 0 = {_few(others) or 'none'}"
    if all(isinstance(v, bool) for v in values):
        return [int(v) for v in values], None, "booleans"
    if all(isinstance(v, int) for v in values):
        if set(values) <= {0, 1}:
            return values, None, ""
        if set(values) <= {-1, 1}:
            return [(v + 1) // 2 for v in values], None, "labels -1 and 1"
        wrong = next(v for v in values if v not in (0, 1))
        raise BadInputError(
            f"{path}: {labels.title} holds label {wrong} at row {labels.row(wrong)}; labels must be integers 0..1 for one column "
            f"of probabilities, or positive=LABEL says whose probability {columns.title} is ({_few(sorted(map(str, values)))})."
        )
    pair = _pair(texts)
    if pair:
        return [pair.index(t.lower()) for t in texts], list(pair), f"1 = {pair[1]}"
    raise BadInputError(
        f"{path}: {labels.title} holds the names {_few(sorted(texts))}; {columns.title} is one column, the probability of which? "
        f"say positive={sorted(texts)[-1]}, or another of them."
    )


def _matrix(labels, columns, k, asked, path):
    """(column per distinct label, class names, what is said) where every class has a column of p."""
    values, texts, names = labels.values, labels.texts, columns.classes
    if asked.class_names:
        return _by_names(labels, k, asked.class_names, path)
    ints = all(isinstance(v, int) and not isinstance(v, bool) for v in values)
    decide = f"class_names=[...] gives the labels in the order of the columns{f' {_few(columns.names)}' if names else ''}"
    if names and set(texts) <= set(names):
        if columns.numbered and names[0] == "1" and names[-1] not in texts:
            raise BadInputError(
                f"{path}: the columns {_few(columns.names)} count from 1, and {labels.title} holds neither 0 nor {k}: "
                f"do labels count from 0 or from 1? {decide}."
            )
        first = f"label {names[0]} = column {columns.names[0]}" if columns.numbered and names[0] != "0" else ""
        return [names.index(t) for t in texts], None if columns.numbered else list(names), first
    if ints and names and not columns.numbered:
        ordered = columns.listed or list(names) == sorted(names)
        if not (ordered and set(values) <= set(range(k))):
            raise BadInputError(
                f"{path}: {labels.title} holds the labels {_few(sorted(values))} and the columns are {_few(columns.names)}: "
                f"which is which? {decide}, as class_names=[{','.join(map(str, range(min(k, 3))))}{',...' if k > 3 else ''}]."
            )
        return values, list(names), f"label 0 = column {columns.names[0]}, in the order of the columns"
    if all(isinstance(v, bool) for v in values) and k == 2:
        return [int(v) for v in values], None, "booleans"
    if ints:
        low, high = min(values), max(values)
        if low >= 0 and high < k:
            first = f"label 0 = column {columns.names[0]}" if columns.numbered and names[0] != "0" else ""
            return values, None, first or ("label 0 does not occur" if low > 0 and not labels.one_hot else "")
        if low >= 1 and high == k:
            first = f"column {columns.names[0]}" if names else "first column"
            return [v - 1 for v in values], None, f"labels 1..{k}: label 1 = {first}"
        if k == 2 and set(values) <= {-1, 1}:
            return [(v + 1) // 2 for v in values], None, "labels -1 and 1: 1 = second column"
        wrong = high if high >= k else low
        raise BadInputError(
            f"{path}: {labels.title} holds label {wrong} at row {labels.row(wrong)}; labels must be integers 0..{k - 1}, "
            f"or 1..{k}, for {k} columns of p; {decide}."
        )
    pair = _pair(texts) if k == 2 and not (names and not columns.numbered) else None
    if pair:
        return [pair.index(t.lower()) for t in texts], list(pair), f"second column = {pair[1]}"
    if names and not columns.numbered:
        wrong = next(v for v, t in zip(values, texts) if t not in names)
        raise BadInputError(
            f"{path}: {labels.title} holds the label {wrong!r} at row {labels.row(wrong)}, for which there is no column"
            f"{guess(_text(wrong), list(names))}; the classes of the columns are {_few(names)}."
        )
    raise BadInputError(f"{path}: {labels.title} holds the names {_few(sorted(texts))}; which column is which? {decide}.")


def _by_names(labels, k, class_names, path, one=False):
    names = [_text(c) for c in class_names]
    if len(names) != k or len(set(names)) != k:
        raise BadInputError(
            f"{path}: class_names has {len(set(names))} different names; {k} are needed, in the order of the columns."
        )
    for value, text in zip(labels.values, labels.texts):
        if text not in names:
            raise BadInputError(
                f"{path}: {labels.title} holds the label {text} at row {labels.row(value)}{guess(text, names)}; "
                f"class_names has {_few(names)}."
            )
    return [names.index(t) for t in labels.texts], names, f"1 = {names[1]}" if one else ""


def _stored_classes(arrays, p, labels):
    """The array that names the columns, as scikit-learn's classes_, if labels are names that it holds."""
    k = 2 if p.ndim == 1 else p.shape[1]
    for name in _named(arrays, CLASS_NAMES):
        values = arrays[name]
        if values.ndim == 1 and len(values) == k and k != len(p) and set(labels.texts) <= set(map(_text, values.tolist())):
            return name
    return None


def _pair(texts):
    lower = [t.lower() for t in texts]
    return next((pair for pair in PAIRS if set(lower) <= set(pair) and len(set(lower)) == len(lower)), None)


# What is said


def _described(columns, matrix, are_logits):
    noun = "logit" if are_logits else "probability"
    if columns.values is None:
        return f"{noun} column{'s' if len(columns.names) > 1 else ''} {_few(columns.names)}"
    size = f" of shape {matrix.shape[0]:,} x {matrix.shape[1]:,}" if matrix.ndim == 2 else ""
    return f"{noun} {'array' if size else 'column'} {columns.title}{size}"


def _ignored(names):
    """What was not used, said: index columns, predicted labels and the rest."""
    if not names:
        return ""
    return f"not used: {_few([f'{name} (predicted labels)' if name.lower() in HARD_NAMES else name for name in names])}"


def _few(names, most=SHOWN):
    names = [str(n) for n in names]
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])}, ... {names[-1]} ({len(names):,} in all)"
