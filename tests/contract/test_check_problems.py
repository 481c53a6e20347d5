"""The contract tests pass sound problems and calibrators and find each fault by its item."""

import dataclasses
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pytest
from frozen import frozen_ids
from slow_params import slow

from harness import BadInputError, Truth, list_problems, load_problem
from harness.calibrators import CatBoost, ExtraTrees, LightGBM, RandomForest
from harness.configure import catalogue
from harness.configure.arena import Arena
from harness.contract import calibrators as check_calibrators
from harness.contract import problems
from harness.contract.check import check, examine, report
from harness.contract.simulated_truths import simulate
from harness.evaluation.arena import read_families
from harness.problems.base import ProblemSpec, list_members

# truths of vectors, their authors' draws, and isotonic recalibrations take a second or more
TAKING_LONG = (
    "dirichlet3_*", "dirichlet10_*", "simplex[345]*", "simplex?0_*", "cifar100_*_*",
    "cifar10_*_isotonic", "cifar10_*_popordanoska2024", "*[!y]_k3*", "*_k10*", "fitted_*",
)  # fmt: skip
ARENA = tuple(f"{family}_" for family in read_families(Arena("arena")))
WITHOUT_A_FILE = ("predictions", "fitted")
# problems whose laws are known, and so are their truths
SAMPLED = [
    name
    for name in frozen_ids("problem")
    if name.startswith(("beta_", "dirichlet", "score_", "simplex", "shift_", *ARENA))
]
# items that our own calibrators are known to break, and why
KNOWN = {
    # the paper's definition bounds the denominator from below by 1e-12;
    # far from all samples the weights are smaller
    "NadarayaWatson": {"rows sum to 1"},
}
AUTHORS = {
    name: f"experiments.popordanoska2024.authors.{name}"
    for name in ("IsotonicScaled", "TemperatureGrid")
}
# one isotonic regression per class, as in the authors' code: it does not normalize the rows
KNOWN["IsotonicScaled"] = {"rows sum to 1"}
LIGHT = {
    CatBoost: {"iterations": 6, "inner_folds": 2},
    LightGBM: {"iterations": 6, "inner_folds": 2},
    RandomForest: {"trees": 10},
    ExtraTrees: {"trees": 10},
}
SLOW_CALIBRATORS = ("CatBoost", "Mixture", "RandomForest", "ExtraTrees")
QUICK_CALIBRATORS = [name for name in catalogue.calibrators() if name not in SLOW_CALIBRATORS]
light = {kind.__name__: dataclasses.replace(kind(), **fields) for kind, fields in LIGHT.items()}
light_catboost, light_lightgbm = light["CatBoost"], light["LightGBM"]
light_randomforest, light_extratrees = light["RandomForest"], light["ExtraTrees"]


def failed(target):
    findings = check(target)
    return {f.item for f in findings if f.outcome == "failed"}, report(findings)


PROBLEMS = [name for name in list_problems() if name not in WITHOUT_A_FILE]
SLOW = [name for name in PROBLEMS if any(fnmatchcase(name, pattern) for pattern in TAKING_LONG)]
# Problems of real predictions differ in their files, all of which tests/sources checks: here, one
# for each kind of file and recalibration. tests/problems has posteriors and truths of all fitted
# ones.
REAL = ("cifar100_*", "cifar10_*_isotonic*", "cifar10_*_temperature_*", "fitted_*")
ONE_OF_EACH = (
    "cifar100_densenet40_*", "cifar100_resnet110_isotonic*", "cifar100_resnet110_temperature*",
    "cifar100_vgg11_bn", "cifar10_resnet50_*", "fitted_images_k10_lenet5",
    "fitted_tabular_k2_adult", "fitted_tabular_k3_abalone",
)  # fmt: skip


def is_of_hours(name):
    """True if a test of another problem runs the same code."""
    if any(fnmatchcase(name, pattern) for pattern in REAL):
        return not any(fnmatchcase(name, pattern) for pattern in ONE_OF_EACH)
    # The code of three classes gives truths of ten and more, too; tests/problems compares some.
    of_three = "k10" in name and re.sub("_k100?", "_k3", name) in PROBLEMS
    return of_three or name.startswith("dirichlet10_")


OF_HOURS = [name for name in SLOW if is_of_hours(name)]


