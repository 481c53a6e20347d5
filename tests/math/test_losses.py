"""Per-sample contributions: the authors' values, and the lower bound of their mean."""

import numpy as np
import pytest
from golden_data import arrays, rows
from harness.experiments.berta2026 import authors
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refuses

from harness.math import estimands
from harness.math.divergences import ENTROPY
from harness.math.losses import (
    CANONICAL_LOSSES,
    HEDGE,
    SCALAR_LOSSES,
    Distance,
    LogLoss,
    Lp,
    OneSided,
    Squared,
    TopClass,
)
from harness.math.notions import one_hot

# The golden values are losses of g. For Lp they are anchored at f, where they are 0, so
# contribution = -loss; Brier and log-loss are not anchored, so contribution = loss(f) - loss(g).
# Scalar rows (2 classes) are on the second column.
VECTOR = {"Lp1": Lp(1.0), "Lp1.5": Lp(1.5), "Lp2": Lp(2.0), "Lp3": Lp(3.0), "Lpinf": Lp(np.inf)}
SCALAR = {
    "L1_scalar": Lp(1.0),
    "L1_over": OneSided(Lp(1.0), "over"),
    "L1_under": OneSided(Lp(1.0), "under"),
}


@pytest.mark.golden
@pytest.mark.parametrize("d", ["2", "3", "5"])
def test_contributions_equal_the_authors_losses(d):
    unit = arrays(f"loss_unit_d{d}")
    f, g, y = unit["f"], unit["g"], one_hot(unit["y"], int(d))
    compared = 0
    for row in rows("peer_loss_unit.csv"):
        if row["d"] != d:
            continue
        i, name = int(row["sample"]), row["loss"]
        if name in VECTOR:
            ours = -VECTOR[name].contribution(f, g, y)[i]
        elif name in SCALAR:
            ours = -SCALAR[name].contribution(f[:, 1], g[:, 1], y[:, 1])[i]
        elif name == "brier":
            ours = ((f[i] - y[i]) ** 2).sum() - Squared().contribution(f, g, y)[i]
        else:
            assert name == "logloss"
            ours = -np.log(f[i, unit["y"][i]]) - LogLoss().contribution(f, g, y)[i]
        for theirs in (row["probmetrics"], row["ert"]):
            if theirs:
                assert ours == pytest.approx(float(theirs), abs=1e-12), (name, i)
                compared += 1
    assert compared == {"2": 96, "3": 78, "5": 78}[d]


unit_floats = st.floats(0.0, 1.0)


@st.composite
def scalars(draw, how_many):
    return tuple(np.array([draw(unit_floats)]) for _ in range(how_many))


@st.composite
def vectors(draw, how_many):
    k = draw(st.integers(2, 5))
    drawn = []
    for _ in range(how_many):
        weights = draw(hnp.arrays(float, k, elements=unit_floats))
        assume(weights.sum() > 1e-2)
        drawn.append((weights / weights.sum())[None, :])
    return tuple(drawn)


def inside(*probabilities):
    """Return True if all lie where the log-loss is exact, beyond its floor."""
    return all(((p > 1e-7) & (p < 1 - 1e-7)).all() for p in probabilities)


def expected_contribution(loss, f, q, c, pivot=0.5):
    """Return the exact expectation over Y ~ c: a sum over the classes, no sampling."""
    if f.ndim == 1:
        return sum(
            w * loss.contribution(f, q, np.array([y]), pivot) for y, w in ((0.0, 1 - c), (1.0, c))
        )[0]
    outcomes = np.eye(f.shape[1])
    return sum(
        c[0, j] * loss.contribution(f, q, outcomes[j][None, :], pivot)[0] for j in range(f.shape[1])
    )


SCALAR_CASES = [*SCALAR_LOSSES, Lp(2.0), OneSided(Squared(), "over")]
CANONICAL_CASES = [*CANONICAL_LOSSES, Lp(1.5), Lp(3.0), TopClass(Squared())]


def cases(notion):
    return CANONICAL_CASES if notion == "canonical" else SCALAR_CASES


def samples(how_many):
    """Draw a notion, predictions of one sample for it, and the outcome."""
    of_scalars = st.tuples(
        st.sampled_from(["binary", "top_label"]), scalars(how_many), st.sampled_from([0.0, 1.0])
    )
    of_vectors = st.tuples(st.just("canonical"), vectors(how_many), st.integers(0, 4))
    return of_scalars | of_vectors


def outcome_of(f, y):
    return np.array([y]) if f.ndim == 1 else np.eye(f.shape[1])[[y % f.shape[1]]]


@given(samples(1))
def test_no_recalibration_contributes_nothing(drawn):
    notion, (f,), y = drawn
    for loss in cases(notion):
        if loss.name != "kl" or inside(f):
            assert loss.contribution(f, f.copy(), outcome_of(f, y))[0] == 0, loss


