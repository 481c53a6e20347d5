"""Arrays that are easily misread: masked, rounded, of 16 bits, tables of pyarrow, ties."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from refusals import refuses
from samples import vectors

import harness
from harness.judging.data import from_arrays
from harness.judging.saved import FittedMap
from harness.math.notions import TOLERANCE

P, Y = vectors(120, 4)
P1, Y1 = P[:, 1], (Y == 1).astype(int)
MASK = np.arange(120) % 10 == 3
KEEP = ~MASK
ASKED = {"questions": ["calibrated"]}
MAP = FittedMap("platt", 2, ("no", "yes"), 9, {"a": np.array(0.1), "b": np.array(2.0)})
CALLS = {
    "ece": lambda p, y: harness.ece(p, y, "binary"),
    "estimate": lambda p, y: harness.estimate("debiased15", p, y, "binary")["l2_squared"].value,
    "reduce": lambda p, y: [a.tolist() for a in harness.reduce(p, y, "canonical")],
    "judge": lambda p, y: harness.judge(p, y, **ASKED).calibrated.tests[0].p_value,
    "estimator": lambda p, y: harness.load_estimator("binned15")(p, y, None)["l1"].value,
    "sklearn": lambda p, y: harness.SklearnCalibrator().fit(p, y).predict_proba(p).tolist(),
    "saved map": lambda p, y: MAP(p).tolist(),
    "paired": lambda p, y: harness.paired_difference(p, p, y, np.random.default_rng(0))["l1"].value,
}


@pytest.mark.parametrize("call", CALLS)
def test_masked_values_are_refused_and_the_remedy_works(call):
    function = CALLS[call]
    p, y = np.ma.masked_array(P1, MASK), np.ma.masked_array(Y1, MASK)
    refuses(lambda: function(p, Y1), "p is masked in 12 of 120 rows", "~np.ma.getmaskarray(p)")
    if call != "saved map":
        refuses(lambda: function(P1, y), "y is masked in 12 of 120 rows")
    keep = ~np.ma.getmaskarray(p)
    assert function(p[keep], y[keep]) == function(P1[KEEP], Y1[KEEP])


def test_masked_vectors_and_groups_are_refused():
    p = np.ma.masked_less(P, 0.05)
    rows = np.ma.getmaskarray(p).any(axis=1)
    refuses(lambda: harness.ece(p, Y), f"{rows.sum()} of 120", ".any(axis=1)")
    groups = np.ma.masked_array(np.arange(120) % 2, MASK)
    refuses(lambda: from_arrays(P, Y, groups=groups), "masked")
    refuses(lambda: from_arrays(P, Y, group_rows=groups), "masked")


def test_rounding_errors_become_0_or_1_and_are_counted():
    p = P1.copy()
    p[:3] = [1.0 + 1e-7, -1e-7, 1.0 + 0.9 * TOLERANCE]
    clipped = p.clip(0.0, 1.0)
    for call in ("ece", "estimate", "reduce", "judge", "estimator", "sklearn", "saved map"):
        assert CALLS[call](p, Y1) == CALLS[call](clipped, Y1)
    assert "3 values outside [0, 1]" in from_arrays(p, Y1).understood
    assert "outside" not in from_arrays(clipped, Y1).understood
    p[0] = 1.0 + 1.1 * TOLERANCE
    refuses(lambda: harness.ece(p, Y1, "binary"), "p holds 1.00011 at row 0")


def test_rows_of_16_bits_are_divided_by_their_sums():
    half = P.astype(np.float16)
    exact = half.astype(float) / half.sum(axis=1, dtype=float)[:, None]
    assert np.abs(half.sum(axis=1, dtype=float) - 1.0).max() > TOLERANCE
    data = from_arrays(half, Y)
    assert np.array_equal(data.p, exact) and "divided by their sums" in data.understood
    assert harness.ece(half, Y) == harness.ece(exact, Y)
    refuses(lambda: harness.ece(half.astype(float), Y), "sums to")


def test_bfloat16():
    types = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    p = P.astype(types.bfloat16)
    exact = p.astype(float) / p.astype(float).sum(axis=1, keepdims=True)
    assert np.abs(p.astype(float).sum(axis=1) - 1.0).max() > 2.0**-10
    assert harness.ece(p, Y) == harness.ece(exact, Y)
    assert np.array_equal(from_arrays(p, Y.astype(types.bfloat16)).p, exact)


class Bfloat16:
    """A stand-in for a tensor of torch whose type numpy lacks."""

    dtype = "torch.bfloat16"

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    cpu = detach

    def float(self):
        return self.values.astype(np.float32)


def test_a_tensor_of_bfloat16_keeps_the_tolerance_of_its_type():
    p = (P * 1.004).astype(np.float32)
    exact = p.astype(float) / p.astype(float).sum(axis=1, keepdims=True)
    assert harness.ece(Bfloat16(p), Y) == harness.ece(exact, Y)
    refuses(lambda: harness.ece(p, Y), "sums to")


def test_tables_of_pyarrow_are_data_frames():
    frame = pd.DataFrame(P, columns=[f"p_{name}" for name in "dabc"])
    labels = np.array(list("dabc"))[Y]
    table = pa.Table.from_pandas(frame[["p_a", "p_b", "p_c", "p_d"]])
    assert harness.ece(table, pa.array(labels)) == harness.ece(P, Y)
    data = from_arrays(table, pa.chunked_array([labels]), groups=pa.table({"half": Y % 2}))
    assert set(data.classes) == set("abcd") and list(data.groups) == ["half"]


def test_the_label_of_ignored_rows_is_explained():
    y = np.where(MASK, -100, Y)
    refuses(lambda: harness.ece(P, y), "label -100 in 12 rows", "PyTorch")
    keep = np.asarray(y) != -100
    assert harness.ece(P[keep], y[keep]) == harness.ece(P[KEEP], Y[KEEP])


def test_rows_with_several_top_classes_are_counted():
    p = P.copy()
    p[:5] = [0.4, 0.4, 0.1, 0.1]
    assert "5 rows" in from_arrays(p, Y).understood
    assert "most probable" not in from_arrays(P, Y).understood
    assert "most probable" not in from_arrays(np.full(120, 0.5), Y1).understood
