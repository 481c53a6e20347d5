"""Columns of records for the parameters that vary.

A record has all parameters of its problem and its estimator as JSON. If records with the same id
of an estimator have several values of a parameter, such as those of a sweep, the parameter gets a
column of its own. The columns follow from the records that are read, so that parts of any version
can be mixed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from harness.common.columns import RESERVED
from harness.configure import sweeps
from harness.configure.rules import is_number

GROUPS = ("problem", "estimator")
CLASS_KEYS = ("class", "_target_")  # keys of a class in the JSON of parameters
Values = dict[str, Any]  # {key of a component: value of a parameter}


def add_parameters(records: pd.DataFrame) -> pd.DataFrame:
    """Return records with a column for each parameter that varies, sorted by its values.

    The name of a column is the last part of the parameter's path, such as `bins`. If records have
    another column with this name, or if a problem and an estimator both have such a parameter, it
    is `estimator.<path>` or `problem.<path>`. The value is None (NaN in a column of numbers) in
    rows of components whose parameter does not vary.
    """
    varied = {
        (group, path): values
        for group in GROUPS
        for path, values in _find_varied(records, group).items()
    }
    if not varied:
        return records
    names = _name_columns(list(varied))
    columns = {
        names[group, path]: _as_column(records[f"{group}_key"].map(values))
        for (group, path), values in varied.items()
    }
    order: list[str] = []
    for column in ("problem", "notion", "n", "rep", "estimator", "estimand", "key"):
        order += [column, *(names[group, path] for group, path in varied if group == column)]
    return sort_values(records.assign(**columns), order)


def parameter_columns(records: pd.DataFrame) -> list[str]:
    """Return the columns of records that `add_parameters` has added."""
    others = [name for name in records if name not in RESERVED]
    if not others or not {f"{group}_parameters" for group in GROUPS} <= set(records):
        return []
    known = {
        name
        for group in GROUPS
        for text in records[f"{group}_parameters"].dropna().unique()
        for name in _field_names(json.loads(text))
    }
    return [name for name in others if str(name).rpartition(".")[2] in known]


def sort_values(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return a frame sorted by columns: numbers by value, then texts, then absent values."""
    ranks = pd.DataFrame({name: _ranks(frame[name]) for name in by}, index=frame.index)
    positions = ranks.reset_index(drop=True).sort_values(by, kind="stable").index
    return frame.iloc[positions].reset_index(drop=True)


def _ranks(column: pd.Series) -> pd.Series:
    if column.dtype.kind in "iuf" or isinstance(column.dtype, pd.CategoricalDtype):
        return column
    codes, values = pd.factorize(column, use_na_sentinel=True)
    keys = [(0, float(v), "") if is_number(v) else (1, 0.0, str(v)) for v in values]
    ranks = {i: rank for rank, i in enumerate(sorted(range(len(keys)), key=keys.__getitem__))}
    return pd.Series([ranks.get(code, len(ranks)) for code in codes], index=column.index)


def _find_varied(records: pd.DataFrame, group: str) -> dict[str, Values]:
    """Return {path of a parameter: values} of those that vary among components of the same id."""
    names = [group, f"{group}_key", f"{group}_parameters"]
    components = records[names].drop_duplicates(f"{group}_key").dropna()
    varied: dict[str, Values] = {}
    for _, same in components.groupby(group, observed=True, sort=False):
        if len(same) > 1:
            texts = zip(same[names[1]], same[names[2]])
            parameters = {key: json.loads(text) for key, text in texts}
            for path, values in _differences(parameters):
                varied.setdefault(path or "class", {}).update(values)
    return varied


def _differences(values: Values, path: str = "") -> Iterator[tuple[str, Values]]:
    """Yield (path, values) of the parameters that are not the same in all of `values`."""
    some = list(values.values())
    if all(value == some[0] for value in some):
        return
    if all(isinstance(v, dict) and _class_name(v) == _class_name(some[0]) for v in some):
        for name in dict.fromkeys(name for value in some for name in value):
            fields = {key: value.get(name) for key, value in values.items()}
            yield from _differences(fields, f"{path}.{name}" if path else name)
        return
    classes = [_class_name(value) for value in some]
    is_named = None not in classes and len(set(classes)) == len({str(value) for value in some})
    yield path, {key: _class_name(v) if is_named else _plain(v) for key, v in values.items()}


def _class_name(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    return next((value[key] for key in CLASS_KEYS if key in value), None)


def _plain(value: Any) -> Any:
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    return value if is_plain else sweeps.value_text(value)


def _name_columns(paths: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return {(group, path): name of its column}, the shortest that is unique and not reserved."""
    ends = [path.rpartition(".")[2] for _, path in paths]
    whole = [path for _, path in paths]
    names = {}
    for group, path in paths:
        end = path.rpartition(".")[2]
        if ends.count(end) == 1 and end not in RESERVED:
            names[group, path] = end
        elif whole.count(path) == 1 and path not in RESERVED:
            names[group, path] = path
        else:
            names[group, path] = f"{group}.{path}"
    return names


def _as_column(values: pd.Series) -> pd.Series:
    """Return a column of numbers as integers or floats, and any other as objects."""
    values = values.astype(object).where(values.notna(), None)
    given = values.dropna()
    if not all(map(is_number, given)):
        return values
    is_whole = len(given) == len(values) and all(isinstance(value, int) for value in given)
    return values.astype("int64" if is_whole else "float64")


def _field_names(parameters: Any) -> Iterator[str]:
    """Yield the names of all fields in the JSON of parameters."""
    if isinstance(parameters, dict):
        for name, value in parameters.items():
            yield name
            yield from _field_names(value)
    elif isinstance(parameters, list):
        for value in parameters:
            yield from _field_names(value)
