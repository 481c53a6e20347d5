"""Read JSON Lines: a text file with one object per line, such as answers of a language model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError
from harness.sources.forms.terms import Arrays

ENDINGS = (".jsonl", ".jsonl.gz")


def read_lines(lines: Iterable[str], path: object) -> Arrays:
    """Return the fields of the objects as arrays by name, one entry per line. Skip empty lines.

    Absent and null fields are None. Lists of numbers, all of the same length, become the rows of a
    matrix. An object of numbers, such as the log-probabilities of all options, becomes a column per
    key: logprobs with the keys A and B are logprobs_A and logprobs_B. Other lists and objects stay
    JSON texts.

    Raises
    ------
    BadInputError
        If a line is no JSON object, or if objects of numbers have different keys.

    Examples
    --------
    >>> lines = ['{"p": 0.5, "of": {"A": -1, "B": -2}}', '{"of": {"B": 0, "A": -3}}']
    >>> named = read_lines(lines, "f")
    >>> {name: values.tolist() for name, values in named.items()}
    {'p': [0.5, None], 'of_A': [-1, -3], 'of_B': [-2, 0]}
    """
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            message = str(error).split(":")[0]
            raise BadInputError(
                f"{path}: line {number} is no JSON: {message}; write one object per line."
            ) from None
        if not isinstance(row, dict):
            raise BadInputError(
                f"{path}: line {number} holds a {type(row).__name__}; write one JSON object per "
                'line, such as {"confidence": 0.9, "correct": true}.'
            )
        rows.append(row)
    if not rows:
        raise BadInputError(f"{path} holds no rows; at least one sample is needed.")
    arrays: Arrays = {}
    for name in dict.fromkeys(key for row in rows for key in row):
        values = [row.get(name) for row in rows]
        objects = [value for value in values if isinstance(value, dict)]
        if objects and all(_are_numbers(value.values()) for value in objects):
            arrays |= _columns(name, values, path)
        else:
            arrays[name] = _array(values)
    return arrays


def _columns(name: str, values: list[Any], path: object) -> Arrays:
    """Return a column for each key of objects of numbers."""
    keys = list(next(value for value in values if isinstance(value, dict)))
    for row, value in enumerate(values):
        if not isinstance(value, dict) or set(value) != set(keys):
            found = ", ".join(value) if isinstance(value, dict) else "no object"
            raise BadInputError(
                f"{path}: {name} has the keys {', '.join(keys)} in its first object, but row {row} "
                f"has {found}; give all rows a number for the same keys."
            )
    return {f"{name}_{key}": np.array([value[key] for value in values]) for key in keys}


def _array(values: list[Any]) -> NDArray[Any]:
    """Return a field as an array of numbers or booleans, a matrix, or an array of objects."""
    if all(isinstance(value, bool) for value in values) or _are_numbers(values):
        return np.array(values)
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == len(values) and len({len(value) for value in lists}) == 1:
        if lists[0] and all(_are_numbers(value) for value in lists):
            return np.array(lists)
    texts = [json.dumps(v) if isinstance(v, (list, dict)) else v for v in values]
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
