"""The net-free estimate: closed forms, invariances, edge cases and behaviour on known truths."""

import numpy as np
import pytest

import harness
from harness.estimators import BestPlain
from harness.estimators.gap_posterior import AMPLITUDES, gap_posterior
from harness.estimators.ingredients import compute_ingredients
from harness.estimators.normal_debiased import folded_mean
from harness.math.folds import assign_folds
from tests import samples

ESTIMATE = BestPlain()


def values(p, y, notion="binary", seed=0):
    estimates = ESTIMATE(np.asarray(p), np.asarray(y), np.random.default_rng(seed), notion)
    return {name: e.value for name, e in estimates.items()}


def single_bin(gap, n, variance):
    """Return E|g| and E[g^2] for one bin of n rows, whose observed gap has the noise variance / n.

    All lengths give the same prior of a single gap.
    """
    noise = variance / n
    signal = n * np.array(AMPLITUDES) ** 2  # prior variance over the variance of the noise
    evidence = np.exp(-(gap**2) / noise / (1 + signal) / 2) / np.sqrt(1 + signal)
    weight, shrinkage = evidence / evidence.sum(), signal / (1 + signal)
    mean, spread = shrinkage * gap, shrinkage * noise
    return weight @ folded_mean(mean, np.sqrt(spread)), weight @ (mean**2 + spread)


class TestClosedForms:
    def test_constant_prediction(self):
        # mean y = 3/4 and p = 1/2, so that both estimates of the variance are 1/4
        l1, square = single_bin(0.25, 4, 0.25)
        result = values([0.5] * 4, [0, 1, 1, 1])
        assert result["l1"] == pytest.approx(l1)
        assert result["l2_squared"] == pytest.approx(square)
        assert result["rms"] == pytest.approx(np.sqrt(square))

    def test_single_row(self):
        # (y - p)^2 = 0.64 and p (1 - p) = 0.16, with 1 + 0.1 and 8 of 9.1 rows
        l1, square = single_bin(0.8, 1, (1.1 * 0.64 + 8 * 0.16) / 9.1)
        result = values([0.2], [1])
        assert (result["l1"], result["l2_squared"]) == pytest.approx((l1, square))

    def test_posterior_tends_to_the_observed_gap(self):
        n = 10**6
        result = values(np.full(n, 0.3), np.arange(n) % 2)
        assert result["l1"] == pytest.approx(0.2, abs=1e-5)
        assert result["l2_squared"] == pytest.approx(0.04, abs=1e-5)

    def test_few_vectors_compare_means(self):
        p = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
        result = values(p, [0, 0], "canonical")  # mean of e_Y - p is (0.7, -0.2, -0.5)
        assert result["l1"] == pytest.approx(1.4)
        assert result["l2_squared"] == pytest.approx(0.78)
        assert result["l2"] == pytest.approx(0.78**0.5)

    def test_vectors_are_means_of_statistics_of_the_stack(self):
        p, y = samples.vectors(100, 3)
        rng = np.random.default_rng(0)
        fold = assign_folds(y, 5, False, rng)
        candidates = compute_ingredients(p, y, fold, rng).candidates
        result = values(p, y, "canonical")
        # After the distance and the gain of the stack, first held out and then in sample, come the
        # norm of the mean residual and a product of neighbours. l2_squared ends with six others.
        for name in ("l1", "l2"):
            assert result[name] == pytest.approx(candidates[name][-6:-4].mean())
        assert result["l2_squared"] == pytest.approx(candidates["l2_squared"][-10:-6].mean())


