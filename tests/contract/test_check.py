"""The contract test passes sound estimators and finds each fault by its item."""

import dataclasses
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pytest

import harness.contract.estimators
from harness import BadInputError, Estimate, UndefinedError, list_estimators, load_estimator
from harness.calibrators import CatBoost, ExtraTrees, LightGBM, RandomForest
from harness.contract.check import Finding, check, report
from harness.contract.estimators import ITEMS, NULL_REPS
from harness.estimators import Variational
from harness.estimators.application import takes_rng
from harness.estimators.base import EstimatorSpec
from harness.math.notions import checked, checked_scalars

# items that our own estimators are known to break, and why
KNOWN = {
    # k-means++ with the authors' fixed random_state = 42 picks its start by row number,
    # and this estimator draws no folds
    "variational_partition_insample_berta2026": {"sample order"},
    # fully grown trees remember the labels of the samples that they are judged on
    "variational_random_forest_insample": {"near zero if calibrated"},
    "variational_extra_trees_insample": {"near zero if calibrated"},
    # the authors' bins are (a, b], so that p = 0 is in none and wrong outcomes there are not seen
    "classwise_ece_popordanoska2024": {"p of 0 and 1"},
    # where it is installed: cumulative residuals through equal p one after another
    **{
        name: {"sample order"}
        for name in ("peer_probmetrics_kuiper", "peer_probmetrics_ks")
        if not load_estimator(name).unavailable
    },
    # the authors' permutation of the rows is fixed, not random
    **{
        name: {"sample order"}
        for name in list_estimators()
        if name.endswith("_gruber2025")
        and name.startswith(("tuned_", "binned15_", "crossfit_", "kkr_float32", "ukkr_float32"))
    },
}


def outcomes(target, outcome="failed"):
    return {f.item for f in check(target) if f.outcome == outcome}


# A check takes about 400 estimates. `make test` checks one setting of each class. `make slow` adds
# settings that take a second or more, one of each kind, and estimators of trees with few trees.
# `make hours` checks all estimators as they are, on more seeds.
LIGHT = {
    CatBoost: {"iterations": 6, "inner_folds": 2},
    LightGBM: {"iterations": 6, "inner_folds": 2},
    RandomForest: {"trees": 10},
    ExtraTrees: {"trees": 10},
}


def few_trees(name):
    """Return the fields of LIGHT for an estimator of trees, the authors' too, or None."""
    calibrator = getattr(load_estimator(name), "calibrator", None)
    return next((LIGHT[kind] for kind in type(calibrator).__mro__ if kind in LIGHT), None)


TREES = [name for name in list_estimators() if few_trees(name)]
SLOW = (
    "best*", "*_cube_root", "bv_window", "certified_interval_perturbed", "ckce", "ckce_[!k]*",
    "crossfit_*_split_*", "debiased50_interval", "gain_*", "kde", "kde_[!b]*", "kkr*", "kmeans15*",
    "kuiper", "lower_scaling_binning_auto", "monte_carlo_truth_berta2026", "nw_jensen_histogram",
    "skce", "skce_[!k]*", "smooth_ece*", "sweep_width", "tace15", "tcal", "tuned_*", "ucme",
    "ukkr*", "variational_*",
)  # fmt: skip
QUICK = {
    *(
        f"variational_{name}_insample"
        for name in ("histogram", "isotonic", "nadaraya_watson", "temperature", "vector")
    ),
    "variational_partition_insample_berta2026",
}
# Slow ones whose class and calibrator another slow or quick estimator has: authors' variants, other
# kernels and bandwidths, and calibrators of which `make slow` checks folds or the whole sample.
OF_HOURS = (
    "*_berta2026", "*_gruber2025", "*_popordanoska2024", "best_fast", "ckce_[!f]*",
    "gain_temperature", "kde_likelihood", "kde_risk", "skce_[!b]*", "skce_biased", "tuned_kde",
    "tuned_ukkr", "tuned_variational", "ukkr", "variational_catboost_*insample",
    "variational_extra_trees_insample", "variational_lightgbm_*insample",
    "variational_random_forest_insample", "variational_[bpqs]*_insample", "variational_dirichlet",
    "variational_matrix",
)  # fmt: skip


