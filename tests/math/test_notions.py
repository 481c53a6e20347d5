"""The reduction of (p, y): closed forms for each notion, relabelling, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refuses

from harness import reduce
from harness.math.notions import (
    NOTIONS,
    checked,
    checked_by_class,
    checked_for,
    checked_scalars,
    one_hot,
)

P3 = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1], [0.4, 0.4, 0.2]])
Y3 = np.array([0, 1, 1, 1])


CLASSWISE = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    "notion, p, y, reduced, outcomes",
    [
        ("binary", [0.1, 0.9], [0, 1], [0.1, 0.9], [0, 1]),
        ("binary", [[0.9, 0.1], [0.25, 0.75]], [0, 1], [0.1, 0.75], [0, 1]),  # the second column
        ("top_label", P3, Y3, [0.5, 0.8, 0.7, 0.4], [1, 0, 1, 0]),  # a tie: the first class
        ("top_label", [0.2, 0.9], [1, 0], [0.2, 0.9], [1, 0]),  # one column: confidences
        ("classwise", P3, Y3, P3, CLASSWISE),
        ("canonical", P3, Y3, P3, Y3),
        ("classwise", [0.25, 1.0], [0, 1], [[0.75, 0.25], [0.0, 1.0]], [[1, 0], [0, 1]]),
        ("canonical", [0.25, 1.0], [0, 1], [[0.75, 0.25], [0.0, 1.0]], [0, 1]),
    ],
)
def test_reduction_by_hand(notion, p, y, reduced, outcomes):
    result = reduce(p, y, notion)
    np.testing.assert_array_equal(result[0], reduced)
    np.testing.assert_array_equal(result[1], outcomes)


def test_one_hot():
    np.testing.assert_array_equal(one_hot(np.array([2, 0]), 3), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


@st.composite
def predictions(draw):
    classes = draw(st.integers(2, 5))
    n = draw(st.integers(1, 8))
    weights = draw(hnp.arrays(float, (n, classes), elements=st.floats(0.01, 1.0)))
    y = draw(hnp.arrays(np.int64, n, elements=st.integers(0, classes - 1)))
    return weights / weights.sum(axis=1, keepdims=True), y, draw(st.permutations(range(classes)))


@given(predictions())
def test_relabelling_the_classes_changes_nothing_but_their_order(drawn):
    p, y, order = drawn
    order = np.array(order)
    relabelled, y_relabelled = p[:, order], np.argsort(order)[y]
    np.testing.assert_array_equal(
        reduce(p, y, "top_label")[0], reduce(relabelled, y_relabelled, "top_label")[0]
    )
    for ours, theirs in zip(
        reduce(p, y, "classwise"), reduce(relabelled, y_relabelled, "classwise")
    ):
        np.testing.assert_array_equal(ours[:, order], theirs)
    untied = (p == p.max(axis=1, keepdims=True)).sum(axis=1) == 1
    hits, relabelled_hits = (
        reduce(p, y, "top_label")[1],
        reduce(relabelled, y_relabelled, "top_label")[1],
    )
    np.testing.assert_array_equal(hits[untied], relabelled_hits[untied])


@given(predictions())
def test_reduction_keeps_every_sample_and_every_notion_gives_probabilities(drawn):
    p, y, _ = drawn
    for notion in NOTIONS if p.shape[1] == 2 else NOTIONS[1:]:
        reduced, outcome = reduce(p, y, notion)
        assert len(reduced) == len(outcome) == len(p)
        assert reduced.dtype == np.float64 and outcome.dtype == np.int64
        assert reduced.min() >= 0 and reduced.max() <= 1


@pytest.mark.parametrize(
    "y", [[0.0, 1.0, 2.0, 1.0], [False, True, True, False], np.array([0, 1, 2, 2], dtype=np.uint8)]
)
def test_labels_of_any_integral_type_are_accepted(y):
    _, labels = checked(P3, y)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, np.asarray(y).astype(int))


def test_rows_may_miss_one_by_the_rounding_of_float32():
    p = np.array([[0.1, 0.2, 0.7]], dtype=np.float32)
    assert checked(p, [2])[0].dtype == np.float64
    checked([[0.5, 0.50009]], [0])


def test_nothing_is_clipped_or_renormalised():
    p = np.array([[0.5, 0.50009], [0.0, 1.0]])
    assert checked(p, [0, 1])[0] is p


# Refused input: (p, y, the argument with its value, the row where it stands)
BAD = {
    "three dimensions": (np.full((2, 2, 2), 0.5), [0, 1], "p has 3 dimensions", ""),
    "a scalar": (0.5, [1], "p has 0 dimensions", ""),
    "a single column": ([[0.5], [0.5]], [0, 1], "p has shape (2, 1)", ""),
    "one-hot labels": (P3, one_hot(Y3, 3), "y has shape (4, 3)", ""),
    "other lengths": (P3, [0, 1], "p has 4 rows", "y has 2 labels"),
    "nothing": ([], [], "p is empty", ""),
    "no rows": (np.zeros((0, 3)), [], "p is empty", ""),
    "NaN in p": ([0.5, np.nan], [0, 1], "p holds NaN", "row 1"),
    "NaN in a matrix": ([[0.5, 0.5], [np.nan, 1.0]], [0, 1], "p holds NaN", "row 1, column 0"),
    "above one": ([0.5, 1.5, 2.0], [0, 1, 1], "p holds 1.5", "row 1"),
    "below zero": ([[0.5, 0.5], [-0.25, 1.25]], [0, 1], "p holds -0.25", "row 1, column 0"),
    "infinite": ([np.inf, 0.5], [0, 1], "p holds inf", "row 0"),
    "logits": ([[2.0, -3.0]], [0], "p holds 2", "row 0"),
    "row sums": ([[0.5, 0.5], [0.3, 0.3], [0.5, 0.45]], [0, 1, 1], "p: ", "row 1 sums to 0.6"),
    "label too large": (P3, [0, 1, 2, 3], "y holds label 3", "row 3"),
    "label negative": ([0.5, 0.5], [1, -1], "y holds label -1", "row 1"),
    "label 2 with one column": ([0.5, 0.5], [1, 2], "y holds label 2", "row 1"),
    "label not whole": (P3, [0, 1, 0.5, 1], "y holds 0.5", "row 2"),
    "label NaN": ([0.5, 0.5], [0.0, np.nan], "y holds nan", "row 1"),
    "label infinite": ([0.5, 0.5], [0.0, np.inf], "y holds inf", "row 1"),
    "text": ([0.5, 0.5], ["cat", "dog"], "y holds names", "classes="),
    "objects": (np.array([0.5, None]), [0, 1], "p has type object", ""),
    "ragged": ([[0.5, 0.5], [1.0]], [0, 1], "p is ragged", ""),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_its_value_and_row(case):
    p, y, *words = BAD[case]
    refuses(lambda: reduce(p, y, "canonical"), *words)


def test_one_probability_per_sample_or_a_sentence_that_names_the_reduction():
    p, y = checked_scalars([0.2, 0.7], [0, 1])
    assert p.tolist() == [0.2, 0.7] and y.tolist() == [0, 1]
    refuses(lambda: checked_scalars(P3, Y3), f"p has shape {P3.shape}", "harness.reduce")
    refuses(lambda: checked_for(("binary", "top_label"), P3, Y3), "harness.reduce")
    assert checked_for(("binary", "canonical"), P3, Y3)[0].shape == P3.shape


def test_by_class_needs_an_indicator_per_probability():
    columns = checked_by_class(P3, one_hot(Y3, 3))
    assert [y.tolist() for _, y in columns] == one_hot(Y3, 3).T.tolist()
    assert len(checked_by_class([0.2, 0.7], [0, 1])) == 1
    refuses(lambda: checked_by_class(P3, Y3), f"y has shape {Y3.shape}", "classwise")


def test_a_notion_that_does_not_fit_is_refused():
    refuses(lambda: reduce(P3, Y3, "binary"), "p has 3 classes")
    refuses(lambda: reduce(P3, Y3, "confidence"), "notion is 'confidence'", *NOTIONS)