@given(samples(3))
def test_the_expected_contribution_is_a_lower_bound(drawn):
    """E[contribution] <= d(f, C) for every q, with equality at q = C."""
    notion, (f, q, c), _ = drawn
    pivot = estimands.pivot(notion)
    for loss in cases(notion):
        if loss.name == "kl" and not inside(f, q, c):
            continue
        if loss.name == "top_class_l2_squared":
            t = f.argmax()
            distance = (f[0, t] - c[0, t]) ** 2
        else:
            distance = estimands.value(loss.name, f, c, notion)
        exact = expected_contribution(loss, f, c, c, pivot)
        assert exact == pytest.approx(distance, rel=1e-9, abs=1e-12), loss
        assert expected_contribution(loss, f, q, c, pivot) <= distance + 1e-12, loss


@given(samples(2))
def test_no_contribution_falls_below_the_least(drawn):
    notion, (f, q), y = drawn
    for loss in cases(notion):
        term = bounded_terms(loss, f, q, outcome_of(f, y))[0]
        assert term >= loss.least(f.ndim == 1) - 1e-12, loss


@pytest.mark.parametrize("make", [lambda: Lp(0.5), lambda: Lp(np.nan)])
def test_an_order_below_one_is_refused(make):
    refuses(make, "p is ")
    refuses(lambda: OneSided(Lp(1.0), "up"), "'up'")


@given(scalars(2), st.sampled_from([0.0, 1.0]))
def test_over_and_under_sum_to_the_total_for_l1(drawn, y):
    f, q = drawn
    assume(f[0] != 0.5)
    y = np.array([y])
    parts = [OneSided(Lp(1.0), side).contribution(f, q, y)[0] for side in ("over", "under")]
    assert sum(parts) == Lp(1.0).contribution(f, q, y)[0]


def test_one_sided_at_the_pivot_contributes_nothing():
    half = np.array([0.5])
    for side in ("over", "under"):
        for q in (0.1, 0.9):
            assert (
                OneSided(Lp(1.0), side).contribution(half, np.array([q]), np.array([1.0]))[0] == 0
            )


@given(scalars(2), st.sampled_from([0.0, 1.0]), st.sampled_from([1.0, 1.5, 2.0, 3.0, np.inf]))
def test_two_columns_are_a_power_of_two_times_one(drawn, y, order):
    f, q = (np.round(a, 3) for a in drawn)  # so that 1 - f and 1 - q differ where f and q do
    columns = [np.column_stack([1 - a, a]) for a in (f, q, np.array([y]))]
    scalar = Lp(order).contribution(f, q, np.array([y]))[0]
    assert Lp(order).contribution(*columns)[0] == pytest.approx(
        2 ** (1 / order) * scalar, abs=1e-12
    )
    assert Squared().contribution(*columns)[0] == pytest.approx(
        2 * Squared().contribution(f, q, np.array([y]))[0], abs=1e-12
    )


def test_p_infinity_takes_the_first_largest_component():
    f, q = np.array([[0.25, 0.25, 0.5]]), np.array([[0.5, 0.25, 0.25]])
    assert Lp(np.inf).contribution(f, q, np.array([[0.0, 0.0, 1.0]]))[0] == -0.25


def test_log_loss_is_infinite_only_where_f_denies_the_outcome():
    f, q, y = np.array([0.0, 1.0, 0.0]), np.array([0.5, 0.5, 0.0]), np.array([1.0, 1.0, 0.0])
    terms = LogLoss(floor=1e-8).contribution(f, q, y)
    assert terms[0] == np.inf
    assert terms[1] == np.log(0.5)
    assert terms[2] == pytest.approx(
        -1e-8, abs=1e-15
    )  # q is kept from 0: a fitted zero must not make the estimate minus infinity
    clipped = authors.LogLoss(floor=1e-8).contribution(f, q, y)
    assert clipped[0] == pytest.approx(np.log(0.5) - np.log(1e-8)) and clipped[2] == 0


# Ranges, on which confidence bounds rest


def bounded_terms(loss, f, q, y):
    return (loss.for_bound if hasattr(loss, "for_bound") else loss.contribution)(f, q, y)


@given(vectors(2), st.integers(0, 4))
def test_contributions_but_the_log_loss_are_bounded_above(drawn, y):
    f, q = drawn
    y = np.eye(f.shape[1])[[y % f.shape[1]]]
    for loss in CANONICAL_CASES:
        if loss.name != "kl":
            assert loss.contribution(f, q, y)[0] <= -loss.least(False) + 1e-12, loss
    for loss in SCALAR_CASES:
        if loss.name != "kl":
            assert loss.contribution(f[:, 0], q[:, 0], y[:, 0])[0] <= -loss.least(True) + 1e-12, (
                loss
            )
    assert LogLoss().for_bound(np.array([1e-3]), np.array([1.0]), np.array([1.0]))[
        0
    ] > -LogLoss().least(True)