def matches(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def is_slow(name):
    of_weights = "_tabicl" in name or "_tabpfn" in name  # not applicable without their files
    return matches(name, SLOW) and name not in QUICK and not of_weights


def of_many_calls(name):
    """Return True for wrappers that call an estimator a hundred times.

    tests/estimators/test_intervals.py tests them.
    """
    return name.startswith(("bootstrap_", "half_", "subsampling_", "hulc_", "consistency_"))


def keeps_the_contract(target, name):
    findings = check(target)
    assert [f.item for f in findings] == list(ITEMS)
    assert {f.item for f in findings if f.outcome == "failed"} == KNOWN.get(name, set()), report(
        findings
    )


# They cost n² on their samples; their null_bias, declared for 2,000 samples, holds with fewer.
OF_ALL_PAIRS = ("kde", "kkr")


@pytest.fixture
def few_seeds(monkeypatch):
    monkeypatch.setattr(harness.contract.estimators, "SEEDS", (6, 24))


SINGLE = [name for name in list_estimators() if not of_many_calls(name)]
WITHOUT_TREES = [name for name in SINGLE if name not in TREES]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * is_slow(name))
        for name in WITHOUT_TREES
        if not (is_slow(name) and matches(name, OF_HOURS))
    ],
)
def test_own_estimators_keep_the_contract(name, few_seeds, monkeypatch):
    if name in OF_ALL_PAIRS:
        monkeypatch.setattr(harness.contract.estimators, "NULL_N", 500)
    keeps_the_contract(name, name)


@pytest.mark.parametrize("name", list_estimators())
def test_scalar_estimators_refuse_vectors_in_one_sentence(name):
    """Also those with an interval, which the tests above leave out."""
    estimator = load_estimator(name)
    spec = EstimatorSpec.of(estimator)
    if "canonical" in spec.notions or spec.unavailable:
        return
    for case in harness.contract.estimators.cases(estimator):
        sentence = harness.contract.estimators.vectors_refused(case)
        assert f"p has shape ({len(case.p)}, 3)" in sentence and "harness.reduce(p, y, " in sentence


@pytest.mark.hours
@pytest.mark.parametrize("name", SINGLE)
def test_own_estimators_keep_the_contract_as_they_are(name):
    keeps_the_contract(name, name)


@dataclass(frozen=True)
class Light(Variational):
    """Variational estimator of canonical and binary error; both give its calibrator scalars."""

    notions = ("binary", "canonical")


light = Light()  # of the test that is running


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TREES if not matches(name, OF_HOURS)])
def test_own_estimators_of_few_trees_keep_the_contract(name, few_seeds, monkeypatch):
    own = load_estimator(name)
    fields = {f.name: getattr(own, f.name) for f in dataclasses.fields(own)}
    fields["calibrator"] = dataclasses.replace(own.calibrator, **few_trees(name))
    fields["folds"] = min(own.folds, 2)
    monkeypatch.setattr(sys.modules[__name__], "light", Light(**fields))
    keeps_the_contract(f"{__name__}.light", name)


def l1(p, y):
    """Plug-in L1 error on ten bins."""
    cell = np.minimum((p * 10).astype(int), 9)
    return float(np.abs(np.bincount(cell, p - y, minlength=10)).sum() / len(p))


def plain(p, y):
    """Binned L1 error as a bare function."""
    return l1(*checked_scalars(p, y))


def with_bins(p, y, bins=10):
    """Take a third argument that is no random stream."""
    assert bins == 10
    return plain(p, y)


def seeded(p, y, rng):
    """Add noise from the given stream."""
    return plain(p, y) + 0.01 * rng.random()


@dataclass(frozen=True)
class Bounds:
    """Return an upper bound, a lower bound and an interval."""

    margin: float = 0.05
    notions = ("binary", "top_label")
    estimands = ("l1", "l2", "l3")
    determinism = "rounding"

    def __call__(self, p, y, rng):
        middle = plain(p, y)
        low, high = middle - self.margin, middle + self.margin
        return {
            "l1": Estimate(high, high=high, level=0.9, kind="upper"),
            "l2": Estimate(low - 1.0, low=low - 1.0, level=0.9, kind="lower"),
            "l3": Estimate(middle, low, high, 0.9, "interval"),
        }


