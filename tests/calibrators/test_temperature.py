"""Temperature scaling."""

import numpy as np
import pytest
from golden_data import arrays, rows
from hypothesis import given
from hypothesis import strategies as st
from samples import rng
from scipy.special import expit, logit

from harness.calibrators import Temperature, logits
from harness.math.softmax import softmax


@pytest.mark.parametrize("beta", [0.4, 1.0, 4.0])
def test_temperature_recovers_a_known_beta(beta):
    """Each p occurs 1,000 times with the share of ones of sigma(beta logit p).

    The optimum is then beta. Rounding of the share moves it by less than 1e-3.
    """
    p = np.linspace(0.02, 0.98, 97)
    ones = np.round(1000 * expit(beta * logit(p))).astype(int)
    y = np.concatenate([np.repeat([1, 0], [k, 1000 - k]) for k in ones])
    q = Temperature().fit(np.repeat(p, 1000), y)(np.array([0.8]))
    assert logit(q)[0] / logit(0.8) == pytest.approx(beta, rel=2e-3)


def test_temperature_on_two_columns_is_that_on_one():
    p, y = rng(1).beta(0.5, 0.5, 200), rng(2).integers(0, 2, 200)
    single, columns = (
        Temperature().fit(p, y)(p),
        Temperature().fit(np.column_stack([1 - p, p]), y)(np.column_stack([1 - p, p])),
    )
    np.testing.assert_allclose(columns[:, 1], single, rtol=1e-8)


@pytest.mark.golden
def test_temperature_equals_the_authors():
    for row in rows("peer_outputs.csv"):
        if row["metric"] == "invtemp_full_fit":
            data = arrays(row["input"])
            q = Temperature().fit(data["p"], data["y"])
            if data["p"].ndim == 1:
                beta = logit(q(np.array([0.8])))[0] / logit(0.8)
            else:
                probabilities = q(np.array([[0.2, 0.2, 0.6]]))[0]
                beta = np.log(probabilities[2] / probabilities[0]) / np.log(3)
            assert beta == pytest.approx(float(row["value"]), rel=1e-12), row["input"]


def plain_temperature(p, y):
    """Return beta, and the map at p, by 30 bisections of log beta on [-16, 16].

    Each bisection takes the half that the sign of the gradient gives.
    """
    if p.ndim == 1:
        z = logits.log_odds(p)
        target = float((z * y).mean())
    else:
        z = logits.floored_log(p)
        target = float(z[np.arange(len(y)), y].mean())
    low, high = -16.0, 16.0
    for _ in range(30):
        middle = (low + high) / 2
        beta = np.exp(middle)
        expected = z * expit(beta * z) if p.ndim == 1 else (z * softmax(beta * z)).sum(axis=1)
        if float(expected.mean()) - target > 0:
            high = middle
        else:
            low = middle
    beta = np.exp((low + high) / 2)
    return beta, expit(beta * z) if p.ndim == 1 else softmax(beta * z)


def bits_of_temperature(p, y):
    np.testing.assert_array_equal(Temperature().fit(p, y)(p), plain_temperature(p, y)[1])


@given(
    st.integers(1, 300),
    st.sampled_from([1, 2, 3, 10]),
    st.sampled_from([0.02, 0.5, 1.0, 5.0]),
    st.floats(-6.0, 6.0),
    st.integers(0, 10**6),
)
def test_temperature_is_the_plain_bisection_to_the_last_bit(n, k, alpha, log_beta, seed):
    """Newton's method saves gradients and changes no bit of the result.

    The labels have temperatures inside and outside the range of the bisection.
    """
    r = rng(seed)
    if k == 1:
        p = r.beta(alpha, alpha, n)
        bits_of_temperature(
            p, (r.random(n) < expit(np.exp(log_beta) * logits.log_odds(p))).astype(int)
        )
    else:
        p = r.dirichlet(np.full(k, alpha), n)
        c = np.cumsum(softmax(np.exp(log_beta) * logits.floored_log(p)), axis=1)
        bits_of_temperature(p, (r.random((n, 1)) > c[:, :-1]).sum(axis=1))


NASTY = [0.0, 1.0, 0.5, 0.25, 0.75, 5e-324, 1e-300, 1 - 2**-53, 0.5 + 2**-50, 1e-9, 0.999]


@given(st.lists(st.tuples(st.sampled_from(NASTY), st.integers(0, 1)), min_size=1, max_size=12))
def test_temperature_is_the_plain_bisection_where_gradients_vanish(pairs):
    """Saturated, separable, constant and flat samples have no root, a root at infinity, or many
    roots.
    """
    p, y = np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])
    bits_of_temperature(p, y)
    bits_of_temperature(np.column_stack([1 - p, p]), y)