def test_the_least_is_reached():
    """The worst recalibrations: of a prediction near 0, and of a certain one."""
    tiny, ones, zeros = np.array([1e-12]), np.array([1.0]), np.array([0.0])
    for loss in (Lp(1.0), Lp(2.0), OneSided(Lp(1.0), "under")):
        assert loss.contribution(tiny, zeros, ones)[0] == pytest.approx(loss.least(True))
    for loss in (Squared(), LogLoss()):
        assert bounded_terms(loss, ones, zeros, ones)[0] == pytest.approx(loss.least(True))
    f, q, certain = (
        np.array([[1 - 2e-12, 1e-12, 1e-12]]),
        np.array([[1 - 1e-12, 0.0, 1e-12]]),
        np.eye(3),
    )
    for order in (1.0, 1.5, 2.0, np.inf):
        assert Lp(order).contribution(f, q, certain[1:2])[0] == pytest.approx(
            Lp(order).least(False), rel=1e-3
        )
    for loss in (Squared(), LogLoss()):
        assert bounded_terms(loss, certain[:1], certain[1:2], certain[:1])[0] == pytest.approx(
            loss.least(False)
        )
    assert [Lp(order).least(False) for order in (1.0, 2.0, np.inf)] == [-2.0, -(2.0**0.5), -1.0]
    assert [Lp(order).least(True) for order in (1.0, 2.0, np.inf)] == [-1.0] * 3
    assert (Squared().least(True), Squared().least(False)) == (-1.0, -2.0)
    assert TopClass(Lp(1.0)).least(False) == OneSided(Lp(2.0), "over").least(True) == -1.0
    assert LogLoss().least(True) == LogLoss().least(False) == np.log(0.1)


def test_the_hedged_map_bounds_the_log_loss():
    """Nine tenths of q and one of f: log(0.9 q_y / f_y + 0.1)."""
    f, q, y = (
        np.array([0.5, 0.2, 0.3, 0.0]),
        np.array([0.5, 0.8, 0.0, 0.5]),
        np.array([1.0, 0.0, 1.0, 1.0]),
    )
    terms = LogLoss().for_bound(f, q, y)
    assert terms == pytest.approx([0.0, np.log(0.9 * 0.2 / 0.8 + 0.1), np.log(0.1), np.inf])
    columns = [np.column_stack([1 - a, a]) for a in (f, q, y)]
    assert LogLoss().for_bound(*columns) == pytest.approx(terms)
    assert HEDGE == 0.1


@given(vectors(3))
def test_the_hedged_map_is_a_recalibration_too(drawn):
    """The expected contribution of the hedged map is at most E KL(C || f)."""
    f, q, c = drawn
    assume(inside(f))
    terms = LogLoss().for_bound(
        np.repeat(f, f.shape[1], 0), np.repeat(q, f.shape[1], 0), np.eye(f.shape[1])
    )
    assert float(c[0] @ terms) <= estimands.value("kl", f, c, "canonical") + 1e-12
    f, q, c = (a[0, :1] for a in drawn)
    terms = [LogLoss().for_bound(f, q, np.array([y]))[0] for y in (0.0, 1.0)]
    assert (1 - c[0]) * terms[0] + c[0] * terms[1] <= estimands.value("kl", f, c) + 1e-12


def test_names_are_estimands():
    assert {loss.name for loss in SCALAR_LOSSES} <= set(estimands.SCALAR)
    assert {loss.name for loss in CANONICAL_LOSSES} <= set(estimands.CANONICAL)
    assert Lp(1.5).name == "l1.5"
    assert Lp(np.inf).name == "linf"
    assert OneSided(Squared(), "under").name == "l2_squared_under"


def test_own_distances_equal_the_losses_that_the_library_has():
    """Twice the squared distance, the L2 norm, and KL(C || f) as a Bregman divergence."""
    f = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    q = np.array([[0.25, 0.5, 0.25], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    y = one_hot(np.array([1, 0, 2]), 3)
    squared = Distance(
        "distance_twice",
        lambda f, q: 2.0 * ((q - f) ** 2).sum(axis=-1),
        lambda f, q: 4.0 * (q - f),
    )
    assert squared.contribution(f, q, y) == pytest.approx(2.0 * Squared().contribution(f, q, y))
    norm = Distance(
        "distance_norm",
        lambda f, q: np.linalg.norm(q - f, axis=1),
        lambda f, q: (q - f) / np.linalg.norm(q - f, axis=1, keepdims=True),
    )
    assert norm.contribution(f, q, y) == pytest.approx(Lp(2.0).contribution(f, q, y))
    assert norm.contribution(f, q, y)[1] == 0.0  # q = f, where the gradient does not exist
    kl = Distance.of_bregman("distance_kl", ENTROPY)
    assert kl.contribution(f, q, y) == pytest.approx(LogLoss().contribution(f, q, y))


def test_the_name_of_an_own_distance_says_so():
    refuses(lambda: Distance("l2", np.subtract, np.subtract), "distance_<name>")
    assert estimands.check_name("distance_mine") == "distance_mine"
