"""Population quantities: closed forms, the order of the norms, one column against two."""

import numpy as np
import pytest
from harness.experiments.berta2026.authors import top_class_l1_split_at_half
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refuses

from harness.math import estimands

# Two equally likely predictions. f is overconfident at 0.8 (against 0.6), underconfident at 0.3.
F, C = np.array([0.8, 0.3]), np.array([0.6, 0.2])
H = {c: -c * np.log(c) - (1 - c) * np.log(1 - c) for c in (0.2, 0.4, 0.6)}  # entropies of coins
KL = 0.5 * (
    0.6 * np.log(0.6 / 0.8)
    + 0.4 * np.log(0.4 / 0.2)
    + 0.2 * np.log(0.2 / 0.3)
    + 0.8 * np.log(0.8 / 0.7)
)
SCALAR_VALUES = {
    "l1": 0.15, "l2": 0.15, "l1.5": 0.15, "l2_squared": 0.025, "rms": np.sqrt(0.025), "linf": 0.2,
    "kl": KL,
    "l1_over": 0.1, "l1_under": 0.05, "l2_squared_over": 0.02, "l2_squared_under": 0.005,
    "brier": (0.6 * 0.04 + 0.4 * 0.64 + 0.2 * 0.49 + 0.8 * 0.09) / 2,
    "logloss": -(0.6 * np.log(0.8) + 0.4 * np.log(0.2) + 0.2 * np.log(0.3) + 0.8 * np.log(0.7)) / 2,
    "refinement_l2_squared": (0.24 + 0.16) / 2, "refinement_kl": (H[0.6] + H[0.2]) / 2,
    "sharpness_l2_squared": 0.04, "sharpness_kl": H[0.4] - (H[0.6] + H[0.2]) / 2,  # E C = 0.4
}  # fmt: skip

FV = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
CV = np.array([[0.4, 0.3, 0.3], [0.1, 0.1, 0.8]])
CANONICAL_VALUES = {
    "l1": (0.2 + 0.4) / 2, "l2": (np.sqrt(0.02) + np.sqrt(0.06)) / 2, "linf": (0.1 + 0.2) / 2,
    "l3": (0.002 ** (1 / 3) + 0.010 ** (1 / 3)) / 2, "l2_squared": (0.02 + 0.06) / 2,
    "rms": np.sqrt(0.04),
    "kl": (0.4 * np.log(0.8) + 0.3 * np.log(1.5) + 0.2 * np.log(0.5) + 0.8 * np.log(4 / 3)) / 2,
    "top_class_l1": (0.1 + 0.2) / 2, "top_class_l1_over": 0.05, "top_class_l1_under": 0.1,
    "top_class_l2_squared": (0.01 + 0.04) / 2, "top_class_l2_squared_over": 0.005,
    "top_class_l2_squared_under": 0.02,
    "brier": (0.02 + 1 - 0.34 + 0.06 + 1 - 0.66) / 2,
    "logloss": -(0.4 * np.log(0.5) + 0.3 * np.log(0.3) + 0.3 * np.log(0.2)
                 + 0.2 * np.log(0.2) + 0.8 * np.log(0.6)) / 2,
    "refinement_l2_squared": (1 - 0.34 + 1 - 0.66) / 2,
    "refinement_kl": -(0.4 * np.log(0.4) + 0.6 * np.log(0.3)
                       + 0.2 * np.log(0.1) + 0.8 * np.log(0.8)) / 2,
    # E C = (0.25, 0.2, 0.55), both rows equally far from it
    "sharpness_l2_squared": (0.15**2 + 0.1**2 + 0.25**2),
    "sharpness_kl": (0.4 * np.log(0.4 / 0.25) + 0.3 * np.log(0.3 / 0.2) + 0.3 * np.log(0.3 / 0.55)
                     + 0.1 * np.log(0.1 / 0.25) + 0.1 * np.log(0.1 / 0.2)
                     + 0.8 * np.log(0.8 / 0.55)) / 2,
}  # fmt: skip


@pytest.mark.parametrize("name", SCALAR_VALUES)
def test_scalar_closed_form(name):
    assert estimands.value(name, F, C, "binary") == pytest.approx(SCALAR_VALUES[name], rel=1e-14)


@pytest.mark.parametrize("name", CANONICAL_VALUES)
def test_canonical_closed_form(name):
    assert estimands.value(name, FV, CV, "canonical") == pytest.approx(
        CANONICAL_VALUES[name], rel=1e-14, abs=1e-16
    )


def test_the_top_class_split_at_one_half_as_the_authors_have_it():
    assert top_class_l1_split_at_half(FV, CV, "over") == 0.0  # f_t = 1/2 is on neither side of 1/2
    assert top_class_l1_split_at_half(FV, CV, "under") == pytest.approx(0.1, rel=1e-14)


def test_every_named_estimand_has_a_closed_form_above():
    assert set(estimands.SCALAR) <= set(SCALAR_VALUES)
    assert set(estimands.CANONICAL) <= set(CANONICAL_VALUES)


