"""Binned estimators: closed forms, a textbook implementation, the authors' runs, debiasing."""

import itertools

import numpy as np
import pytest
from golden_data import arrays, rows
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import harness
from harness import BadInputError
from harness.estimators import Binned, Debiased, DebiasedInterval
from harness.estimators.binned import bin_means, partition


def values(estimator, p, y, rng=0):
    return {
        name: e.value
        for name, e in estimator(np.asarray(p), np.asarray(y), np.random.default_rng(rng)).items()
    }


# Closed forms: p = .1 .2 | .6 .7 .8 in two bins, gaps (.15 - .5) = -.35 with weight 2/5 and (.7 -
# 1/3) = 11/30 with 3/5
P5, Y5 = np.array([0.1, 0.2, 0.6, 0.7, 0.8]), np.array([0, 1, 1, 0, 0])
GAPS, WEIGHTS = np.array([0.35, 11 / 30]), np.array([0.4, 0.6])
CLOSED = {
    "l1": WEIGHTS @ GAPS,
    "l2_squared": WEIGHTS @ GAPS**2,
    "rms": np.sqrt(WEIGHTS @ GAPS**2),
    "linf": GAPS.max(),
}


@pytest.mark.parametrize("rule", ["width", "kmeans"])
def test_closed_form(rule):
    assert values(Binned(bins=2, rule=rule), P5, Y5) == pytest.approx(CLOSED, rel=1e-14)


def test_closed_form_equal_mass():
    """Sizes 3 and 2: the first n mod bins bins are larger. Gaps .3 - 2/3 and .75 - 0."""
    gaps, weights = np.array([11 / 30, 0.75]), np.array([0.6, 0.4])
    expected = {
        "l1": weights @ gaps,
        "l2_squared": weights @ gaps**2,
        "rms": np.sqrt(weights @ gaps**2),
        "linf": 0.75,
    }
    assert values(Binned(bins=2, rule="mass"), P5, Y5) == pytest.approx(expected, rel=1e-14)


def test_closed_form_vectors():
    """Two clusters; gaps (.8 - 1/2, .1 - 1/2, .1) and (.1, .1, .8) - (1, 0, 0)."""
    p = np.array([[0.85, 0.1, 0.05], [0.75, 0.1, 0.15], [0.1, 0.1, 0.8]])
    got = values(Binned(bins=2, rule="kmeans"), p, [0, 1, 0])
    gaps, weights = np.array([[0.3, -0.4, 0.1], [-0.9, 0.1, 0.8]]), np.array([2 / 3, 1 / 3])
    squared = weights @ (gaps**2).sum(axis=1)
    expected = {
        "l1": weights @ abs(gaps).sum(axis=1), "l2": weights @ np.linalg.norm(gaps, axis=1),
        "l2_squared": squared,
        "rms": np.sqrt(squared), "linf": weights @ abs(gaps).max(axis=1),
    }  # fmt: skip
    assert got == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("rule", ["width", "mass", "kmeans"])
def test_zero_and_one_count(rule):
    assert values(Binned(bins=2, rule=rule), [0.0, 1.0], [1, 0])["l1"] == 1.0
    assert values(Binned(bins=2, rule=rule), [0.0, 1.0], [0, 1])["l1"] == 0.0
    assert bin_means(np.array([0.0, 1.0]), np.array([0, 1]), 15, rule, 0)[0].sum() == 2


@pytest.mark.parametrize("bins", [1, 2, 3, 10, 15, 49, 100])
def test_width_bins_are_closed_below_and_open_above(bins):
    """p = j / B is in bin j, the float below it in bin j - 1, p = 1 in the last.

    This includes p B that rounds across an integer (0.29 * 100 < 29).
    """
    edges = np.arange(1, bins) / bins
    below = np.nextafter(edges, 0)
    for index, p in [*enumerate(edges, 1), *enumerate(below), (bins - 1, 1.0), (0, 0.0)]:
        middles = (np.arange(bins) + 0.5) / bins
        sizes, mean_p, _ = bin_means(
            np.append(middles, p), np.zeros(bins + 1, dtype=int), bins, "width"
        )
        assert sizes.argmax() == index if bins > 1 else sizes == [2], (index, p)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(1, 8))
