"""`harness.estimate_stream`: parts give the estimate of all rows, with memory for one part."""

import tracemalloc

import numpy as np
import pytest

import harness
from harness import BadInputError
from harness.estimators import AverageBinned, Binned, Debiased, NormalDebiased

CUTS = (1, 2, 700, 701, 1999)
ESTIMATORS = (
    Binned(bins=15),
    Binned(bins=7),
    Debiased(rule="width"),
    NormalDebiased(rule="width"),
    AverageBinned(),
)


def sample(k, n=2000):
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.4), n)
    y = (p.cumsum(axis=1) ** 1.2 > rng.random((n, 1))).argmax(axis=1)
    p[:3] = np.eye(k)[0]  # p of 0 and 1
    return p, y


def cut(p, y):
    return zip(np.split(p, CUTS), np.split(y, CUTS))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("k", "notion"), [(2, "binary"), (4, "top_label"), (4, "classwise")])
def test_parts_give_the_estimate_of_all_rows(estimator, k, notion):
    p, y = sample(k)
    whole = harness.estimate(estimator, p, y, notion)
    merged = harness.estimate_stream(cut(p, y), estimator, notion)
    assert set(merged) == set(whole)
    for name, e in merged.items():
        assert e.value == pytest.approx(whole[name].value, abs=1e-13)


def test_one_part_gives_the_same_bits():
    p, y = sample(3)
    whole = harness.estimate("binned15", p, y, "classwise")
    assert harness.estimate_stream([(p, y)], "binned15", "classwise") == whole


def test_labels_are_matched_by_name_in_every_part():
    p, y = sample(2, 100)
    names = np.array(["no", "yes"])[y]
    merged = harness.estimate_stream(cut(p, names), notion="binary", classes=["no", "yes"])
    assert merged["l1"].value == pytest.approx(
        harness.estimate("binned15", p, y, "binary")["l1"].value, abs=1e-13
    )


def test_memory_does_not_grow_with_the_number_of_parts():
    rows = 20_000

    def parts(count):
        rng = np.random.default_rng(0)
        for _ in range(count):
            p = rng.random(rows)
            yield p, (rng.random(rows) < p).astype(int)

    def peak(count):
        tracemalloc.start()
        harness.estimate_stream(parts(count), notion="binary")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1)  # imports
    assert peak(40) < peak(2) + 8 * rows  # 40 parts of p alone are 40 * 8 * rows bytes


@pytest.mark.parametrize(
    ("parts", "options", "says"),
    [
        ([], {}, "parts holds no rows"),
        ([([], [])], {}, "parts holds no rows"),
        ([([0.5], [1]), ([1.5], [1])], {}, "part 1: p holds 1.5"),
        ([([0.5], [1]), ([[0.5, 0.5]], [1])], {}, r"part 1 has p of shape \(1, 2\)"),
        (
            [([0.5], [1])],
            {"estimator": "debiased15"},
            r"load_estimator\('debiased15', rule='width'",
        ),
        ([([0.5], [1])], {"estimator": "kde"}, "'kde' needs all rows at once"),
        ([([0.5], [1])], {"estimator": "binned_cube_root"}, "needs all rows at once"),
        ([([0.5], [1])], {"estimator": "kmeans15"}, "rule 'kmeans'"),
        ([([0.5], [1])], {"notion": "canonical"}, "no canonical notion"),
        ([([0.5], [1])], {"notion": "marginal"}, "no marginal notion"),
    ],
)
def test_what_cannot_be_merged_is_refused_in_one_sentence(parts, options, says):
    with pytest.raises(BadInputError, match=says) as error:
        harness.estimate_stream(parts, **options)
    assert "\n" not in str(error.value)
