"""Probability vectors whose largest entry has a given distribution of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.problems.binary import BetaLaw
from harness.problems.top_law import Nodes, TopLaw

MARGIN = 0.005  # the largest entry is above 1 / k by at least this


@dataclass(frozen=True)
class TopScores(TopLaw):
    """Distribution of probability vectors whose largest entry t is a score with a given law.

        t = max(s, floor),  s ~ scores

    `floor` is 1 / k + 0.005, rounded up to two digits. The top class and the other entries are as
    in TopLaw, whose parameters a, b, atoms and float32 are not used.

    Parameters
    ----------
    classes, alpha, decay
        As in TopLaw.
    scores : BetaLaw, NormalLaw, Mixture, Rounded, ...
        Distribution of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems import NormalLaw
    >>> p = TopScores(3, scores=NormalLaw(0.6, 0.04)).draw(1000, np.random.default_rng(0))
    >>> p.shape, round(float(p.max(axis=1).mean()), 2)
    ((1000, 3), 0.6)
    """

    scores: Any = field(default_factory=BetaLaw)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.a, self.b, self.atoms, self.float32) != (1.0, 1.0, (), False):
            raise BadInputError("TopScores has a, b, atoms or float32; remove them.")

    @property
    def floor(self) -> float:
        return float(np.ceil((1.0 / self.classes + MARGIN) * 100.0) / 100.0)

    def draw_top(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw largest entries t and 1 - t, (n,) each."""
        t = np.maximum(self.scores.draw(n, rng), self.floor)
        return t, 1.0 - t

    def nodes(self, splits: Sequence[float], order: int) -> Nodes:
        """Return a quadrature over the largest entry t, for functions smooth between the splits."""
        edges = np.linspace(0.0, 1.0, 65)
        edges = np.unique([*edges, self.floor, self.free, *(s for s in splits if 0.0 < s < 1.0)])
        s, weight = self.scores.nodes(edges, order)
        t = np.maximum(s, self.floor)
        v = self.spread(t, 1.0 - t)
        return Nodes(t, 1.0 - t, weight, v, self.squares(1.0 - t, v))