class TestInvariances:
    p, y = samples.scalars(400)  # 20 bins of 20 different predictions

    def test_order_of_rows(self):
        order = np.random.default_rng(1).permutation(400)
        assert values(self.p[order], self.y[order]) == pytest.approx(values(self.p, self.y))

    def test_event_and_its_opposite(self):
        assert values(1 - self.p, 1 - self.y) == pytest.approx(values(self.p, self.y))

    def test_scalars_need_no_random_stream(self):
        assert ESTIMATE(self.p, self.y)["l1"].value == values(self.p, self.y, seed=5)["l1"]

    def test_over_and_under_are_parts_of_l1(self):
        for notion in ("binary", "top_label"):
            result = values(self.p, self.y, notion)
            assert result["l1_over"] + result["l1_under"] == pytest.approx(result["l1"])

    def test_difference_of_over_and_under_is_the_shrunk_mean_gap(self):
        posterior = gap_posterior(self.p, self.y)
        gap = posterior.share @ (posterior.weight @ posterior.mean)
        result = values(self.p, self.y, "top_label")
        assert result["l1_under"] - result["l1_over"] == pytest.approx(gap)

    def test_names_of_classes_hardly_matter(self):
        p, y = samples.vectors(500, 3)
        order = np.array([2, 0, 1])
        # Local centres and folds are the same rows; ties between classes are the only difference.
        first, second = (
            values(p, y, "canonical"),
            values(p[:, order], np.argsort(order)[y], "canonical"),
        )
        assert second == pytest.approx(first, rel=1e-6)


class TestEdges:
    @pytest.mark.parametrize("name", samples.ODD)
    def test_odd_samples_have_values_in_range(self, name):
        for value in values(*samples.ODD[name]).values():
            assert 0.0 <= value <= 1.0

    def test_certain_and_right_is_calibrated(self):
        assert values([0.0, 1.0, 0.0, 1.0], [0, 1, 0, 1])["l1"] == pytest.approx(0.0, abs=1e-6)

    def test_certain_and_wrong(self):
        assert values([0.0, 1.0] * 50, [1, 0] * 50)["l1"] == pytest.approx(1.0, abs=0.02)

    def test_equal_predictions_are_one_bin(self):
        assert ESTIMATE([0.2] * 30 + [0.7] * 30, [0, 1] * 30)["l1"].diagnostics["bins"] == 2.0

    @pytest.mark.parametrize("n", [1, 5, 19, 20, 60])
    def test_unseen_class(self, n):
        p = np.random.default_rng(0).dirichlet(np.ones(4), n)
        for value in values(p, np.zeros(n, int), "canonical").values():
            assert 0.0 <= value <= 2.0

    def test_vectors_need_a_random_stream(self):
        with pytest.raises(harness.BadInputError, match="rng"):
            ESTIMATE(*samples.vectors(50, 3))


class TestBehaviour:
    """Means over draws of samples whose true error is known."""

    @staticmethod
    def mean(problem, n, draws, notion):
        problem = harness.load_problem(problem)
        total = 0.0
        for draw in range(draws):
            p, y = harness.reduce(*problem.sample(n, np.random.default_rng(draw)), notion)
            total += values(p, y, notion)["l1"] / draws
        return total

    def test_close_to_a_large_error(self):
        # truth 0.137, bias -0.009, and 4 standard errors of 0.013 / 5
        assert 0.117 < self.mean("beta_overconfident", 1000, 25, "binary") < 0.139

    def test_of_the_order_of_the_noise_without_error(self):
        # bias 0.018, and 4 standard errors of 0.007 / 5
        assert self.mean("beta_calibrated", 1000, 25, "binary") < 0.024

    def test_square_wave_is_not_shrunk_to_zero(self):
        # truth 0.1; over seeds, the mean is 0.081 and the standard deviation 0.005
        rng = np.random.default_rng(0)
        p = rng.random(5000)
        wave = np.where((p * 10) % 1 < 0.5, 0.1, -0.1)
        y = (rng.random(5000) < np.clip(p + wave, 0, 1)).astype(int)
        assert 0.06 < values(p, y)["l1"] < 0.11

    def test_vectors(self):
        # truth 0.441, bias 0.006, and 4 standard errors of 0.037 / 3.5
        assert 0.40 < self.mean("dirichlet3_overconfident", 500, 12, "canonical") < 0.49
