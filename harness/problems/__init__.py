"""Problems: a distribution of (p, y), with truth where it is known.

A problem is a frozen dataclass with

    sample(n, rng) -> (p, y)         p (n,) or (n, k); a small n is a prefix of a larger n for equal rng
    truth(estimand, notion) -> Truth or None; a plain number is taken as exact (harness.problems.base.truth_of)
    posterior(p) -> C = E[Y given p]  where known (what the oracle sees)

and the attributes `notions` (all it can be judged under), `default_notions`, `classes`, `version` (raised when its draws or
truths change), `default_n`, `default_reps`, `n_max` (samples at hand; None = unlimited), `fingerprint` (what identifies it
beside its parameters; None = the parameters do), `unavailable` (why it cannot be run here, such as a file that is not there; its
cells are skipped with that reason; None = it can).

`harness.problems.base.ProblemSpec` names these attributes with what stands in for them where a problem declares nothing.

Optional, for bounds that assume something of eta(p) = E[Y given p]: `variation`, its total variation on [0, 1], or a bound on
that; `perturbation`, the h of the sech perturbation that the scores went through, None if none (harness.math.sech_noise); and
quadrature(width, order) -> scores, probabilities, posteriors, from which harness.problems.Perturbed knows its truths.

An attribute `stream` names the random stream that a problem draws from in place of its own (harness.problems.Paired): problems of
one stream share their draws, as models that are compared on the same samples must.

A family of problems has members() -> {id: problem} instead, and stands for all of them in a run.
"""

from harness.problems.base import Truth
from harness.problems.beta import Beta
from harness.problems.binary import BetaLaw, BinaryProblem, Float32, TwoNormals
from harness.problems.dirichlet import Dirichlet
from harness.problems.files_family import AbsentFiles, PredictionFiles
from harness.problems.fitted import Fitted
from harness.problems.moved_mass import MovedMass, TopLaw
from harness.problems.perturbations import Perturbations, PerturbedNetworks
from harness.problems.predictions import Predictions
from harness.problems.tabrepo import TabRepoTask, TabRepoTasks
from harness.problems.tempered import TemperedDirichlet
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
