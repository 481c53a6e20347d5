"""Area under the receiver operating characteristic."""

from itertools import product

import numpy as np
import pytest

from harness import BadInputError, load_estimator
from harness.errors import UndefinedError
from harness.math import estimands


def auroc(p, y):
    return load_estimator("auroc")(np.array(p, dtype=float), np.array(y))["auroc"].value


def test_auroc_counts_pairs_and_sees_ranks_alone():
    rng = np.random.default_rng(0)
    p, y = np.round(rng.random(60), 1), rng.integers(0, 2, 60)
    pairs = [(a > b) + (a == b) / 2 for a, b in product(p[y == 1], p[y == 0])]
    assert auroc(p, y) == pytest.approx(np.mean(pairs), abs=1e-15)
    assert auroc(p**3, y) == auroc(p, y) == pytest.approx(1.0 - auroc(1.0 - p, y), abs=1e-15)


def test_auroc_of_one_outcome_is_undefined():
    with pytest.raises(UndefinedError, match="2 labels"):
        auroc((0.2, 0.4), (1, 1))


def test_auroc_is_no_distance_and_has_no_truth():
    assert estimands.check_name("auroc", "binary") == "auroc" and not estimands.has_truth("auroc")
    with pytest.raises(BadInputError, match="auroc"):
        estimands.value("auroc", np.array([0.5]), np.array([0.5]))
    with pytest.raises(BadInputError, match="canonical"):
        estimands.check_name("auroc", "canonical")
