"""A user's code, whose digest is part of frozen keys: every edit changes these keys."""

from dataclasses import dataclass

import numpy as np


def gap_of_means(p, y):
    return abs(np.mean(p) - np.mean(y))


@dataclass(frozen=True)
class Shrunk:
    share: float = 0.5

    def fit(self, p, y, rng):
        return lambda q: self.share * q + (1 - self.share) * np.mean(y)


@dataclass(frozen=True)
class Coin:
    bias: float = 0.5

    notions = ("binary",)
    classes = 2
    default_n = (50,)
    default_reps = 2
    version = 3

    def sample(self, n, rng):
        return np.full(n, 0.5), (rng.random(n) < self.bias).astype(int)
