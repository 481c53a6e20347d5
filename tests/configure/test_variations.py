"""Variations: how they differ from their experiment, and what they are called."""

import re

import pytest

from harness.configure import variations
from harness.configure.compose import compose
from harness.workflow.experiment import Experiment

FIG1 = ("experiment=berta2026_fig1", "jobs=1")
SMALL = (*FIG1, "n=[200]", "reps=2")


def test_the_experiment_as_configured_is_no_variation():
    experiment = Experiment.of(
        [*FIG1, "engine=serial", "reps=40"]
    )  # 40 is what it has; jobs and engine change nothing
    assert (
        not experiment.identity.is_variation
        and experiment.identity.stem == "fig1"
        and experiment.identity.folder.name == "berta2026"
    )


@pytest.mark.parametrize("name", ["smoke", "arena", "berta2026_fig1"])
def test_options_of_operation_need_no_second_composition(name):
    settings = compose([f"experiment={name}", "jobs=1", "out=elsewhere", "refresh=true"])
    again = variations.as_configured(name)
    assert settings.is_as_configured and variations.differences(settings, again) == {}
    assert variations.configured(settings) is settings


@pytest.mark.parametrize(
    "changed", ["n=[200]", "+estimator=kde", "estimator=[binned15]", "reps=40"]
)
def test_any_other_option_is_compared_with_the_file_of_the_experiment(changed):
    settings = compose(["experiment=smoke", changed])
    assert not settings.is_as_configured
    assert variations.configured(settings) == variations.as_configured("smoke")


@pytest.mark.parametrize(
    "changed",
    [
        ["n=[200]"],
        ["reps=2"],
        ["seed=1"],
        ["name=mine"],
        ["title=Other"],
        ["figure.dpi=100"],
        ["estimator=[binned15]"],
        ["estimator.binned15_mass.bins=7"],
        ["problem=[beta_wavy]"],
        ["estimand=l2_squared"],
    ],
    ids=lambda c: c[0],
)
def test_anything_else_is_one(changed):
    experiment = Experiment.of([*FIG1, *changed])
    assert (
        experiment.identity.is_variation and experiment.identity.folder.parent.name == "variations"
    )
    assert re.fullmatch(
        "mine" if changed == ["name=mine"] else r"berta2026_fig1-[0-9a-f]{8}",
        experiment.identity.stem,
    )


def test_each_variation_has_a_folder_of_its_own():
    names = [
        Experiment.of([*FIG1, *more]).identity.stem
        for more in (["seed=1"], ["seed=2"], ["reps=2"], ["seed=1", "jobs=2"])
    ]
    assert names[0] == names[3] and len(set(names)) == 3


@pytest.mark.parametrize(
    ("changed", "title"),
    [
        ([], None),
        (
            ["reps=3", "problem=[beta_wavy]"],
            "A variation of berta2026_fig1: problem=[beta_wavy], reps=3",
        ),
        (["title=Mine", "reps=3"], "Mine. A variation of berta2026_fig1: reps=3"),
        (["name=mine"], "A variation of berta2026_fig1"),
        (["sweep.seed=[1,2]"], "berta2026_fig1 swept over seed"),
        (["sweep.seed=[1,2]", "reps=3"], "A variation of berta2026_fig1 swept over seed: reps=3"),
        (
            ["estimator.binned15_mass.bins=7"],
            "A variation of berta2026_fig1: estimator.binned15_mass.bins=7",
        ),
    ],
)
def test_a_title_says_what_was_changed(changed, title):
    experiment = Experiment.of([*FIG1, *changed])
    assert experiment.identity.title == (title or experiment.settings.title)


def test_differences_name_paths_and_both_values():
    settings = compose(
        ["experiment=smoke", "reps=9", "estimator.binned15.bins=3", "problem=[beta_calibrated]"]
    )
    differs = variations.differences(settings, variations.as_configured(settings.experiment))
    assert differs["reps"] == (3, 9) and differs["estimator.binned15.bins"] == (15, 3)
    assert differs["problem.beta_overconfident"][1] is None and "jobs" not in differs
    assert variations.changed_components(differs, "estimator") == {"binned15"}
    assert not variations.changed_components(differs, "problem")