def test_equal_mass_never_separates_equal_predictions(levels, bins):
    p = np.array(levels) / 4
    sizes, mean_p, _ = bin_means(p, np.zeros(len(p)), bins, "mass")
    assert sizes.sum() == len(p)
    counts = {level: int((p == level).sum()) for level in np.unique(p)}
    boundaries = np.cumsum(sizes)
    assert set(boundaries) <= set(np.cumsum([counts[level] for level in sorted(counts)]))


def test_equal_mass_bins_are_equally_full():
    for n, bins in ((100, 15), (15, 15), (16, 15), (1000, 7)):
        sizes = bin_means(np.random.default_rng(n).random(n), np.zeros(n), bins, "mass")[0]
        np.testing.assert_array_equal(
            sizes, [len(part) for part in np.array_split(np.arange(n), bins)]
        )


@pytest.mark.parametrize("rule", ["width", "mass", "kmeans"])
def test_few_samples_and_constant_predictions(rule):
    assert values(Binned(15, rule), [0.3], [1])["l1"] == pytest.approx(0.7)
    assert values(Binned(15, rule), np.full(50, 0.3), np.arange(50) % 5 == 0)[
        "l1"
    ] == pytest.approx(0.1)
    three = values(Binned(15, rule), [0.1, 0.5, 0.9], [0, 1, 1])["l1"]
    alone, together = (0.1 + 0.5 + 0.1) / 3, 1 / 6  # kmeans: fewer samples than bins are one bin
    assert three == pytest.approx(together if rule == "kmeans" else alone)


def textbook(p, y, edges):
    """Return the expected calibration error as in every tutorial."""
    total = 0.0
    for low, high in zip(edges[:-1], edges[1:]):
        inside = (p >= low) & (p < high) if high < edges[-1] else (p >= low) & (p <= high)
        total += inside.mean() * abs(p[inside].mean() - y[inside].mean()) if inside.any() else 0.0
    return total


samples = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        hnp.arrays(
            float, n, elements=st.one_of(st.floats(0, 1), st.integers(0, 30).map(lambda j: j / 30))
        ),
        hnp.arrays(np.int64, n, elements=st.integers(0, 1)),
    )
)


@given(samples, st.sampled_from([1, 2, 10, 15, 30]))
def test_width_equals_the_textbook(sample, bins):
    p, y = sample
    assert values(Binned(bins), p, y)["l1"] == pytest.approx(
        textbook(p, y, np.arange(bins + 1) / bins), abs=1e-12
    )


@given(samples, st.integers(1, 20))
def test_mass_equals_the_textbook_where_nothing_is_tied(sample, bins):
    p, y = sample
    p, first = np.unique(p, return_index=True)
    y = y[first]
    parts = np.array_split(np.arange(len(p)), bins)
    expected = sum(
        len(part) / len(p) * abs(p[part].mean() - y[part].mean()) for part in parts if len(part)
    )
    assert values(Binned(bins, "mass"), p, y)["l1"] == pytest.approx(expected, abs=1e-12)


@given(samples, st.sampled_from(["width", "mass", "kmeans"]))
def test_norms_are_ordered(sample, rule):
    got = values(Binned(7, rule), *sample)
    assert -1e-12 <= got["l1"] <= got["rms"] + 1e-12 <= got["linf"] + 2e-12 <= 1 + 3e-12
    assert got["rms"] == pytest.approx(np.sqrt(got["l2_squared"]), abs=1e-12)


# The bias correction


