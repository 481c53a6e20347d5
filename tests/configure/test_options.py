"""Tables of conf/: ids, configurations and descriptions, used by Hydra like files."""

from types import SimpleNamespace

import pytest

from harness import BadInputError, list_experiments, load_problem
from harness.commands import completion
from harness.configure import options
from harness.configure.compose import compose

TABLE = """
- each:
    size: {2: {low: [0.5]}, 3: {low: [0.1, 0.2]}}
    shape: {flat: {form: {_target_: a.Flat}, about: It is flat}, "true": {form: {_target_: a.True}}}
  meaning: {name: what it is called}
  make:
    box${size}_$shape: {_target_: a.Box, size: $size, low: $low, form: $form,
      name: "a $shape box of ${size}", width: 1e-3}
    box${size}_${shape}_old: {about: "$shape, as before", _target_: a.Old, box: [$form]}
- packs: group_b
  make:
    $pack: {_target_: a.File, path: $path}
"""
PACKS = """
one: {group: group_a, path: a/1.npz}
two: {group: group_b, path: b/2.npz}
three: {group: group_b, path: b/3.npz}
"""


def _completed(word):
    """Return the completions of a word."""
    completions = completion.overrides(SimpleNamespace(params={}), word)
    return [text for text in completions if text.startswith(word)]


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """A configuration folder with one file and one table of problems."""
    (tmp_path / "problem" / "tables").mkdir(parents=True)
    (tmp_path / "problem" / "tables" / "boxes.yaml").write_text(TABLE)
    (tmp_path / "problem" / "plain.yaml").write_text(
        "# A file.\nplain:\n  _target_: a.Plain\n  size: 3  # how large\n"
    )
    (tmp_path / "packs.yaml").write_text(PACKS)
    monkeypatch.setattr(options, "CONF", tmp_path)
    monkeypatch.setattr(options, "PACKS", tmp_path / "packs.yaml")
    for cached in (options._files, options.table_options):
        cached.cache_clear()
    yield tmp_path
    for cached in (options._files, options.table_options):
        cached.cache_clear()


def test_a_table_makes_the_product_of_its_axes(conf):
    boxes = [
        f"box{size}_{shape}{old}"
        for size in "23"
        for shape in ("flat", "true")
        for old in ("", "_old")
    ]
    assert options.ids("problem") == sorted([*boxes, "plain", "two", "three"])
    box = options.option("problem", "box3_true")
    assert box.config == {
        "_target_": "a.Box",
        "size": 3,
        "low": [0.1, 0.2],
        "form": {"_target_": "a.True"},
        "name": "a true box of 3",
        "width": 0.001,
    }
    assert box.meaning == {"name": "what it is called"} and box.about == ""
    assert options.option("problem", "two").config == {"_target_": "a.File", "path": "b/2.npz"}


def test_what_an_option_is_comes_from_its_template_or_its_row_or_its_file(conf):
    assert options.option("problem", "box2_flat").about == "It is flat"
    assert options.option("problem", "box2_flat_old").about == "flat, as before"
    plain = options.option("problem", "plain")
    assert (
        plain.about == "A file."
        and plain.meaning == {"size": "how large"}
        and plain.config["size"] == 3
    )
    assert options.text("problem", "box2_flat_old").splitlines() == [
        "# defined by conf/problem/tables/boxes.yaml: flat, as before",
        "box2_flat_old:",
        "  _target_: a.Old",
        "  box: [{_target_: a.Flat}]",
    ]


@pytest.mark.parametrize("twice", ["plain", "box2_flat"])
def test_an_id_is_given_once(conf, twice):
    (conf / "problem" / "tables" / "more.yaml").write_text(
        f"- make:\n    {twice}: {{_target_: a.B}}\n"
    )
    options.table_options.cache_clear()
    with pytest.raises(BadInputError, match=f"more.yaml defines the problem '{twice}'"):
        options.ids("problem")


