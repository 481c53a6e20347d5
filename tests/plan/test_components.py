"""Keys and random streams of components."""

import sys

import pytest

from harness.configure.compose import compose
from harness.plan.components import build_component

# keys of version 0.1, where the components had another class, other fields or another id
KEYS_BEFORE = {
    ("estimator", "variational_catboost_ws_berta2026"): "a237a4e368eaf743",
    ("problem", "score_sine"): "81f79c173cbbfaba",
    ("problem", "simplex5_gruber2025"): "4d759f728ab7ffc5",
    ("problem", "beta_wavy_legacy"): "1aa5089700a121d7",
    ("estimator", "binned15"): "ddab95c91f275a6f",
}


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


@pytest.mark.parametrize(("group", "name"), KEYS_BEFORE)
def test_keys_and_streams_of_the_first_version_stand(group, name):
    settings = compose(
        [f"{group}={name}", *(["problem=beta_wavy"] if group == "estimator" else [])]
    )
    component = build_component(group, name, settings.chosen(group)[name])
    assert component.key == component.stream == KEYS_BEFORE[group, name]