def test_debiased_closed_form():
    """Bin 1: gap .35 and variance .25 / 1; bin 2: gap 11/30 and variance (2/9) / 2."""
    expected = 0.4 * (0.35**2 - 0.25) + 0.6 * ((11 / 30) ** 2 - 1 / 9)
    assert values(Debiased(bins=2, rule="width"), P5, Y5)["l2_squared"] == pytest.approx(
        expected, rel=1e-13
    )


def test_bins_of_one_sample_count_nothing():
    assert values(Debiased(bins=2, rule="width"), [0.1, 0.8, 0.9], [1, 1, 0])[
        "l2_squared"
    ] == pytest.approx(2 / 3 * (0.35**2 - 0.25))


@pytest.mark.parametrize("c", [(0.5, 0.7), (0.1, 0.9), (0.0, 1.0)])
def test_debiased_is_unbiased_and_the_plug_in_is_not(c):
    """Exact expectation over all 2^7 outcomes of p = .2 (4 times) and .8 (3 times)."""
    p, probability = np.repeat([0.2, 0.8], [4, 3]), np.repeat(c, [4, 3])
    mean = {"debiased": 0.0, "plug-in": 0.0}
    for y in itertools.product((0, 1), repeat=7):
        y = np.array(y)
        weight = np.where(y == 1, probability, 1 - probability).prod()
        mean["debiased"] += weight * values(Debiased(bins=2), p, y)["l2_squared"]
        mean["plug-in"] += weight * values(Binned(2, "mass"), p, y)["l2_squared"]
    truth = 4 / 7 * (0.2 - c[0]) ** 2 + 3 / 7 * (0.8 - c[1]) ** 2
    noise = 4 / 7 * c[0] * (1 - c[0]) / 4 + 3 / 7 * c[1] * (1 - c[1]) / 3
    assert mean["debiased"] == pytest.approx(truth, abs=1e-14)
    assert mean["plug-in"] == pytest.approx(truth + noise, abs=1e-14)


@pytest.mark.parametrize("rule", ["width", "mass", "kmeans"])
def test_the_bias_of_debiased_given_the_predictions(rule):
    """Exact expectation over all outcomes; with equal widths the last bin has a single sample."""
    p = np.array([0.05, 0.1, 0.2, 0.3, 0.45, 0.5, 0.6, 0.95])
    c = np.array([0.3, 0.1, 0.6, 0.2, 0.5, 0.9, 0.7, 1.0])
    estimator = Debiased(bins=3, rule=rule)
    assign_bins, count = partition(p, 3, rule, np.random.default_rng(0))
    index, expected = assign_bins(p), 0.0
    for b in range(count):
        mine, size = index == b, (index == b).sum()
        if size > 1:
            gap, spread = p[mine].mean() - c[mine].mean(), c[mine].var()
            expected += size / len(p) * (gap**2 - spread / (size - 1))
    assert _mean_over_outcomes(estimator, p, c) == pytest.approx(expected, abs=1e-14)
    assert rule != "width" or 1 in np.bincount(index)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("c", [(0.1, 0.3, 0.7, 0.9), (0.3, 0.1, 0.9, 0.8), (0.5, 0.4, 0.2, 0.0)])
def test_the_bias_of_debiased_over_predictions_too(c, n):
    """Exact expectation over all samples of n of four predictions, two in each bin."""
    p, q = np.array([0.1, 0.3, 0.6, 0.9]), np.array([0.2, 0.4, 0.1, 0.3])
    c, mean, paired = np.array(c), 0.0, 0.0
    for drawn in itertools.product(range(4), repeat=n):
        drawn = np.array(drawn)
        weight = q[drawn].prod()
        mean += weight * _mean_over_outcomes(Debiased(2, "width"), p[drawn], c[drawn])
        paired += weight * _mean_over_outcomes(DebiasedInterval(2, "width"), p[drawn], c[drawn])
    expected = expected_paired = 0.0
    for b in (slice(0, 2), slice(2, 4)):
        q_b = q[b].sum()
        law = q[b] / q_b
        d, e_p, e_c = law @ (p - c)[b], law @ p[b], law @ c[b]
        spread = law @ (p[b] - e_p) ** 2 - 2 * law @ ((p[b] - e_p) * (c[b] - e_c))
        alone = (1 - q_b) ** (n - 1)
        expected += q_b * d**2 * (1 - alone)
        expected_paired += q_b * d**2 * (1 - alone)
        expected += spread / n * (1 - (1 - q_b) ** n - n * q_b * alone)
    assert mean == pytest.approx(expected, abs=1e-14)
    assert paired == pytest.approx(expected_paired, abs=1e-14)
    assert mean <= q @ (p - c) ** 2


