"""LeNet-5 in numpy and numba: derivatives, moving averages and first weights."""

import numpy as np
import pytest
from harness.tools.stand_ins import lenet5


@pytest.fixture
def network():
    """Return random weights in float64, six images and their labels."""
    rng = np.random.default_rng(0)
    weights = lenet5.first_weights(rng, np.float64)
    for name, w in weights.items():
        if name.endswith(("bias", "scale")):
            w += 0.3 * rng.standard_normal(w.shape)
    return weights, rng.standard_normal((3, 32, 32, 6)), rng.integers(0, 10, 6)


def test_derivatives_are_those_of_the_loss(network):
    """Along a random direction of each weight, against a central difference."""
    weights, x, y = network
    buffers, rng = lenet5.Buffers.of(6, np.float64), np.random.default_rng(1)
    _, slopes = lenet5.loss_and_slopes(weights, x, y, buffers)
    assert set(slopes) == {name for name in weights if "moving" not in name}
    for name, slope in slopes.items():
        direction, losses = rng.standard_normal(slope.shape), []
        for step in (1e-6, -1e-6):
            moved = weights | {name: weights[name] + step * direction}
            losses.append(lenet5.loss_and_slopes(moved, x, y, buffers)[0])
        expected = (losses[0] - losses[1]) / 2e-6
        assert (slope * direction).sum() == pytest.approx(expected, rel=1e-4, abs=1e-7), name


def test_logits_equal_a_plain_computation(network):
    """Batch normalisation by the moving averages, ReLU before pooling, loops over the kernel."""
    weights, x, _ = network
    lenet5.loss_and_slopes(weights, x, np.zeros(6, np.int64), lenet5.Buffers.of(6, np.float64))
    h = x
    for layer in "12":
        kernel, size = weights[f"conv{layer}.kernel"], h.shape[1] - 4
        h = sum(
            np.einsum("oc,cyxn->oyxn", kernel[:, :, v, u], h[:, v : v + size, u : u + size])
            for v in range(5)
            for u in range(5)
        )
        h = np.maximum(h + weights[f"conv{layer}.bias"][:, None, None, None], 0)
        if layer == "1":
            h = h.reshape(6, 14, 2, 14, 2, -1).max(axis=(2, 4))
        scale, bias, mean, variance = (
            weights[f"norm{layer}.{part}"][:, None, None, None]
            for part in ("scale", "bias", *lenet5.MOVING)
        )
        h = (h - mean) / np.sqrt(variance + 1.1e-5) * scale + bias
    h = h.reshape(16, 5, 2, 5, 2, -1).max(axis=(2, 4)).reshape(400, -1)
    for layer in "123":
        h = weights[f"dense{layer}.kernel"] @ h + weights[f"dense{layer}.bias"][:, None]
        h = h if layer == "3" else np.maximum(h, 0)
    np.testing.assert_allclose(lenet5.logits(weights, x), h, rtol=1e-9, atol=1e-9)


def test_a_batch_moves_the_averages_by_a_hundredth(network):
    weights, x, y = network
    buffers = lenet5.Buffers.of(6, np.float64)
    lenet5.loss_and_slopes(weights, x, y, buffers)
    values = buffers.conv2.reshape(16, -1)
    np.testing.assert_allclose(weights["norm2.moving_mean"], 0.01 * values.mean(axis=1))
    np.testing.assert_allclose(
        weights["norm2.moving_var"], 0.99 + 0.01 * values.var(axis=1, ddof=1)
    )


def test_first_kernels_are_cut_at_two_standard_deviations():
    """48,000 values of dense1: largest just below 2 sd, standard deviation 0.880 sd (exact)."""
    kernel = lenet5.first_weights(np.random.default_rng(0))["dense1.kernel"] / np.sqrt(2 / 400)
    assert 1.99 < np.abs(kernel).max() <= 2
    # standard error of the standard deviation: 0.88 / sqrt(2 x 48,000) = 0.003, less for cut tails
    assert kernel.std() == pytest.approx(0.8796, abs=0.01)
