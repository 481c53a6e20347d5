"""Each YAML file composes and builds; each mistake is one sentence."""

import dataclasses
import os
import sys

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
from harness.plan.components import build, build_component
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


@pytest.mark.parametrize("name", [*(n for n in list_experiments() if n not in SLOW), *slow(*SLOW)])
def test_experiment_composes_and_plans(name):
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


def test_a_key_depends_on_the_content_alone():
    """The key depends on class, parameters, revision and id. A default may be written out."""
    plain = {"_target_": "harness.estimators.Binned", "bins": 15}
    spelt = {"_target_": "harness.estimators.binned.Binned", "bins": 15, "rule": "width"}
    assert (
        build_component("estimator", "a", plain).key == build_component("estimator", "a", spelt).key
    )
    assert (
        build_component("estimator", "b", plain).key != build_component("estimator", "a", plain).key
    )
    assert (
        build_component("estimator", "a", {**plain, "bins": 16}).key
        != build_component("estimator", "a", plain).key
    )


def test_the_key_of_user_code_depends_on_its_source(module):
    module("changing", "def f(p, y):\n    return 0.0\n")
    before = build_component("estimator", "f", {"_target_": "changing.f"}).key
    module("changing", "def f(p, y):\n    return 0.25\n")
    del sys.modules["changing"]  # as a restart would
    assert build_component("estimator", "f", {"_target_": "changing.f"}).key != before


def test_a_renamed_component_keeps_its_key(tmp_path, monkeypatch):
    """The key before counts for its records, its random stream, and the streams of its wrappers."""
    from harness.plan import components

    plain = {"_target_": "harness.estimators.Binned", "bins": 9}
    wrapped = {"_target_": "harness.estimators.Bootstrap", "estimator": plain, "resamples": 50}
    now = build_component("estimator", "a", plain)
    table = tmp_path / "keys.csv"
    rows = [f"estimator,{now.key},0123456789abcdef", f"problem,{now.key},ffffffffffffffff"]
    table.write_text("\n".join(["group,now,before", *rows, ""]))
    monkeypatch.setattr(components, "KEYS", table)
    renamed = build_component("estimator", "a", plain)
    assert renamed.key == renamed.stream == "0123456789abcdef"
    assert renamed.parameters == now.parameters
    assert build_component("estimator", "a", wrapped).stream == renamed.stream
    assert build_component("estimator", "b", plain).key not in (now.key, renamed.key)


def test_the_table_of_earlier_keys():
    """Each key has one key before."""
    from harness.common.paths import KEYS
    from harness.plan.components import former_keys

    known = former_keys(KEYS)
    lines = KEYS.read_text().splitlines()
    assert lines[0] == "group,now,before" and len(lines) == 1 + len(known)
    assert all(len(key) == 16 for (_, now), before in known.items() for key in (now, before))


# keys of version 0.1, where the components had another class, other fields or another id
KEYS_BEFORE = {
    ("estimator", "variational_catboost_ws_berta2026"): "a237a4e368eaf743",
    ("problem", "score_sine"): "81f79c173cbbfaba",
    ("problem", "simplex5_gruber2025"): "4d759f728ab7ffc5",
    ("problem", "beta_wavy_legacy"): "1aa5089700a121d7",
    ("estimator", "binned15"): "ddab95c91f275a6f",
}


@pytest.mark.parametrize(("group", "name"), KEYS_BEFORE)
def test_keys_and_streams_of_the_first_version_stand(group, name):
    settings = compose(
        [f"{group}={name}", *(["problem=beta_wavy"] if group == "estimator" else [])]
    )
    component = build_component(group, name, settings.chosen(group)[name])
    assert component.key == component.stream == KEYS_BEFORE[group, name]
