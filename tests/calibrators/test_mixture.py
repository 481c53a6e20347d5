"""Mixtures of calibrators: closed forms, other code, invariances and edge cases."""

import numpy as np

from harness.calibrators import Isotonic, Mixture, Temperature


def test_mixtures_are_never_certain():
    p, y = np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1])
    np.testing.assert_allclose(Mixture(Isotonic()).fit(p, y)(p), [0.1, 0.1, 0.9, 0.9])
    v = np.column_stack([p, (1 - p) / 2, (1 - p) / 2])
    q = Mixture(Temperature(), 2.0).fit(v, np.array([1, 2, 0, 0]))(v)
    np.testing.assert_allclose(q, 0.6 * Temperature().fit(v, np.array([1, 2, 0, 0]))(v) + 0.4 / 3)
    assert Mixture(Isotonic()).determinism == "exact"