@pytest.mark.parametrize("name, value", [("l1", 0.125), ("rms", np.sqrt(0.0175))])
def test_weights_are_the_law_of_the_predictions(name, value):
    weights = np.array([0.25, 0.75])
    assert estimands.value(name, F, C, "binary", weights) == pytest.approx(value)


@pytest.mark.parametrize(
    "notion, f, c, over, under",
    [
        ("binary", 0.8, 0.6, 0.2, 0.0),  # over: nearer to 1/2 than f
        ("binary", 0.8, 0.9, 0.0, 0.1),
        ("binary", 0.8, 0.1, 0.7, 0.0),  # or across it
        ("binary", 0.3, 0.4, 0.1, 0.0),
        ("binary", 0.3, 0.2, 0.0, 0.1),
        ("binary", 0.3, 0.9, 0.6, 0.0),
        ("binary", 0.5, 0.1, 0.0, 0.0),  # f = 1/2 is neither
        ("top_label", 0.3, 0.1, 0.2, 0.0),  # over: a confidence that is too high
        ("top_label", 0.3, 0.4, 0.0, 0.1),
        ("top_label", 0.5, 0.2, 0.3, 0.0),
    ],
)
def test_over_and_under_confidence(notion, f, c, over, under):
    f, c = np.array([f]), np.array([c])
    assert estimands.pointwise("l1_over", f, c, notion) == pytest.approx(over, abs=1e-15)
    assert estimands.pointwise("l1_under", f, c, notion) == pytest.approx(under, abs=1e-15)


def test_a_linf_is_a_supremum_for_scalars_and_a_mean_for_vectors():
    assert estimands.value("linf", F, C, "binary") == pytest.approx(0.2)
    two = np.column_stack([1 - F, F]), np.column_stack([1 - C, C])
    assert estimands.value("linf", *two, "canonical") == pytest.approx(0.15)


@pytest.mark.parametrize(
    "f, c, expected",
    [
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (0.5, 0.0, np.log(2)),
        (0.5, 1.0, np.log(2)),
        (0.0, 0.1, np.inf),
        (1.0, 0.9, np.inf),
        (1e-300, 1e-300, 0.0),
    ],
)
def test_kl_at_the_ends(f, c, expected):
    f, c = np.array([f]), np.array([c])
    assert estimands.value("kl", f, c, "binary") == pytest.approx(expected, abs=1e-15)
    two = np.column_stack([1 - f, f]), np.column_stack([1 - c, c])
    assert estimands.value("kl", *two, "canonical") == pytest.approx(expected, abs=1e-15)


def test_logloss_of_an_impossible_outcome_is_infinite_and_of_a_certain_one_zero():
    assert estimands.value("logloss", np.array([0.0]), np.array([0.5]), "binary") == np.inf
    assert estimands.value("logloss", np.array([0.0]), np.array([0.0]), "binary") == 0.0


unit = st.floats(0.0, 1.0)


@st.composite
def scalar_pairs(draw):
    n = draw(st.integers(1, 6))
    return tuple(draw(hnp.arrays(float, n, elements=unit)) for _ in range(2))


@st.composite
def vector_pairs(draw):
    n, k = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    vectors = []
    for _ in range(2):
        weights = draw(hnp.arrays(float, (n, k), elements=unit))
        assume((weights.sum(axis=1) > 1e-3).all())
        vectors.append(weights / weights.sum(axis=1, keepdims=True))
    return tuple(vectors)


pairs = st.one_of(
    scalar_pairs().map(lambda pair: ("binary", *pair)),
    vector_pairs().map(lambda pair: ("canonical", *pair)),
)


@given(pairs)
def test_distances_are_non_negative_and_zero_where_calibrated(drawn):
    notion, f, c = drawn
    for name in set(estimands.names(notion)) - set(estimands.SCORES):
        rounding = 1e-15 if name == "kl" else 0.0  # of 1 - f, and of rows that sum to 1
        assert estimands.value(name, f, c, notion) >= -rounding
        assert estimands.value(name, f, f, notion) == 0


@given(pairs)
def test_scores_are_calibration_plus_refinement(drawn):
    """Refinement is the score of the truth itself."""
    notion, f, c = drawn
    f = 0.9 * f + 0.1 / f.shape[-1] if f.ndim == 2 else 0.05 + 0.9 * f  # the log-loss is finite
    for score, distance in (("brier", "l2_squared"), ("logloss", "kl")):
        refinement = estimands.value(f"refinement_{distance}", f, c, notion)
        total = estimands.value(distance, f, c, notion) + refinement
        assert estimands.value(score, f, c, notion) == pytest.approx(total, abs=1e-12)
        assert refinement == pytest.approx(estimands.value(score, c, c, notion), abs=1e-12)
        assert refinement == estimands.value(f"refinement_{distance}", c, c, notion)  # of C alone


@given(vector_pairs())
def test_norms_fall_as_their_order_rises(pair):
    values = [
        estimands.value(name, *pair, "canonical") for name in ("l1", "l1.5", "l2", "l3", "linf")
    ]
    underflow = 1e-150  # l2 squares: of a difference below it nothing is left
    assert all(a >= b * (1 - 1e-12) - underflow for a, b in zip(values, values[1:]))
    assert values[0] <= 2 + 1e-12


