"""A template of a problem.

First `calharness check problem.Coin`, then
`calharness experiment=smoke +problem.mine._target_=problem.Coin`.
"""

from dataclasses import dataclass

import numpy as np

from harness import Truth


@dataclass(frozen=True)
class Coin:
    """Predictions p ~ U(0, 1) of a coin: E[Y | p] = heads, whatever p says."""

    heads: float = 0.5

    notions = ("binary",)
    classes = 2
    version = 1  # raise it when draws or truths change

    def sample(self, n, rng):
        """Draw n predictions and labels.

        Each variable has its own stream, so a small sample is a prefix of a larger one.
        """
        of_p, of_y = rng.spawn(2)
        return of_p.random(n), (of_y.random(n) < self.heads).astype(np.int64)

    def truth(self, estimand, notion="binary"):
        """E |p - heads|^q of a uniform p; None for what is not known."""
        a, b = self.heads, 1.0 - self.heads
        known = {"l1": (a**2 + b**2) / 2.0, "l2_squared": (a**3 + b**3) / 3.0}
        return Truth(known[estimand], 0.0, "closed form") if estimand in known else None

    def posterior(self, p):
        """E[Y | p], which the oracle sees."""
        return np.full(len(p), self.heads)