def few_are_undefined(p, y):
    """Raise UndefinedError on unusual data."""
    if len(p) < 10 or len(np.unique(p)) < 10:
        raise UndefinedError("too few distinct predictions")
    return plain(p, y)


instance = Bounds(0.01)


@pytest.mark.parametrize(
    "name", ["plain", "with_bins", "seeded", "Bounds", "instance", "few_are_undefined"]
)
def test_strangers_pass(name):
    findings = check(f"{__name__}.{name}")
    assert not [f for f in findings if f.outcome == "failed"], report(findings)


def first_half(p, y):
    """Use the first half only."""
    p, y = checked(p, y)
    half = (len(p) + 1) // 2
    return l1(p[:half], y[:half])


def ties_by_position(p, y):
    """Equal counts by position in the sorted sample, which separates ties."""
    p, y = checked(p, y)
    parts = np.array_split(np.argsort(p, kind="stable"), 10)
    return float(sum(abs((p[i] - y[i]).sum()) for i in parts) / len(p))


def random_first_half(p, y, rng):
    """Use the first half, with noise."""
    return first_half(p, y) + 1e-3 * rng.random()


def drops_one(p, y):
    """Bins [j/10, (j+1)/10), the last open too: p = 1 is in none."""
    p, y = checked(p, y)
    inside = p < 1
    return l1(p[inside], y[inside]) * inside.mean() if inside.any() else 0.0


def drops_zero(p, y):
    """p = 0 is in no bin."""
    p, y = checked(p, y)
    inside = p > 0
    return l1(p[inside], y[inside]) * inside.mean() if inside.any() else 0.0


def logarithm(p, y):
    """Crash on p of 0 and 1."""
    if (p == 1).any():
        raise FloatingPointError("divide by zero in log")
    return plain(p, y)


def modifies(p, y):
    """Centre p in place."""
    value = plain(p, y)
    p -= y
    return value


class ModifiesLabels:
    """Set the reduced labels to zero."""

    notions = ("top_label", "classwise")

    def __call__(self, p, y):
        value = plain(p, y)
        y *= 0
        return value


def global_noise(p, y):
    """Draw from numpy's global stream."""
    return plain(p, y) + 1e-3 * np.random.rand()


def reseeds(p, y):
    """Seed numpy's global stream."""
    np.random.seed(0)
    return plain(p, y)


def ignores_nan(p, y):
    """Leave NaN out."""
    return l1(p[~np.isnan(p)], y[~np.isnan(p)])


class TakesVectors:
    """Give a number for vectors, too."""

    notions = ("binary", "top_label")

    def __call__(self, p, y):
        p, y = checked(p, y)
        return l1(p, y) if p.ndim == 1 else 0.5


class CrashesOnVectors:
    """Leave vectors to numpy."""

    notions = ("classwise",)

    def __call__(self, p, y):
        checked(p, y)
        return l1(p, y)


class ReturnsColumns:
    """Give vectors an array of numbers, which the harness refuses instead of the estimator."""

    notions = ("binary",)

    def __call__(self, p, y):
        p, y = checked(p, y)
        return l1(p, y) if p.ndim == 1 else p.mean(axis=0)