def test_debiased_is_too_low_for_calibrated_predictions_in_wide_bins():
    """Two bins of uniform predictions: the bias is near -2 (1 / 48) / n."""
    rng, n = np.random.default_rng(0), 20
    samples = [rng.random((2, n)) for _ in range(4000)]
    numbers = [values(Debiased(2, "width"), p, u < p)["l2_squared"] for p, u in samples]
    error = np.std(numbers) / len(numbers) ** 0.5
    assert abs(np.mean(numbers) + 2 / 48 / n) < 4 * error
    assert np.mean(numbers) < -4 * error


def _mean_over_outcomes(estimator, p, c):
    """Return the exact mean of l2_squared over all outcomes of p with P(y = 1) = c."""
    mean = 0.0
    for y in itertools.product((0, 1), repeat=len(p)):
        y = np.array(y)
        weight = np.where(y == 1, c, 1 - c).prod()
        mean += weight * values(estimator, p, y)["l2_squared"]
    return mean


@pytest.mark.golden
@pytest.mark.parametrize(
    "name, theirs",
    [
        ("bin2_over_n200_s0", 0.008087242273529876),
        ("bin2_over_n1000_s0", 0.017706091631266418),
        ("bin2_cal_n1000_s0", 0.0006726345053294602),
    ],
)
def test_debiased_equals_uncertainty_calibration(name, theirs):
    """Values of unbiased_square_ce of uncertainty-calibration 0.1.4, 15 equal bins, run once."""
    data = arrays(name)
    assert values(Debiased(), data["p"], data["y"])["l2_squared"] == pytest.approx(
        theirs, rel=1e-12
    )


# The authors' numbers


@pytest.mark.golden
def test_binned_estimators_equal_the_authors_on_their_inputs():
    compared = 0
    for row in rows("peer_outputs.csv"):
        data, name, metric = arrays(row["input"]), row["estimator"], row["metric"].lower()
        p, y, seed = data["p"], data["y"], int(data["seed"])
        if name == "ece_equalmass15":
            ours, bound = Binned(15, "mass")(p, y, None)["l1"].value, 1e-12
        elif name in ("ece_kmeans15", "ece_kmeans30"):
            ours, bound = Binned(int(name[-2:]), "kmeans")(p, y, seed)[metric].value, 1e-9
        elif name.startswith(
            "ece-15"
        ):  # torchmetrics, in float32: 15 gaps each rounded to 6e-8; vectors by top label
            reduced = harness.reduce(p, y, "binary" if p.ndim == 1 else "top_label")
            ours, bound = Binned(15)(*reduced, None)["l1"].value, 1e-7
        else:
            continue
        assert ours == pytest.approx(float(row["value"]), abs=bound), (row["input"], name)
        compared += 1
    assert compared == 4 + 12 + 7


# Vectors


@pytest.mark.parametrize("rule", ["width", "mass"])
def test_vectors_need_kmeans(rule):
    with pytest.raises(BadInputError, match=r"p has shape \(1, 3\).*harness\.reduce"):
        Binned(15, rule)([[0.2, 0.3, 0.5]], [1], None)
    assert "canonical" not in Binned(15, rule).notions
    assert "canonical" in Binned(15, "kmeans").notions