@given(scalar_pairs())
def test_over_and_under_sum_to_the_total_but_where_f_is_one_half(pair):
    f, c = pair
    for base in ("l1", "l2_squared"):
        total = estimands.pointwise(base, f, c)
        parts = estimands.pointwise(f"{base}_over", f, c) + estimands.pointwise(
            f"{base}_under", f, c
        )
        np.testing.assert_array_equal(parts, np.where(f == 0.5, 0.0, total))


@given(scalar_pairs(), st.sampled_from([1.0, 1.5, 2.0, 3.0, np.inf]))
def test_two_columns_are_a_power_of_two_times_one(pair, order):
    f, c = pair
    columns = np.column_stack([1 - f, f]), np.column_stack([1 - c, c])
    scalar = estimands.value("l1", f, c, "binary")
    name = estimands.norm_name(order)
    assert estimands.value(name, *columns, "canonical") == pytest.approx(
        2 ** (1 / order) * scalar, rel=1e-12, abs=1e-15
    )
    squared = estimands.value("l2_squared", f, c, "binary")
    assert estimands.value("l2_squared", *columns, "canonical") == pytest.approx(
        2 * squared, rel=1e-12, abs=1e-15
    )


@given(vector_pairs(), st.integers(0, 3))
def test_refinement_and_sharpness_sum_to_the_uncertainty_of_the_outcome(pair, seed):
    _, c = pair
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(c)))
    mean = (weights @ c)[None, :]
    for distance in ("l2_squared", "kl"):
        parts = [
            estimands.value(f"{part}_{distance}", c, c, "canonical", weights)
            for part in ("refinement", "sharpness")
        ]
        assert sum(parts) == pytest.approx(
            estimands.value(f"refinement_{distance}", mean, mean, "canonical"), abs=1e-12
        )
        assert min(parts) >= -1e-15


@given(scalar_pairs())
def test_refinement_and_sharpness_on_two_columns(pair):
    """Twice the scalar for squares, the same for logarithms."""
    f, c = pair
    columns = np.column_stack([1 - f, f]), np.column_stack([1 - c, c])
    for part in ("refinement", "sharpness"):
        for distance, factor in (("l2_squared", 2), ("kl", 1)):
            scalar = estimands.value(f"{part}_{distance}", f, c, "binary")
            assert estimands.value(f"{part}_{distance}", *columns, "canonical") == pytest.approx(
                factor * scalar, rel=1e-9, abs=1e-14
            )


def test_refinement_and_sharpness_at_the_ends():
    """A certain truth has no refinement, a constant one no sharpness."""
    certain, same = np.array([0.0, 1.0]), np.full(3, 0.3)
    for distance, most in (("l2_squared", 0.25), ("kl", np.log(2))):
        assert estimands.value(f"refinement_{distance}", certain, certain, "binary") == 0.0
        assert estimands.value(
            f"sharpness_{distance}", certain, certain, "binary"
        ) == pytest.approx(most, rel=1e-15)
        assert estimands.value(f"sharpness_{distance}", same, same, "binary") == pytest.approx(
            0.0, abs=1e-16
        )


@pytest.mark.parametrize("name", ["rms", "sharpness_l2_squared", "sharpness_kl"])
def test_an_estimand_that_is_no_mean_has_no_value_per_sample(name):
    for f, c, notion in ((F, C, "binary"), (FV, CV, "canonical")):
        refuses(lambda: estimands.pointwise(name, f, c, notion), name)  # noqa: B023


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 3.0, 10.0])
def test_p_norm_neither_overflows_nor_underflows(order):
    for scale in (1e-200, 1.0):
        d = scale * np.array([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0]])
        if order == 2.0 and scale < 1:
            continue  # the square underflows to 0: 1e-200 is no calibration error
        expected = scale * (3.0**order + 4.0**order) ** (1 / order)
        np.testing.assert_allclose(estimands.p_norm(d, order), [expected, 0.0], rtol=1e-14)


def test_norm_names_are_read_as_they_are_written():
    for order in (1.0, 1.5, 2.0, 3.0, 10.0, np.inf):
        assert estimands.norm_order(estimands.norm_name(order)) == order
    for name in "l0.5 l0 l lx x1 l1_5 l1.0 l01 l-1 lnan linfinity 1".split() + ["l2 ", ""]:
        assert estimands.norm_order(name) is None, name


@pytest.mark.parametrize(
    "name, notion",
    [("ece", None), ("l0.5", None), ("l1_5", None), ("top_class_l1", "binary"),
     ("l1_over", "canonical"), ("CE2", "top_label")],
)  # fmt: skip
def test_unknown_names_are_refused_with_the_known_ones(name, notion):
    refuses(
        lambda: estimands.check_name(name, notion), f"estimand is {name!r}", notion or "l2_squared"
    )


def test_known_names_are_returned():
    for notion in ("binary", "top_label", "classwise", "canonical"):
        for name in (*estimands.names(notion), "l1.5", "l7"):
            assert estimands.check_name(name, notion) == estimands.check_name(name) == name
