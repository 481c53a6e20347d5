"""JSON Lines: fields become arrays, and what is no table of answers is one sentence."""

import gzip
import json

import numpy as np
import pytest

from harness import BadInputError
from harness.sources import files
from harness.sources.forms.confidences import as_shares

STATED = ("confidence", "f.jsonl")


def write(folder, *rows, name="a.jsonl"):
    path = folder / name
    text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "A.JSONL"])
def test_fields_become_arrays(tmp_path, name):
    first = {"confidence": 0.9, "correct": True, "prompt": "1 + 1 = ?", "tokens": ["a", "b"]}
    second = {"correct": False, "confidence": 1, "prompt": "2", "extra": None, "q": [0.1, 0.9]}
    named = files.arrays(write(tmp_path, first, "\n", second, name=name))
    assert list(named) == ["confidence", "correct", "prompt", "tokens", "extra", "q"]
    assert named["confidence"].tolist() == [0.9, 1.0] and named["correct"].dtype == bool
    assert named["tokens"].tolist() == ['["a", "b"]', None]
    assert named["q"].tolist() == [None, "[0.1, 0.9]"]


def test_log_probabilities_of_options_are_columns(tmp_path):
    rows = [
        {"logprobs": {"A": -0.1, "B": -2.0, "C": -4.0}, "gold": "A"},
        {"logprobs": {"C": -0.3, "A": -1.5, "B": -3.0}, "gold": "C"},
    ]
    p, y, text, names, _ = files.read(write(tmp_path, *rows))
    z = np.array([[-0.1, -2.0, -4.0], [-1.5, -3.0, -0.3]])
    assert p == pytest.approx(np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))
    assert y.tolist() == [0, 2] and names == ("A", "B", "C") and "softmax applied" in text


def test_lists_of_log_probabilities_are_a_matrix(tmp_path):
    rows = [{"logprobs": [-0.1, -2.0], "gold": 0}, {"logprobs": [-0.4, -1.0], "gold": 1}]
    p, y, _, _, _ = files.read(write(tmp_path, *rows))
    assert p.shape == (2, 2) and y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["{"], "line 1 is no JSON"),
        (['{"a": 1}\n', "[1, 2]\n"], "line 2 holds a list; write one JSON object per line"),
        (["\n"], "holds no rows"),
        ([{"logprobs": {"A": 0}}, {"logprobs": {"B": 0}}], "row 1 has B; give all rows"),
        ([{"logprobs": {"A": 0}}, {}], "row 1 has no object"),
        (["[" * 100_000], "line 1 is no JSON"),
    ],
)
def test_what_is_no_table_is_one_sentence(tmp_path, rows, says):
    with pytest.raises(BadInputError, match=says) as error:
        files.arrays(write(tmp_path, *rows))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.9, 1.0, 0.0], [0.9, 1.0, 0.0]),
        ([90, 100, 0], [0.9, 1.0, 0.0]),
        (["90%", "100 percent", "0 %"], [0.9, 1.0, 0.0]),
        (["90%", "0.5", ".7"], [0.9, 0.5, 0.7]),
        (["90", "85"], [0.9, 0.85]),
        (["0.5%"], [0.005]),
    ],
)
def test_confidences_are_read_where_they_are_clear(values, expected):
    p, note = as_shares(
        np.array(values, dtype=object if isinstance(values[0], str) else None), *STATED
    )
    assert p.tolist() == pytest.approx(expected)
    assert ("percent" in note) == (list(values) != expected)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([90, 0.85], "holds 90.0 at row 0 and 0.85 at row 1"),
        ([90, 1], "holds 90 at row 0 and 1 at row 1"),
        ([8, 9, 10], "holds 10 at row 2, which may be percent or grades"),
        ([120, 90], "holds 120 at row 0"),
        (["90%", "85"], "holds 85 at row 1 and 90% at row 0"),
        (["high"], "'high' at row 0"),
        (["-5%"], "'-5%' at row 0"),
        (["0.9", None, ""], "missing in 2 rows, first in row 1"),
        ([0.5, float("nan")], "missing in 1 row, first in row 1"),
    ],
)
def test_unclear_confidences_are_one_sentence(values, says):
    kind = object if isinstance(values[0], str) else None
    with pytest.raises(BadInputError, match=says) as error:
        as_shares(np.array(values, dtype=kind), *STATED)
    assert "\n" not in str(error.value)
