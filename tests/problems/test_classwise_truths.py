"""Class-wise truths of generated problems: closed forms, atoms and calibrated predictions."""

import numpy as np
import pytest
from scipy.stats import beta, betabinom

from harness.problems import MovedMass, TopLaw, VectorProblem, maps
from harness.problems.classwise_truths import _assign_bins
from harness.problems.vector_laws import DirichletLaw, VoteLaw

RATE = 0.3


def agrees(truth, value):
    return abs(truth.value - value) < 5.0 * truth.error + 1e-12


def test_label_noise_on_votes_is_a_sum_over_the_votes_of_a_class():
    """C_j = (1 - r) p_j + r / 3, so that the gap depends on p_j alone."""
    problem = VectorProblem(VoteLaw(3, 1.0, 10), maps.LabelNoise(RATE))
    votes = np.arange(11)
    probability = betabinom(10, 1.0, 2.0).pmf(votes)
    gap = RATE * (1.0 / 3.0 - votes / 10.0)
    assert agrees(problem.truth("l1", "classwise"), probability @ np.abs(gap))
    assert agrees(problem.truth("l2_squared", "classwise"), probability @ gap**2)
    assert agrees(problem.truth("rms", "classwise"), np.sqrt(probability @ gap**2))


def test_label_noise_on_dirichlet_predictions_is_an_integral_of_their_beta_law():
    problem = VectorProblem(DirichletLaw(4, 0.5), maps.LabelNoise(RATE))
    law = beta(0.5, 1.5)
    assert agrees(problem.truth("l2_squared", "classwise"), RATE**2 * law.var())
    mean_gap = law.expect(lambda p: abs(p - 0.25), points=[0.25])
    assert agrees(problem.truth("l1", "classwise"), RATE * mean_gap)


def test_atoms_have_bins_of_their_own():
    """p_j is 0.6 for the top class and 0.2 for the others, which share the moved probability."""
    curve = maps.Bend(-0.5)
    problem = MovedMass(TopLaw(3, atoms=((0.6, 1.0),)), curve)
    moved = abs(0.6 - float(curve(np.array([0.6]))[0]))
    assert agrees(problem.truth("l1", "classwise"), moved / 3.0 + 2.0 / 3.0 * moved / 2.0)


def test_errors_of_opposite_sign_cancel_given_the_probability_of_a_class():
    """A prediction of 0.5 is 0.1 too high for half of the classes and 0.1 too low for the others.

    The canonical error sees it. Given p_j alone, the mean gap of each class is what remains.
    """
    law = TopLaw(4, atoms=((0.7, 1.0),))
    problem = MovedMass(law, maps.Bend(-0.5), tops=(0, 2))
    moved = 0.7 - float(problem.map(np.array([0.7]))[0])
    # Classes 0 and 1: the gap is `moved` at 0.7. At 0.1, one of three top classes has the map.
    # Classes 2 and 3: no gap at 0.7. At 0.1, two of three top classes have the map.
    first = 0.25 * moved + 0.75 * moved / 3.0 / 3.0
    last = 0.75 * moved / 3.0 * 2.0 / 3.0
    assert agrees(problem.truth("l1", "classwise"), (first + last) / 2.0)
    assert problem.truth("l1", "canonical").value == pytest.approx(moved)


def test_calibrated_problems_have_the_truth_zero_but_a_changed_tail_has_not():
    assert MovedMass(TopLaw(3)).truth("l1", "classwise").value == 0.0
    tail = MovedMass(TopLaw(4, alpha=0.3), tail=1.0)
    assert tail.truth("l1", "top_label").value == 0.0
    assert tail.truth("l1", "classwise").value > 0.02


def test_a_supremum_has_no_class_wise_truth():
    assert MovedMass(TopLaw(3), maps.Bend(-0.5)).truth("linf", "classwise") is None


def test_equal_values_share_a_bin_and_bins_do_not_overlap():
    rng = np.random.default_rng(0)
    x = np.round(rng.random(5_000), 3)
    bins = _assign_bins(x)
    members = [np.unique(x[bins == b]) for b in range(bins.max() + 1)]
    assert sum(map(len, members)) == len(np.unique(x))
    assert max(np.ptp(values) for values in members) < 1.0 / 1024
