"""Where the authors' library computes something else than documented, ours gives the truth.

The exact map is the sharpest test: with q = C the estimator's expectation is the error itself.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from golden_data import rows

import harness
from harness.math.losses import CANONICAL_LOSSES, Lp, OneSided, TopClass

N = 200_000
ORDERS = [1.0, 2.0, np.inf]


def standard_error(x):
    return x.std(ddof=1) / np.sqrt(len(x))


def equals(x, truth, error=0.0):
    """Return True if the mean of x is `truth`, up to 3 standard errors of both."""
    return abs(x.mean() - truth) <= 3 * np.hypot(standard_error(x), error) + 1e-12


# One column against two: their scalar losses subtract predictions of two columns from a map of one


@dataclass(frozen=True)
class Across:
    """f is uniform on (1/2, 0.9) and C = 0.2, on the other side of 1/2: E|f - C| = 0.5."""

    classes = 2

    def sample(self, n, rng):
        return rng.uniform(0.5, 0.9, n), (rng.random(n) < 0.2).astype(int)

    def posterior(self, p):
        return np.full(len(p), 0.2)


def drawn(problem):
    """f, C, y and the oracle's value of l1, which all scalar norms share."""
    f, y = problem.sample(N, np.random.default_rng(31))
    oracle = harness.load_estimator("oracle")(f, y, notion="binary", problem=problem)
    return f, problem.posterior(f), y.astype(float), oracle["l1"].value


def broadcast(order, f, q, y):
    """Return (n, 1) - (n, 2): the difference of two losses, each anchored at both columns of f."""
    both = np.column_stack([1.0 - f, f])

    def gain(g):
        d = g[:, None] - both
        size = np.abs(d)
        if np.isinf(order):
            u = np.sign(d) * (np.arange(2) == size.argmax(axis=1)[:, None])
            return size.max(axis=1) + u.sum(axis=1) * (y - g)
        norm = (size**order).sum(axis=1) ** (1.0 / order)
        u = np.sign(d) * size ** (order - 1.0) / norm[:, None] ** (order - 1.0)
        return norm + u.sum(axis=1) * (y - g)

    return gain(q) - gain(f)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "problem",
    [harness.load_problem("beta_overconfident_centred"), Across()],
    ids=["centred", "across"],
)
def test_scalar_norms_of_the_exact_map_are_the_error(problem, order):
    f, c, y, oracle = drawn(problem)
    x = Lp(order).contribution(f, c, y)
    assert abs((x - np.abs(f - c)).mean()) <= 3 * standard_error(x - np.abs(f - c))
    assert equals(x, oracle)
    assert oracle == pytest.approx(
        0.5 if isinstance(problem, Across) else 0.12865953554738216, abs=1e-3
    )


def test_scalar_norms_do_not_depend_on_the_order():
    f, c, y, _ = drawn(harness.load_problem("beta_overconfident_centred"))
    first, second, third = (Lp(order).contribution(f, c, y) for order in ORDERS)
    assert np.array_equal(first, second) and np.array_equal(first, third)


@pytest.mark.parametrize(
    "problem, order, theirs",
    [
        ("centred", 1.0, 0.1302),
        ("centred", 2.0, 0.0199),
        ("centred", np.inf, 0.0),
        ("across", 1.0, 0.7240),
    ],
)
def test_what_the_library_reads_instead(problem, order, theirs):
    """The broadcast gives the library's values, far from the truth (0.004: draws differ)."""
    f, c, y, oracle = drawn(
        Across() if problem == "across" else harness.load_problem("beta_overconfident_centred")
    )
    wrong = broadcast(order, f, c, y)
    assert wrong.mean() == pytest.approx(theirs, abs=4e-3)
    agrees = (problem, order) == ("centred", 1.0)
    assert equals(wrong, oracle) == agrees
    if not agrees:
        assert abs(wrong.mean() - oracle) > 0.1


def test_the_two_columns_and_their_root_are_the_correct_route():
    f, c, y, _ = drawn(harness.load_problem("beta_overconfident_centred"))
    two = [np.column_stack([1.0 - a, a]) for a in (f, c, y)]
    for order in ORDERS:
        both = Lp(order).contribution(*two) / 2.0 ** (1.0 / order)
        np.testing.assert_allclose(both, Lp(order).contribution(f, c, y), atol=1e-9)


# Overconfidence of the top class of more than two goes by the sign of f - C, not the side of 1/2

KINDS = {"overconfident_mc": "overconfident", "underconfident_mc": "underconfident"}


