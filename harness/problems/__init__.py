"""Problems: a distribution of (p, y), with truth where it is known.

A problem is a frozen dataclass with

    sample(n, rng) -> (p, y)          p (n,) or (n, k); a small n is a prefix of a larger n
    truth(estimand, notion)           Truth, a number (taken as exact) or None
    posterior(p) -> C = E[Y given p]  if known; the oracle uses it

`harness.problems.base.ProblemSpec` lists all attributes that a problem may declare, with their
defaults: `notions`, `classes`, `version`, `default_n`, `n_max`, `unavailable` and others.

Some are for bounds that assume a property of eta(p) = E[Y given p]. `variation` is its total
variation on [0, 1], or a bound on it. `perturbation` is the width h of the sech perturbation of the
scores (harness.math.sech_noise). quadrature(width, order) gives the law of the scores to
harness.problems.Perturbed.

`stream` names a random stream that several problems share (harness.problems.Paired), so that
compared models get the same samples.

A family of problems has only members() -> {id: problem}. In a run it is replaced by its members.
"""

from harness.problems.base import Truth
from harness.problems.beta import Beta
from harness.problems.binary import BetaLaw, BinaryProblem, Float32, TwoNormals
from harness.problems.dirichlet import Dirichlet
from harness.problems.files_family import AbsentFiles, PredictionFiles
from harness.problems.fitted import Fitted
from harness.problems.moved_mass import MovedMass
from harness.problems.perturbations import Perturbations, PerturbedNetworks
from harness.problems.predictions import Predictions
from harness.problems.tabrepo import TabRepoTask, TabRepoTasks
from harness.problems.tempered import TemperedDirichlet
from harness.problems.top_law import TopLaw
from harness.problems.transforms.paired import Paired, Uniform
from harness.problems.transforms.perturbed import Perturbed
from harness.problems.transforms.recalibrated import Recalibrated
from harness.problems.transforms.recalibrated_files import RecalibratedFiles
from harness.problems.transforms.relabelled import EachClass, OneClass, Relabelled
from harness.problems.transforms.shift import CovariateShift, CovariateShifts, Points
from harness.problems.uniform_model import UniformModel

__all__ = [
    "AbsentFiles",
    "Beta",
    "BetaLaw",
    "BinaryProblem",
    "CovariateShift",
    "CovariateShifts",
    "Dirichlet",
    "EachClass",
    "Fitted",
    "Float32",
    "MovedMass",
    "OneClass",
    "Paired",
    "Perturbations",
    "PerturbedNetworks",
    "Points",
    "Perturbed",
    "TemperedDirichlet",
    "PredictionFiles",
    "Predictions",
    "Recalibrated",
    "RecalibratedFiles",
    "Relabelled",
    "TabRepoTask",
    "TabRepoTasks",
    "TopLaw",
    "Truth",
    "TwoNormals",
    "Uniform",
    "UniformModel",
]
