"""Problems: distributions of (p, y), with their truth where it is known.

A problem is a frozen dataclass with these methods. n is the sample size and k the number of
classes:

    sample(n, rng) -> (p, y)          p (n,) or (n, k), y (n,); with the same rng, a small sample
                                      is a prefix of a larger sample
    truth(estimand, notion)           a Truth, a number (taken as exact), or None if unknown
    posterior(p) -> C = E[Y given p]  if known; the oracle estimator uses it

`harness.problems.base.ProblemSpec` lists all attributes that a problem may declare, with their
defaults: `notions`, `classes`, `version`, `default_n`, `n_max`, `unavailable` and others.

Some attributes serve bounds that assume a property of eta(p) = E[Y given p]:

* `variation`: the total variation of eta on [0, 1], or a bound on it.
* `perturbation`: the width h of the sech perturbation of the scores (harness.math.sech_noise).
* `quadrature(width, order)`: the distribution of the scores, which harness.problems.Perturbed uses.

`stream` names a random stream that several problems share (harness.problems.Paired), so that
compared models get the same samples.

A family of problems has only a method members() -> {id: problem}. A run replaces the family by its
members.
"""

from harness.problems.base import Truth
from harness.problems.beta import Beta
from harness.problems.binary import BetaLaw, BinaryProblem, Float32, TwoNormals
from harness.problems.dirichlet import Dirichlet
from harness.problems.files_family import AbsentFiles, PredictionFiles
from harness.problems.fitted import Fitted
from harness.problems.moved_mass import MovedMass
from harness.problems.predictions import Predictions
from harness.problems.score_laws import MeanOfTwo, Mixture, NormalLaw, Rounded, Votes
from harness.problems.tabrepo import TabRepoTask, TabRepoTasks
from harness.problems.tempered import TemperedDirichlet
from harness.problems.top_law import TopLaw
from harness.problems.top_scores import TopScores
from harness.problems.transforms.one_class import EachClass, OneClass
from harness.problems.transforms.paired import Paired, Uniform
from harness.problems.transforms.perturbed import Perturbed
from harness.problems.transforms.recalibrated import Recalibrated
from harness.problems.vector_laws import DirichletLaw, VoteLaw
from harness.problems.vector_problem import VectorProblem

__all__ = [
    "AbsentFiles",
    "Beta",
    "BetaLaw",
    "BinaryProblem",
    "Dirichlet",
    "DirichletLaw",
    "EachClass",
    "Fitted",
    "Float32",
    "MeanOfTwo",
    "Mixture",
    "MovedMass",
    "NormalLaw",
    "OneClass",
    "Paired",
    "Perturbed",
    "TemperedDirichlet",
    "PredictionFiles",
    "Predictions",
    "Recalibrated",
    "Rounded",
    "TabRepoTask",
    "TabRepoTasks",
    "TopLaw",
    "TopScores",
    "Truth",
    "TwoNormals",
    "Uniform",
    "VectorProblem",
    "VoteLaw",
    "Votes",
]
