"""Settings: the options of conf/config.yaml with their types, allowed values and roles."""

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from harness.configure import record_sources, rules, sweeps, variations
from harness.configure.catalogue import defaults, setting_names
from harness.configure.compose import compose
from harness.configure.figure import Figure, Labels
from harness.configure.rules import Role, Rule
from harness.configure.settings import OPERATIONAL, OPTIONS, Settings
from harness.errors import BadInputError


def test_the_class_and_the_file_have_the_same_options():
    assert set(OPTIONS) == set(setting_names())
    assert set(rules.option_names(Figure, *Role)) == set(defaults()["figure"])
    assert {field.name for field in fields(Labels)} == set(defaults()["labels"])


def test_the_defaults_of_the_file_are_allowed_and_come_back():
    values = Settings.from_dict({}).to_dict()
    new = {name: None for name in ("y", "yscale")}  # left out while they are null
    assert {name: values[name] for name in defaults()} | {
        "figure": values["figure"] | new
    } == defaults()


@pytest.mark.parametrize(
    "name", ["smoke", "arena", "ranking_dirichlet10", "moskvichev2025_fig3_offline"]
)
def test_settings_survive_the_way_through_a_dictionary(name):
    settings = compose([f"experiment={name}"])
    assert Settings.from_dict(settings.to_dict()) == settings


def test_what_a_run_finds_out_is_no_option():
    shown = replace(Settings.from_dict({}), files=[("a", 5)], subsets=[("a", 5)])
    assert shown.to_dict() == Settings.from_dict({}).to_dict()


def test_settings_cannot_be_assigned():
    with pytest.raises(FrozenInstanceError):
        Settings.from_dict({}).n = 5


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("n", value) for value in (0, [], [1.5], "many", True, [True], [[5]])),
        *(("reps", value) for value in (0, -1, [], [-1], [True], 1.5, "a")),
        *(("notion", value) for value in ("strong", [], ["binary", "strong"], 3)),
        *(("seed", value) for value in (-1, 2**63, 0.5, True, None)),
        *(("jobs", value) for value in (0, 1.5, None, True)),
        *(("engine", value) for value in ("threads", None, ["loky"])),
        *(
            (name, value)
            for name in ("cell_timeout", "max_memory")
            for value in (0, -1, "a", True, float("nan"), float("inf"))
        ),
        *(("bootstrap", value) for value in (5, -1, 1.5, True)),
        *(("name", value) for value in ("a/b", "", ".hidden", "records", 3)),
        *(("compare", value) for value in (3, [3], "fig1")),
        *(("records_of", value) for value in ("smoke", [3], None)),
        *(
            ("records_from", value)
            for value in ("a", ["a"], [{"file": "a"}], [{"file": 3, "reader": "a.b"}])
        ),
        *(
            (name, value)
            for name in ("refresh", "profile", "same_draws_as_paper")
            for value in (1, "yes", None)
        ),
        ("on_error", "stop"),
        ("reliability", "classwise"),
        ("shards", 0),
        ("shard", 1),
        ("title", ["a"]),
        ("sweep", 3),
        ("trust", "os"),
        ("estimand", "ece"),
        ("address", "head:1"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(name, wrong):
    with pytest.raises(BadInputError, match=f"^{name} "):
        Settings.from_dict({name: wrong})


@pytest.mark.parametrize("name", ["cell_timeout", "max_memory"])
def test_limits_need_a_process_of_their_own(name):
    assert getattr(Settings.from_dict({name: 5}), name) == 5
    with pytest.raises(BadInputError, match=f"^{name} is given with engine=serial"):
        Settings.from_dict({name: 5, "engine": "serial"})


def test_lists_of_options_follow_from_the_roles():
    """Each option has one role, from which the lists follow."""
    by_role = {role: set(rules.option_names(Settings, role)) for role in Role}
    assert sum(map(len, by_role.values())) == len(OPTIONS) and set().union(
        *by_role.values()
    ) == set(OPTIONS)
    assert by_role[Role.CELLS] == {"n", "reps", "notion", "seed", "bootstrap"}
    assert set(sweeps.SWEPT) == {"seed", "bootstrap"} and {"n", "problem", "estimator"}.isdisjoint(
        sweeps.FIXED
    )
    assert {"out", "jobs", "engine", "trust", "experiment"} <= set(OPERATIONAL)
    assert set(variations.SAME_QUANTITIES) == {
        "n",
        "reps",
        "seed",
        "name",
        "title",
        "figure",
        "reliability",
        "estimand",
    }


def test_options_of_cells_are_idle_in_a_run_without_cells():
    with pytest.raises(BadInputError, match="^seed, bootstrap would have no effect"):
        record_sources.check(
            Settings.from_dict({"records_of": ["smoke"], "seed": 1, "bootstrap": 20})
        )


def test_a_rule_says_name_value_and_what_is_allowed():
    with pytest.raises(BadInputError, match="^x is 3; allowed are a, b.$"):
        rules.choice("a", "b").check("x", 3)
    Rule("anything", lambda value: True).check("x", None)