def crashes_alone(p, y):
    """Need a variance."""
    return plain(p, y) + 0.0 * (1 // (len(p) - 1))


def crashes_on_three(p, y):
    """Fail on three distinct values."""
    return plain(p, y) + 0.0 * (1 // (len(np.unique(p)) - 3))


def crashes_on_seven(p, y):
    """Fail with seven samples."""
    return plain(p, y) + 0.0 * (1 // (len(p) - 7))


def crashes_on_constant(p, y):
    """Fail on equal values."""
    return plain(p, y) + 0.0 * (1 // (len(np.unique(p)) - 1 or len(p) == 1))


crashes_on_constant.notions = ("binary",)


def crashes_on_one_class(p, y):
    """Fail if no outcome is 1 and p varies."""
    if len(p) > 40 and not y.any():
        raise IndexError("index 1 is out of bounds")
    return plain(p, y)


class ExactAndRandom:
    """Declare determinism, but use another stream."""

    determinism = "exact"

    def __call__(self, p, y):
        return plain(p, y) + 1e-6 * np.random.default_rng().random()


class ExactAndSeeded:
    """Declare determinism, but depend on the seed."""

    determinism = "exact"

    def __call__(self, p, y, rng):
        return plain(p, y) + 1e-6 * rng.random()


class Rounds(ExactAndRandom):
    """Differs by rounding."""

    determinism = "rounding"

    def __call__(self, p, y):
        return plain(p, y) + 1e-12 * np.random.default_rng().random()


def biased(p, y):
    """Too high."""
    return plain(p, y) + 0.2


def biased_low(p, y):
    """Too low on all but the worst data."""
    value = plain(p, y)
    return value if value > 0.8 else value - 0.2


def biased_lower(p, y):
    """A lower bound that is too high."""
    value = plain(p, y) + 0.2
    return Estimate(value, low=value, kind="lower")


biased_lower.notions = ("binary",)


def unknown(p, y):
    """Return an ambiguous name."""
    return {"ece": plain(p, y)}


def other_notion(p, y):
    """Return an estimand of vectors."""
    return {"top_class_l1": plain(p, y)}


def not_finite(p, y):
    """Return no number."""
    return plain(p, y) * np.nan


def no_bound(p, y):
    """An upper bound without `high`."""
    return Estimate(plain(p, y), kind="upper")


def upper_is_not_value(p, y):
    """An upper bound that differs from its value."""
    value = plain(p, y)
    return Estimate(value, high=value + 1, kind="upper")


def turned_round(p, y):
    """Return low above high."""
    value = plain(p, y)
    return Estimate(value, value + 1, value - 1, kind="interval")


def undocumented(p, y):
    return plain(p, y)


@dataclass(frozen=True)
class UndocumentedDataclass:
    bins: int = 10

    def __call__(self, p, y):
        return plain(p, y)


class FirstClass:
    """Judge class 0 only."""

    notions = ("canonical",)

    def __call__(self, p, y):
        p, y = checked(p, y)
        return l1(p[:, 0], y == 0)


class MoreThanDeclared:
    """Return an undeclared estimand."""

    estimands = ("l2_squared",)

    def __call__(self, p, y):
        return plain(p, y)


class UnknownNotion(Bounds):
    """Declare an unknown notion."""

    notions = ("binary", "marginal")


class UnknownDeterminism(Bounds):
    """Return an estimand for some data only."""

    determinism = "sometimes"


def test_a_check_names_the_remedy_for_ties_and_the_cost():
    findings = {f.item: f for f in check(f"{__name__}.ties_by_position")}
    assert "np.unique" in findings["sample order"].detail
    assert "of CPU and" in findings["cost"].detail and findings["cost"].outcome == "ok"


BROKEN = {
    "first_half": "sample order",
    "ties_by_position": "sample order",
    "random_first_half": "sample order",
    "drops_one": "p of 0 and 1",
    "drops_zero": "p of 0 and 1",
    "logarithm": "p of 0 and 1",
    "modifies": "input not modified",
    "ModifiesLabels": "input not modified",
    "global_noise": "determinism",
    "reseeds": "determinism",
    "ignores_nan": "NaN refused",
    "TakesVectors": "vectors refused",
    "CrashesOnVectors": "vectors refused",
    "ReturnsColumns": "vectors refused",
    "crashes_alone": "one sample",
    "crashes_on_three": "ties",
    "crashes_on_seven": "fewer samples than bins",
    "crashes_on_constant": "constant p",
    "crashes_on_one_class": "unseen class",
    "ExactAndRandom": "determinism",
    "ExactAndSeeded": "determinism",
    "biased": "near zero if calibrated",
    "biased_low": "near zero if calibrated",
    "biased_lower": "near zero if calibrated",
    "unknown": "returns numbers",
    "other_notion": "returns numbers",
    "undocumented": "docstring",
    "UndocumentedDataclass": "docstring",
    "FirstClass": "class relabelling",
    "MoreThanDeclared": "declared properties",
    "UnknownNotion": "declared properties",
    "UnknownDeterminism": "declared properties",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_is_caught_by_its_item(name):
    findings = check(f"{__name__}.{name}")
    assert {f.item for f in findings if f.outcome == "failed"} == {BROKEN[name]}, report(findings)


@pytest.mark.parametrize("name", ["no_bound", "upper_is_not_value", "turned_round"])
def test_malformed_bounds_fail_wherever_they_are_returned(name):
    failed = {f.item: f.detail for f in check(f"{__name__}.{name}") if f.outcome == "failed"}
    assert "BadInputError: l1" in failed["returns numbers"] and "one sample" in failed


def test_every_item_is_failed_by_somebody():
    """The cost alone is no demand: it is measured, and fails where every call fails."""
    assert set(BROKEN.values()) == set(ITEMS) - {"cost"}


def test_not_finite_on_ordinary_data_fails():
    assert "returns numbers" in outcomes(f"{__name__}.not_finite")


def test_rounding_allows_less_than_statistical_noise():
    assert outcomes(f"{__name__}.Rounds") == set()


def crashes(p, y):
    """Always fail."""
    raise KeyError("a\nb")


def test_crashes_are_findings_that_name_type_message_and_notion():
    findings = {f.item: f for f in check(f"{__name__}.crashes")}
    assert set(findings) == set(ITEMS)
    assert findings["ties"].outcome == "failed"
    assert findings["ties"].detail.startswith(r"binary, top_label, classwise: KeyError: 'a\nb' (")
    assert (
        "test_check.py, line " in findings["ties"].detail
        and 'in crashes: raise KeyError("a' in findings["ties"].detail
    )
    assert findings["docstring"].outcome == "ok"


class TopLabelOnly:
    """Fail under one of its notions."""

    notions = ("binary", "top_label")
    wants = ("notion",)

    def __call__(self, p, y, rng, notion):
        return plain(p, y) + (0.2 if notion == "top_label" else 0.0)


def test_detail_names_the_notion_at_fault():
    (finding,) = (f for f in check(f"{__name__}.TopLabelOnly") if f.outcome == "failed")
    assert finding.item == "near zero if calibrated"
    assert finding.detail.startswith("top_label: mean l1 is 0.2") and "binary" not in finding.detail


class Small:
    """Accept at most fifty samples and two classes."""

    notions = ("binary", "top_label", "classwise", "canonical")
    max_n = 50
    max_classes = 2
    null_bias = 0.4

    def __call__(self, p, y):
        p, y = checked(p, y)
        if len(p) > 50 or p.ndim > 1 and p.shape[1] > 2:
            raise MemoryError
        return l1(p, y) if p.ndim == 1 else 2 * l1(p[:, 1], y)


def test_limits_are_kept():
    assert outcomes(f"{__name__}.Small") == set()


def squared(p, y):
    """Return only scores that are not near zero."""
    p, y = checked_scalars(p, y)
    return {"brier": float(((p - y) ** 2).mean())}


squared.notions = ("binary",)


def test_what_does_not_apply():
    assert outcomes(f"{__name__}.squared", "not applicable") == {
        "class relabelling",
        "near zero if calibrated",
    }
    assert outcomes(f"{__name__}.Bounds", "not applicable") == set()
    assert outcomes(f"{__name__}.upper", "not applicable") == {
        "class relabelling",
        "near zero if calibrated",
    }


def upper(p, y):
    """The trivial upper bound."""
    plain(p, y)
    return Estimate(1.0, high=1.0, kind="upper")


upper.notions = ("binary",)


def test_noise_within_its_error_is_no_bias():
    """A mean beyond null_bias, within three standard errors, passes after all repetitions."""
    Noisy.calls = 0
    assert outcomes(f"{__name__}.Noisy") == set()
    assert Noisy.calls == NULL_REPS[-1]


class Noisy:
    """Unbiased and very noisy."""

    null_bias = 1e-3
    notions = ("binary",)
    calls = 0

    def __call__(self, p, y, rng):
        Noisy.calls += len(p) == 2000
        value = plain(p, y)
        return 1.0 if value > 0.8 else rng.normal(scale=0.1)


def test_global_generators_are_left_alone():
    np.random.seed(5)
    before = np.random.get_state()[1].tobytes()
    check(f"{__name__}.reseeds")
    assert np.random.get_state()[1].tobytes() == before


def test_a_check_says_the_same_twice():
    """All but the times of the item cost."""
    first, again = (
        [f if f.item != "cost" else f.outcome for f in check(f"{__name__}.seeded")]
        for _ in range(2)
    )
    assert first == again


class NeedsMore:
    """A parameter without a default."""

    def __init__(self, bins):
        self.bins = bins


class Refuses:
    """Raise when it is made."""

    def __init__(self):
        raise OSError("no licence")


a_number = 3.0


@pytest.mark.parametrize(
    "target",
    [
        "binned16",
        "no_such_module.Mine",
        f"{__name__}.nobody",
        f"{__name__}.NeedsMore",
        f"{__name__}.Refuses",
        f"{__name__}.a_number",
    ],
)
def test_what_cannot_be_made_is_bad_input(target):
    with pytest.raises(BadInputError, match=target.rpartition(".")[2]):
        check(target)


def test_report_is_aligned():
    lines = report(
        [
            Finding("ties", "ok", "a value"),
            Finding("one sample", "failed", "binary: x"),
            Finding("z", "not applicable", "y"),
        ]
    )
    assert lines.splitlines() == [
        "ok              ties        a value",
        "FAILED          one sample  binary: x",
        "not applicable  z           y",
    ]


def test_takes_rng():
    assert not takes_rng(plain) and not takes_rng(with_bins) and not takes_rng(Small())
    assert takes_rng(seeded) and takes_rng(Bounds()) and takes_rng(lambda p, y, rng=None: 0.0)
    assert takes_rng(lambda *given: 0.0) and not takes_rng(len)
    fields = [
        dataclasses.make_dataclass("Own", names) for names in (["x"], ["x", "y", "rng"], ["x"])
    ]
    assert [takes_rng(one) for one in fields] == [
        False,
        True,
        False,
    ]  # a class for its instance: each has fields of its own


def test_command_line(cli, module, monkeypatch):
    module("mine_for_check", 'def mine(p, y):\n    "Nothing."\n    return 0.7\n')
    code, text, _ = cli("check", "mine_for_check.mine")
    failed = [line for line in text.splitlines() if line.startswith("FAILED")]
    assert (
        code == 1
        and any("near zero" in line for line in failed)
        and any("NaN" in line for line in failed)
    )
    assert cli("check", "binned15")[0] == 0
    assert cli("check", "binned16")[0] == 2


@pytest.mark.parametrize(
    "code, reason",
    [
        ("ctypes.string_at(0)", r"crashed its process \(SIGSEGV: a crash in native code\)"),
        ("os._exit(0)", "ended its process with exit status 0"),
    ],
)
def test_a_crash_ends_the_check_in_one_sentence(cli, module, code, reason):
    module("crashes_in_check", f"import ctypes, os\ndef mine(p, y):\n    {code}\n")
    status, text, err = cli("check", "crashes_in_check.mine")
    assert status == 1 and text == ""
    message = f"calharness: crashes_in_check.mine cannot be checked, because it {reason}.\n"
    assert re.fullmatch(message, err)


def test_an_estimator_that_calls_sys_exit_fails_its_items(cli, module):
    module("exits_in_check", "import sys\ndef mine(p, y):\n    sys.exit(0)\n")
    status, text, err = cli("check", "exits_in_check.mine")
    assert status == 1 and "SystemExit: 0" in text and not err


def test_an_estimator_that_raises_an_interruption_fails_its_items(cli, module):
    module("interrupts_in_check", "def mine(p, y):\n    raise KeyboardInterrupt\n")
    status, text, err = cli("check", "interrupts_in_check.mine")
    assert status == 1 and "KeyboardInterrupt" in text and not err


def test_a_module_that_raises_an_interruption_when_it_is_imported_is_named(cli, module):
    module("stops_in_check", "raise KeyboardInterrupt\n")
    status, text, err = cli("check", "stops_in_check.mine")
    assert status == 2 and text == "" and "Traceback" not in err
    assert "'stops_in_check'" in err
