"""Laws of predictions and labels with finitely many values, whose expectations are sums."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Law(NamedTuple):
    """A law of a prediction and a label with m predictions and k classes.

    f  predictions, shape (m, k)
    w  their probabilities, shape (m,)
    c  conditional means E[e_Y given f] of the one-hot label, shape (m, k)
    """

    f: np.ndarray
    w: np.ndarray
    c: np.ndarray

    def atoms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position of the prediction, one-hot label and probability of each pair.

        The shapes are (m k,), (m k, k) and (m k,).

        Examples
        --------
        >>> law = Law(np.array([[0.5, 0.5]]), np.array([1.0]), np.array([[0.25, 0.75]]))
        >>> law.atoms()[2]
        array([0.25, 0.75])
        """
        m, k = self.f.shape
        position, label = np.divmod(np.arange(m * k), k)
        return position, np.eye(k)[label], self.w[position] * self.c[position, label]


def random_laws(
    count: int, states: int = 4, classes: tuple[int, ...] = (2, 3, 5), seed: int = 0
) -> Iterator[Law]:
    """Yield `count` random laws for each number of classes, with `states` predictions each.

    Predictions, probabilities and conditional means are uniform on their simplices.

    Examples
    --------
    >>> [law.c.shape for law in random_laws(2, states=3, classes=(2, 5))]
    [(3, 2), (3, 2), (3, 5), (3, 5)]
    """
    rng = np.random.default_rng(seed)
    for k, _ in itertools.product(classes, range(count)):
        f, c = rng.dirichlet(np.ones(k), (2, states))
        yield Law(f, rng.dirichlet(np.ones(states)), c)
