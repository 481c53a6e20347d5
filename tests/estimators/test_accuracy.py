"""Accuracy and the bins of a reliability diagram, by hand and under every notion."""

import numpy as np
import pandas as pd
import pytest

import harness
from harness.estimators import Binned, ReliabilityBins
from harness.estimators.application import apply
from harness.math import estimands

P = np.array([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1], [0.2, 0.2, 0.6], [0.4, 0.4, 0.2]])
Y = np.array([0, 2, 2, 0])


def accuracy(p, y, notion):
    return apply(harness.load_estimator("accuracy"), *harness.reduce(p, y, notion), notion, None)[
        "accuracy"
    ].value


@pytest.mark.parametrize("notion", ["canonical", "classwise", "top_label"])
def test_three_of_four_are_right_whatever_the_notion_and_of_ties_the_first_class_is_named(notion):
    assert accuracy(P, Y, notion) == 0.75


def test_one_probability_names_the_class_on_its_side_of_a_half():
    p, y = np.array([0.5, 0.5, 0.9, 0.1]), np.array([0, 1, 1, 1])
    assert accuracy(p, y, "binary") == accuracy(np.column_stack([1 - p, p]), y, "canonical") == 0.5


def test_accuracy_is_no_distance_and_has_no_truth():
    assert all(estimands.check_name("accuracy", notion) for notion in harness.math.notions.NOTIONS)
    assert not estimands.has_truth("accuracy") and not estimands.is_distance("accuracy")


def test_the_bins_of_every_class_are_those_of_the_binned_estimator_and_make_up_its_value():
    p, y = harness.load_problem("dirichlet3_overconfident").sample(500, np.random.default_rng(0))
    reduced = harness.reduce(p, y, "classwise")
    estimate = apply(ReliabilityBins(bins=10), *reduced, "classwise", None)["l1"]
    assert estimate.value == pytest.approx(
        apply(Binned(bins=10), *reduced, "classwise", None)["l1"].value, abs=1e-12
    )
    bins = pd.DataFrame(estimate.arrays)
    counts, shares = bins.loc[bins["class"].eq(2), ["count", "share"]].to_numpy().T
    assert sum(counts) == 500 and np.dot(counts, shares) == pytest.approx((y == 2).sum())