def when_run(name):
    """Return a parameter with the mark of the suite that checks this problem."""
    mark = pytest.mark.hours if name in OF_HOURS else pytest.mark.slow
    return pytest.param(name, marks=[mark] * (name in SLOW))


@pytest.mark.parametrize("name", [when_run(name) for name in PROBLEMS])
def test_own_problems_keep_the_contract(name):
    """Check every problem whose files are present, and three members of every family."""
    try:
        members = list_members(load_problem(name))
    except BadInputError as absent:
        pytest.skip(str(absent))
    made = [load_problem(name)] if members is None else list(members.values())
    for one in made[:: max(1, (len(made) - 1) // 2)]:
        findings = examine(one, name)
        assert [f.item for f in findings] == list(problems.ITEMS)
        assert not [f for f in findings if f.outcome == "failed"], report(findings)
        outcome = {f.item: f.outcome for f in findings}
        if ProblemSpec.of(one).unavailable:
            assert set(outcome.values()) == {"not applicable"}
        else:
            assert outcome["truth"] == "ok" or name not in SAMPLED


@pytest.mark.parametrize("name", [*QUICK_CALIBRATORS, *slow(*SLOW_CALIBRATORS), *AUTHORS])
def test_own_calibrators_keep_the_contract(name):
    paths = {**catalogue.calibrators(), **AUTHORS}
    target = f"{__name__}.light_{name.lower()}" if name in light else paths[name]
    findings = check(target)
    assert [f.item for f in findings] == list(check_calibrators.ITEMS)
    assert {f.item for f in findings if f.outcome == "failed"} == KNOWN.get(name, set()), report(
        findings
    )


class Sound:
    """p is uniform, Y given p ~ Bernoulli(p / 2), and l1 = E p / 2 = 1/4 is a plain number."""

    notions = ("binary",)
    default_n = 500

    def sample(self, n, rng):
        rng_p, rng_y = rng.spawn(2)
        p = rng_p.random(n)
        return p, (rng_y.random(n) < self.posterior(p)).astype(int)

    def posterior(self, p):
        return p / 2

    def truth(self, estimand, notion):
        return {"l1": 0.25, "l2_squared": Truth(1 / 12, 0.0, "closed form")}.get(estimand)


class Undeclared:
    """Two fair coins, with nothing declared."""

    def sample(self, n, rng):
        first, second = rng.spawn(2)
        return first.choice([0.25, 0.75], n), second.integers(0, 2, n)


class OneStream(Sound):
    """Draw labels after predictions from one stream: a small sample is no prefix."""

    def sample(self, n, rng):
        p = rng.random(n)
        return p, (rng.random(n) < p / 2).astype(int)


class Drifts(Sound):
    """Return another sample each time."""

    calls = 0

    def sample(self, n, rng):
        Drifts.calls += 1
        p, y = super().sample(n, rng)
        return np.roll(p, 0) * (1 - 1e-6 * Drifts.calls), y


class UsesGlobal(Sound):
    """Seed the global stream."""

    def sample(self, n, rng):
        np.random.seed(1)
        return super().sample(n, rng)


class Shares(Sound):
    """Return the array that it keeps."""

    held = np.linspace(0.0, 1.0, 50_000)

    def sample(self, n, rng):
        p = Shares.held[:n] if Shares.held.any() else Shares.held[:n]
        return p, (rng.random(len(p)) < p / 2).astype(int)

    def posterior(self, p):
        return p / 2

    truth = None


class ThreeThings(Sound):
    """Return the posterior, too."""

    def sample(self, n, rng):
        return *super().sample(n, rng), 0


class TooFew(Sound):
    """Return half of the rows."""

    def sample(self, n, rng):
        return super().sample((n + 1) // 2, rng)


class Percent(Sound):
    """Predictions in percent."""

    def sample(self, n, rng):
        p, y = super().sample(n, rng)
        return 100 * p, y


class WrongPosterior(Sound):
    """A posterior of p / 2 + 0.03."""

    def posterior(self, p):
        return p / 2 if len(p) < 30_000 else p / 2 + 0.03

    def sample(self, n, rng):
        rng_p, rng_y = rng.spawn(2)
        p = rng_p.random(n)
        return p, (rng_y.random(n) < p / 2).astype(int)

    def truth(self, estimand, notion):
        return None


class WrongTruth(Sound):
    """A truth that is wrong by 1 %."""

    def truth(self, estimand, notion):
        return 0.26 if estimand == "l1" else None


class TextTruth(Sound):
    """A text as truth."""

    def truth(self, estimand, notion):
        return "0.25"


class WrongBrier(Sound):
    """A score that needs no posterior: E (p - Y)^2 = 1/12 + E p/2 (1 - p/2) = 1/4."""

    posterior = property()

    def sample(self, n, rng):
        rng_p, rng_y = rng.spawn(2)
        p = rng_p.random(n)
        return p, (rng_y.random(n) < p / 2).astype(int)

    def truth(self, estimand, notion):
        return 0.27 if estimand == "brier" else None


class WithoutPosterior(Sound):
    """The truths of Sound, times `factor`."""

    posterior = property()
    factor = 1.0

    def sample(self, n, rng):
        rng_p, rng_y = rng.spawn(2)
        p = rng_p.random(n)
        return p, (rng_y.random(n) < p / 2).astype(int)

    def truth(self, estimand, notion):
        value = {"l1": 0.25, "l2_squared": 1 / 12}.get(estimand)
        return None if value is None else value * self.factor


class FivePercentHigh(WithoutPosterior):
    """Truths that are 5 % too high."""

    factor = 1.05


class FivePercentLow(WithoutPosterior):
    """Truths that are 5 % too low."""

    factor = 0.95


class PlainNotion(Sound):
    """A text instead of a tuple."""

    notions = "binary"


class UndocumentedProblem(Sound):
    __doc__ = None


ALL_OF_SAMPLES = set(list(problems.ITEMS)[:7])
BROKEN_PROBLEMS = {
    "OneStream": {"small n is a prefix"},
    "Drifts": {"small n is a prefix", "determinism", "arrays not shared"},
    "UsesGlobal": {"determinism"},
    "ThreeThings": ALL_OF_SAMPLES,
    "Percent": ALL_OF_SAMPLES,
    "TooFew": ALL_OF_SAMPLES - {"one sample"},
    "WrongPosterior": {"posterior"},
    "WrongTruth": {"truth"},
    "TextTruth": {"truth"},
    "WrongBrier": {"truth"},
    "FivePercentHigh": {"truth"},
    "FivePercentLow": {"truth"},
    "PlainNotion": {"declared properties"},
    "UndocumentedProblem": {"docstring"},
}


@pytest.mark.parametrize("name", ["Sound", "Undeclared", "WithoutPosterior"])
def test_strangers_problems_pass(name):
    failures, text = failed(f"{__name__}.{name}")
    assert not failures, text


@pytest.mark.parametrize("name", BROKEN_PROBLEMS)
def test_broken_problem_is_caught_by_its_item(name):
    failures, text = failed(f"{__name__}.{name}")
    assert failures == BROKEN_PROBLEMS[name], text


def test_the_check_says_which_truths_it_would_refuse():
    """Without a posterior. The interval holds the truth, and is narrower than 5 % of it."""
    (finding,) = [f for f in check(f"{__name__}.WithoutPosterior") if f.item == "truth"]
    low, high = map(float, re.search(r"l1 ([\d.]+) to ([\d.]+)", finding.detail).groups())
    assert finding.outcome == "ok" and 0.24 < low < 0.25 < high < 0.26, finding.detail


@pytest.mark.parametrize("name", ["beta_calibrated", "beta_shifted", "beta_wavy"])
def test_simulated_errors_hold_known_truths(name):
    """Samples of 100,000: the truth is at most 5 errors below and 5 errors + shortfall above."""
    problem = load_problem(name)
    for seed in range(3):
        p, y = problem.sample(100_000, np.random.default_rng(seed))
        for estimand, found in simulate(p, y).items():
            truth = problem.truth(estimand, "binary").value
            assert found.value - 5 * found.error <= truth, estimand
            assert truth <= found.value + 5 * found.error + found.shortfall, estimand
            assert found.error < 0.0016 and found.shortfall < 0.015


@pytest.mark.parametrize("waves", [1000, 20_000])
def test_a_gap_that_varies_within_bins_is_found(waves):
    """The gap is 0.2 times a sine with several waves in each bin: its errors cancel in the bins."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.3, 0.7, 400_000)
    c = p + 0.2 * np.sin(2 * np.pi * waves * p)
    found = simulate(p, (rng.random(400_000) < c).astype(int))
    for estimand, truth in {"l1": 0.4 / np.pi, "l2_squared": 0.02}.items():
        value, error, shortfall = found[estimand]
        assert value + 5 * error < truth / 2 and value + 5 * error + shortfall > truth


def test_few_rows_are_not_simulated():
    assert simulate(np.full(1599, 0.5), np.zeros(1599, int)) is None
    assert simulate(np.full(1600, 0.5), np.zeros(1600, int))["l1"].value == 0.5


def test_shared_arrays_are_caught():
    """Writing into a sample changes later samples, so that other items may fail, too."""
    before = Shares.held.copy()
    try:
        assert "arrays not shared" in failed(f"{__name__}.Shares")[0]
    finally:
        Shares.held[...] = before


@dataclass(frozen=True)
class Mean:
    """The mean outcome for all p."""

    determinism = "exact"

    def fit(self, p, y, rng):
        if p.ndim == 1:
            return lambda x: np.full(len(x), y.mean())
        shares = np.bincount(y, minlength=p.shape[1]) / len(y)
        return lambda x: np.tile(shares, (len(x), 1))


class ReturnsModel(Mean):
    """Return no function."""

    def fit(self, p, y, rng):
        return 0.5


class Unnormalised(Mean):
    """Return rows that sum to 2."""

    def fit(self, p, y, rng):
        return lambda x: np.full(x.shape, 0.5 if x.ndim == 1 else 0.75)


class BeyondOne(Mean):
    """Return values outside [0, 1]."""

    def fit(self, p, y, rng):
        return lambda x: 1.5 * x


class Overwrites(Mean):
    """Sort in place."""

    def fit(self, p, y, rng):
        q = super().fit(p, y, rng)
        p.sort(axis=0)
        return q


class Noisy(Mean):
    """Declare exact, but draw."""

    def fit(self, p, y, rng):
        noise, q = 1e-3 * rng.random(), super().fit(p, y, rng)
        return lambda x: (1 - noise) * q(x) + noise / (2 if x.ndim == 1 else x.shape[1])


class ForgetsClasses(Mean):
    """Return as many columns as there are labels."""

    def fit(self, p, y, rng):
        q = super().fit(p, y, rng)
        return (
            (lambda x: q(x))
            if p.ndim == 1
            else (lambda x: q(x)[:, : y.max() + 1] if (y.max() + 1) < p.shape[1] else q(x))
        )


class WrongLimit(Mean):
    """A limit as text."""

    max_n = "none"


BROKEN_CALIBRATORS = {
    "Unnormalised": {"rows sum to 1"},
    "Overwrites": {"input not modified"},
    "Noisy": {"determinism"},
    "WrongLimit": {"declared properties"},
}


def test_a_strangers_calibrator_passes():
    failures, text = failed(f"{__name__}.Mean")
    assert not failures, text


@pytest.mark.parametrize("name", BROKEN_CALIBRATORS)
def test_broken_calibrator_is_caught_by_its_item(name):
    failures, text = failed(f"{__name__}.{name}")
    assert failures == BROKEN_CALIBRATORS[name], text


@pytest.mark.parametrize(
    ("name", "says"),
    [("ReturnsModel", "return a function q(p)"), ("BeyondOne", "q goes from 0 to 1.5")],
)
def test_what_no_item_can_be_tried_on_says_why(name, says):
    failures, text = failed(f"{__name__}.{name}")
    assert "returns probabilities" in failures and says.split(" 0 ")[0] in text


def test_a_missing_class_is_caught():
    failures, _ = failed(f"{__name__}.ForgetsClasses")
    assert "unseen class" in failures and "returns probabilities" not in failures


def test_the_command_takes_ids_of_problems_and_names_of_anything(cli):
    code, text, _ = cli("check", "beta_calibrated")
    assert code == 0 and "small n is a prefix" in text
    code, text, _ = cli("check", f"{__name__}.WrongTruth")
    assert code == 1 and "truth('l1', 'binary') is 0.26 ± 0; 40,000 samples give 0.2" in text
    code, _, err = cli("check", "beta_calibrate")
    assert code == 2 and "did you mean 'beta_calibrated'?" in err
    code, _, err = cli("check", f"{__name__}.SLOW")
    assert code == 2 and "is a list; give an estimator (callable" in err
