"""Fits by segments and the scan of intervals, which see an error in few rows."""

import numpy as np
import pytest
from numpy.random import default_rng

import harness
from harness.estimators import segment_ingredients as segments
from harness.estimators.ingredients import compute_ingredients
from harness.math.folds import assign_folds


def ranks(p):
    return np.searchsorted(p, p, "left")


def test_equal_predictions_share_a_bin_and_rare_events_have_their_own():
    p = np.repeat([0.0, 0.5], 8)
    assert segments.bin_edges(p, ranks(p)).tolist() == [0] * 8 + [1] * 8
    # 990 rows at 0.001 have 0.99 of the rows, and ten rows above 0.3 most of the variance
    p = np.sort(np.append(np.full(990, 0.001), np.linspace(0.3, 0.7, 10)))
    index = segments.bin_edges(p, ranks(p))
    assert len(np.unique(index[:990])) == 1 and len(np.unique(index[990:])) == 10
    assert (np.diff(index) >= 0).all() and index.max() < segments.LARGEST_BINS


def test_predictions_without_variance_are_binned_by_rank():
    p = np.repeat([0.0, 1.0], 8)
    assert segments.bin_edges(p, ranks(p)).tolist() == [0] * 8 + [2] * 8


def test_a_segment_moves_by_its_mean_residual_if_it_pays_the_penalty():
    sums = np.array([[0.0, 3.0, 0.0], [0.0, 1.0, 0.0]])
    sizes, variances = np.tile([4.0, 3.0, 4.0], (2, 1)), np.tile([1.0, 0.5, 1.0], (2, 1))
    # with bin 1 alone, S^2 / (V + 1) is 9 / 1.5 = 6 in the first fit, and 1 / 1.5 in the second
    moves = segments.segment_moves(sums, sizes, variances, 2.0)
    assert moves.tolist() == [[0.0, 0.75, 0.0], [0.0, 0.0, 0.0]]
    assert not segments.segment_moves(sums, sizes, variances, 6.5).any()


def test_neighbouring_segments_of_opposite_signs_are_apart():
    sums, sizes = np.array([[4.0, 4.0, -6.0]]), np.array([[7.0, 7.0, 11.0]])
    moves = segments.segment_moves(sums, sizes, np.zeros((1, 3)), 3.0)
    assert moves.tolist() == [[8.0 / 15.0, 8.0 / 15.0, -0.5]]


def test_the_scan_by_hand():
    # one interval: S = 4, V + 1 = 4, level sqrt(2)
    assert segments.scan(np.array([4.0]), np.array([3.0])) == pytest.approx(
        (2.0 - 2.0**0.5, 4.0 - 2.0 * 2.0**0.5)
    )
    # two bins that cancel: the best interval is one of them, with level sqrt(2 (1 + log 2))
    level = (2.0 * (1.0 + np.log(2.0))) ** 0.5
    assert segments.scan(np.array([4.0, -4.0]), np.array([3.0, 3.0])) == pytest.approx(
        (2.0 - level, 4.0 - 2.0 * level)
    )


def test_the_smooth_fit_of_a_constant_error_is_flat_and_shrunk():
    """With equal mean residuals, every bin moves by them; a single bin that differs is shrunk."""
    sums, sizes = np.full((5, 10), 2.0), np.full((5, 10), 10.0)
    flat = segments.fitted_moves(sums, sizes, sizes / 4.0, 500, 0.25)[2]
    np.testing.assert_allclose(flat, 0.2, rtol=1e-5)
    sums = np.zeros((5, 10))
    sums[:, 4] = 6.0
    spike = segments.fitted_moves(sums, sizes, sizes / 4.0, 500, 0.25)[2][-1]
    # the fit to all rows moves bin 4 by (30 - 2 strength) / 50, up to the move of the others
    strength = segments.STRENGTH * (0.25 * 500) ** 0.5
    assert spike[4] == pytest.approx((30.0 - 2.0 * strength) / 50.0, abs=1e-5)
    assert spike[0] == pytest.approx(strength / 200.0, abs=1e-5)


def in_sample_moves(problem, n, seed):
    """Return the mean |q - p| of the strict fit by segments to all rows."""
    p, y = harness.load_problem(problem).sample(n, default_rng([43, seed]))
    order = np.argsort(p)
    p, residual = p[order], (y - p)[order]
    index = segments.bin_edges(p, ranks(p))
    sums, variances = np.bincount(index, residual), np.bincount(index, p * (1.0 - p))
    sizes = np.bincount(index).astype(float)
    penalty = 2.0 * segments.PENALTIES[1] * np.log(n)
    moves = segments.segment_moves(sums[None], sizes[None], variances[None], penalty)
    return np.abs(moves[0][index]).mean()


@pytest.mark.parametrize("problem", ["beta_calibrated", "rare_k2_calibrated"])
def test_the_strict_fit_rarely_moves_calibrated_predictions(problem):
    """A move needs a squared deviation of 5 log n, about 31; 60 samples have none or one."""
    moved = sum(in_sample_moves(problem, 500, seed) > 0.0 for seed in range(60))
    assert moved <= 1


def test_an_error_of_one_score_in_ten_is_found_without_spreading_it():
    """Of `sparse_k2`, a tenth of the rows carry the whole L1 error of 0.05."""
    values = [in_sample_moves("sparse_k2", 2_000, seed) for seed in range(20)]
    # the standard error of the move is sqrt(0.24 / 200) for a tenth of the rows
    assert np.mean(values) == pytest.approx(0.05, abs=4 * 0.1 * (0.24 / 200 / 20) ** 0.5)


def test_the_candidates_find_an_error_of_high_confidences():
    """Of `tail_k10`, only confidences above 0.98 are wrong. At n = 5,000 the statistics of the fit
    by segments deviate by 10 % (the standard deviation of 20 samples), and four times that is
    allowed."""
    problem = harness.load_problem("tail_k10")
    truth = problem.truth("l1", "top_label").value
    p, y = harness.reduce(*problem.sample(5_000, default_rng(0)), "top_label")
    rng = default_rng(1)
    found = compute_ingredients(p, y, assign_folds(y, 5, False, rng), rng)
    # after 0 and four maps with four statistics each
    np.testing.assert_allclose(found.candidates["l1"][17:21], truth, rtol=0.4)
