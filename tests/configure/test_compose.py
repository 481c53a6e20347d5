"""Each YAML file composes and builds; each mistake is one sentence."""

import dataclasses
import os

import frozen
import pytest
from slow_params import slow

from harness import (
    BadInputError,
    list_estimators,
    list_experiments,
    list_problems,
    load_estimator,
    load_problem,
)
from harness.common.paths import CONF
from harness.configure.compose import compose, expand_globs
from harness.configure.record_sources import without_cells
from harness.plan.components import build
from harness.plan.plan import plan

PROMISED_PROBLEMS = """
beta_calibrated beta_overconfident beta_shifted beta_overconfident_centred
beta_underconfident_centred beta_mixed beta_underconfident beta_wavy
dirichlet3_calibrated dirichlet3_overconfident dirichlet3_underconfident dirichlet3_harmonic
dirichlet10_calibrated dirichlet10_overconfident dirichlet10_underconfident dirichlet10_harmonic
predictions""".split()
PROMISED_ESTIMATORS = "binned15 binned15_mass kmeans15 debiased15 oracle".split() + [
    f"variational_{calibrator}{end}"
    for calibrator in ("isotonic", "temperature", "nadaraya_watson", "partition")
    for end in ("", "_insample")
]


def test_promised_ids_exist():
    assert set(PROMISED_PROBLEMS) <= set(list_problems())
    assert set(PROMISED_ESTIMATORS) <= set(list_estimators())
    assert {
        "berta2026_fig1",
        "berta2026_fig1_legacy",
        "berta2026_fig3_legacy",
        "smoke",
        "arena",
    } <= set(list_experiments())


@pytest.mark.parametrize("name", list_problems())
def test_problem_builds(name):
    assert dataclasses.is_dataclass(load_problem(name))


@pytest.mark.parametrize("name", list_estimators())
def test_estimator_builds_and_is_declared(name):
    component = load_estimator(name)
    assert callable(component) and component.notions and component.estimands
    assert component.determinism in ("exact", "rounding", "statistical")
    assert type(component).__doc__ and not type(component).__doc__.startswith(
        f"{type(component).__name__}("
    )


@pytest.mark.parametrize("group", ["problem", "estimator"])
def test_files_are_keyed_by_their_id(group):
    from omegaconf import OmegaConf

    for path in (CONF / group).glob("*.yaml"):
        assert list(OmegaConf.load(path)) == [path.stem]


# Variants of an experiment differ from it in a few lines. Each other one takes a second.
SLOW = [
    n
    for n in list_experiments()
    if "_legacy" in n or "_offline" in n or n in ("arena", "ciosek2026_perturbation")
]


FROZEN = {row["experiment"]: row for row in frozen.read("experiments")}


@pytest.mark.parametrize("name", [*(n for n in list_experiments() if n not in SLOW), *slow(*SLOW)])
def test_experiment_composes_and_plans_cells_with_the_keys_of_before(name):
    settings = compose([f"experiment={name}"])
    assert settings.name == name
    if name == "cifar10" and not os.environ.get("CALHARNESS_DATA"):
        pytest.skip("CALHARNESS_DATA is not set")
    try:
        planned = plan(settings)
    except BadInputError as reason:
        assert name.startswith("berta2026_table1") and "calharness data" in str(reason)
        pytest.skip(str(reason))
    assert planned.cells or without_cells(settings)
    assert len({c.key for c in planned.cells}) == len(planned.cells)
    row = frozen.experiment_row(name, planned)
    if row and name in FROZEN:  # others are new, or their files were absent then
        assert {key: str(value) for key, value in row.items()} == FROZEN[name]


def test_overrides_of_an_experiment_win():
    settings = compose(
        ["experiment=smoke", "problem=[beta_wavy]", "n=[7]", "estimator.binned15.bins=99"]
    )
    assert list(settings.problem) == ["beta_wavy"] and settings.n == [7]
    assert build("estimator", "binned15", settings.estimator["binned15"]).bins == 99


def test_python_overrides():
    assert load_estimator("binned15", bins=3).bins == 3
    assert load_problem("beta_overconfident", a=2.0).a == 2.0


@pytest.mark.slow
def test_globs_expand_without_a_sweep():
    (chosen,) = expand_globs(["estimator=glob(variational_*_insample)"])
    insample = [
        name
        for name in list_estimators()
        if name.startswith("variational_") and name.endswith("_insample")
    ]
    assert chosen == f"estimator=[{','.join(insample)}]"
    assert expand_globs(["estimator=[oracle,glob(binned15_m*)]"]) == [
        "estimator=[oracle,binned15_mass]"
    ]
    assert set(compose(["problem=beta_wavy", "estimator=glob(*)"]).estimator) == set(
        list_estimators()
    )


def test_parameters_of_estimators_that_are_left_out_are_dropped():
    """The experiment sets the variation of tv_kfold, tv_insample and bv_window."""
    words = ["experiment=ciosek2026_convergence", "estimator=[tv_kfold,lip_bkt]"]
    settings = compose(words)
    assert sorted(settings.estimator) == ["lip_bkt", "tv_kfold"]
    assert settings.estimator["tv_kfold"]["variation"] is None
    with pytest.raises(BadInputError, match="bv_window has parameters on the command line"):
        compose([*words, "estimator.bv_window.variation=3"])