def test_options_of_tables_and_files_are_chosen_together():
    settings = compose(
        [
            "problem=[score_sine,predictions]",
            "estimator=[variational_isotonic,binned15]",
            "estimator.variational_isotonic.calibrator._target_=m.Mine",
            "problem.score_sine.map.amplitude=0.3",
            "+estimator.variational_isotonic.folds=2",
        ]
    )
    assert list(settings.estimator) == ["variational_isotonic", "binned15"]
    assert settings.estimator["variational_isotonic"] == {
        "_target_": options.option("estimator", "variational_isotonic").config["_target_"],
        "calibrator": {"_target_": "m.Mine"},
        "folds": 2,
    }
    assert settings.problem["score_sine"]["map"]["amplitude"] == 0.3
    assert (
        options.option("problem", "score_sine").config["map"]["amplitude"] == 0.1
    )  # the table is as it was


@pytest.mark.parametrize("group", options.GROUPS)
def test_hydra_lists_what_the_tables_make(group):
    """Hydra expands globs over all options of a group. Tables and bases are not options."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.object_type import ObjectType

    from harness.common.paths import CONF
    from harness.configure.hydra_source import Tables, register

    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        assert GlobalHydra.instance().config_loader().get_group_options(group) == options.ids(group)
    source = Tables("test", "calharness://tables")
    assert (
        source.list(group, ObjectType.CONFIG) == sorted(options.table_options(group))
        and source.list(group, ObjectType.GROUP) == []
    )
    assert (
        source.is_group(group)
        and not source.is_group(f"{group}/tables")
        and not source.is_config(group)
    )
    assert all(source.is_config(f"{group}/{name}") for name in options.table_options(group))
    assert not source.is_config(f"{group}/tables/beta")


def test_bases_and_tables_are_no_ids():
    assert not {"base", "tables"} & {
        *options.ids("problem"),
        *options.ids("estimator"),
        *options.ids("experiment"),
    }
    with pytest.raises(BadInputError, match="there is no experiment 'ablation'"):
        compose(["experiment=ablation"])


@pytest.mark.parametrize("name", [name for name in list_experiments() if "offline" not in name])
def test_an_experiment_is_read_with_what_it_inherits(name):
    """Lists read YAML without Hydra: paper and ids are inherited."""
    read = options.option("experiment", name)
    assert read.about and read.config["name"] == name
    assert name.startswith(read.config.get("paper", ""))
    assert "paper" in read.config or not read.config.get("compare")
    defaults = read.config.get("defaults", [])
    chosen = {key: ids for entry in defaults for key, ids in entry.items()}
    groups = {"override /problem", "override /estimator"}
    outside = {"records_of", "records_from"} & set(
        read.config
    )  # with the records of others it may have cells of its own or none
    assert set(chosen) <= groups if outside else set(chosen) == groups


def test_an_inherited_experiment_is_what_hydra_makes_of_it():
    for name in (
        "gruber2025_table6_offline",
        "moskvichev2025_fig2_sqhalf",
        "popordanoska2024_fig4",
    ):
        read, settings = options.option("experiment", name).config, compose([f"experiment={name}"])
        for key in ("paper", "item", "title", "compare", "notion", "n", "reps"):
            assert read.get(key, settings.to_dict()[key]) == settings.to_dict()[key], key
        chosen = {key: ids for entry in read["defaults"] for key, ids in entry.items()}
        assert chosen["override /problem"] == list(settings.problem)
        assert set(chosen["override /estimator"]) <= set(settings.estimator)


def test_commands_see_what_the_tables_make(cli):
    text = cli("info", "tuned_kde_split_gruber2025")[1]
    assert "tuned_kde on the split, the folds and the averages of the authors' code" in text
    text = cli("info", "cifar10_lenet5_kull")[1]
    assert (
        "# defined by conf/problem/tables/networks.yaml" in text
        and "random, or file: the authors' order" in text
    )
    lines = cli("list", "problems", "score_ties")[1].splitlines()
    assert len(lines) == 2 and all("Five values, miscalibrated, monotone" in line for line in lines)
    assert _completed("problem.score_tie") == [
        "problem.score_ties.",
        "problem.score_ties_perturbed.",
    ]
    assert "problem.score_ties.atoms=" in _completed("problem.score_ties.")
    assert "did you mean 'score_ties'" in cli("problem=score_tie")[2]
    assert load_problem("score_ties", atoms=[[0.5, 1.0]]).atoms