def published(kind):
    """Return {quantity: (truth, error)} of ten classes; over and under are split at 1/2."""
    return {
        row["quantity"].removesuffix("_L1_fullinfo").removeprefix("topclass").lstrip("_")
        or "total": (float(row["truth"]), float(row["err_est"]))
        for row in rows("truth.csv")
        if (KINDS.get(row["h_func"]), row["d"], row["alpha"]) == (kind, "10", "0.5")
        and row["quantity"].startswith("topclass")
    }


def top_class(kind):
    """f, C and Y of the top class, and the vectors they are of."""
    problem = harness.load_problem(f"dirichlet10_{kind}")
    f, y = problem.sample(N, np.random.default_rng(32))
    c, outcome = problem.posterior(f), np.eye(10)[y]
    index = np.arange(N), f.argmax(axis=1)
    return (f[index], c[index], outcome[index]), (f, c, outcome)


@pytest.mark.golden
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values())
def test_the_top_class_is_over_confident_where_it_exceeds_the_truth(kind):
    (f, c, _), vectors = top_class(kind)
    x = {
        side: TopClass(OneSided(Lp(1.0), side)).contribution(*vectors) for side in ("over", "under")
    }
    total = TopClass(Lp(1.0)).contribution(*vectors)
    np.testing.assert_array_equal(x["over"] + x["under"], total)
    truth, error = published(kind)["total"]
    side, other = ("over", "under") if kind == "overconfident" else ("under", "over")
    assert ((f > c) == (side == "over")).all()  # every single prediction errs to this side
    assert equals(x[side], truth, error) and not x[other].any()
    problem = harness.load_problem(f"dirichlet10_{kind}")
    of_ours = {s: problem.truth(f"top_class_l1_{s}") for s in ("over", "under")}
    assert (
        abs(of_ours[side].value - truth) <= 3 * np.hypot(error, of_ours[side].error)
        and of_ours[other].value == 0.0
    )


@pytest.mark.golden
@pytest.mark.parametrize("kind, mistaken", [("overconfident", 0.729), ("underconfident", 0.790)])
def test_a_split_at_one_half_calls_most_of_it_the_opposite(kind, mistaken):
    """With ten classes, the split calls 73 % of the overconfidence underconfidence."""
    (f, c, y), vectors = top_class(kind)
    halves = {
        side: OneSided(Lp(1.0), side).contribution(f, c, y, pivot=0.5) for side in ("over", "under")
    }
    truths = published(kind)
    for side, x in halves.items():
        assert equals(x, *truths[side]), side
    opposite = "under" if kind == "overconfident" else "over"
    share = np.abs(f - c)[(f < 0.5)].sum() / np.abs(f - c).sum()
    assert share == pytest.approx(mistaken, abs=5e-3)
    assert share == pytest.approx(truths[opposite][0] / truths["total"][0], abs=5e-3)
    wrong = TopClass(OneSided(Lp(1.0), opposite)).contribution(*vectors)
    assert wrong.mean() == 0.0 < 0.5 * truths["total"][0] < halves[opposite].mean()


@pytest.mark.slow
def test_our_top_class_estimates_go_by_the_sign():
    """The problem is overconfident, and a fitted map finds no underconfidence."""
    problem = harness.load_problem("dirichlet10_overconfident")
    p, y = problem.sample(4000, np.random.default_rng(33))
    estimates = harness.load_estimator("variational_temperature")(
        p, y, np.random.default_rng(34), notion="canonical"
    )
    names = {loss.name for loss in CANONICAL_LOSSES} & {
        "top_class_l1",
        "top_class_l1_over",
        "top_class_l1_under",
    }
    assert len(names) == 3 and estimates["top_class_l1_over"].value == pytest.approx(
        estimates["top_class_l1"].value
    )
    assert estimates["top_class_l1_under"].value == pytest.approx(0.0, abs=1e-12)
    assert estimates["top_class_l1_over"].low > 0.5 * problem.truth("top_class_l1").value


@pytest.mark.slow
def test_the_top_class_conditions_on_the_whole_vector():
    """E|f_t - E[Y given f]| is at least E|f_t - E[Y given f_t]|, which is another estimand."""
    problem = harness.load_problem("dirichlet3_harmonic")
    whole, alone = problem.truth("top_class_l1"), problem.truth("l1", "top_label")
    assert whole.value > alone.value + 10 * (whole.error + alone.error)
    f, y = problem.sample(N, np.random.default_rng(35))
    assert equals(
        TopClass(Lp(1.0)).contribution(f, problem.posterior(f), np.eye(3)[y]),
        whole.value,
        whole.error,
    )
