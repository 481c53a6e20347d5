"""Records that an experiment does not compute: those of other experiments, and those from outside."""

import json
from dataclasses import replace

import pandas as pd
import pytest

import harness
from harness.commands import app as commands
from harness.commands.experiment import Experiment
from harness.configure import options, record_sources
from harness.errors import BadInputError
from harness.records import schema

FIRST = ["problem=beta_wavy", "estimator=binned15", "n=100", "reps=2", "jobs=1"]


@pytest.fixture
def small(monkeypatch):
    """The experiment smoke, smaller, where another one refers to it."""
    from harness.configure import variations

    composed = variations.as_configured

    def smaller(experiment, trusted=()):
        found = composed(experiment, trusted)
        return replace(found, n=[100], reps=2) if experiment == "smoke" else found

    monkeypatch.setattr(variations, "as_configured", smaller)


def test_an_experiment_has_the_records_of_others(tmp_path, small):
    """They are computed where they lack, stand under the name of their experiment, and have the keys that they have there."""
    both = Experiment.of(["records_of=[smoke]", *FIRST, f"out={tmp_path}"])
    assert [one.name for one in both.family] == ["adhoc", "smoke"]
    assert both.missing(both.records()) == len(both.cells)
    counts = both.compute(quiet=True)
    frame = both.records()
    assert (
        counts["cells"] == len(both.cells) == frame["key"].nunique()
        and counts["todo"] == counts["cells"] - counts["skipped"]
    )
    assert (
        set(frame["experiment"]) == {"adhoc", "smoke"}
        and both.missing(frame) == 0
        and not both.missing_truths(frame)
    )
    own = Experiment.of([*FIRST, f"out={tmp_path}"]).records()
    assert set(own["key"]) == set(frame.loc[frame["experiment"].eq("adhoc"), "key"])
    assert both.compute(quiet=True)["todo"] == 0


@pytest.mark.slow
def test_without_cells_of_its_own(tmp_path, small, capsys):
    """Neither problem nor estimator is needed, and `plan` counts the cells of the others."""
    only = Experiment.of(["records_of=[smoke]", f"out={tmp_path}"])
    assert not only.plan.cells and only.plan.estimators == {} and only.settings.estimator == {}
    assert only.cells == {cell.key for cell in only.others[0].plan.cells}
    assert commands.main(["plan", "records_of=[smoke]", f"out={tmp_path}"]) == 0
    said = capsys.readouterr().out
    assert "of smoke, whose records it uses" in said and "binned15" in said
    only.compute(quiet=True)
    frame = only.records()
    assert (
        set(frame["key"]) == only.cells
        and set(frame["experiment"]) == {"smoke"}
        and only.missing(frame) == 0
    )


def test_the_stamp_is_of_whose_records_they_are(tmp_path, small):
    """The same numbers under the name of another experiment are another page."""
    both = Experiment.of(["records_of=[smoke]", *FIRST, f"out={tmp_path}"])
    both.compute(quiet=True)
    frame = both.records()
    assert both.stamp(frame) == both.stamp(frame.sample(frac=1.0, random_state=0))
    assert both.stamp(frame) != both.stamp(frame.assign(experiment="adhoc"))


def test_other_records_are_a_variation():
    """An experiment with other records on the command line is another result."""
    changed = Experiment.of(["experiment=smoke", "records_of=[moskvichev2025_fig1]"])
    assert changed.is_variation and "records_of" in changed.differs
    plain = Experiment.of(["experiment=smoke"])
    assert not plain.is_variation and [c.key for c in changed.plan.cells] == [
        c.key for c in plain.plan.cells
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("records_of=smoke", "a list of ids of experiments is needed"),
        ("records_of=[smok]", "did you mean 'smoke'"),
        ("records_from=[{pack: a}]", "module.function"),
        ("records_from=a", "a list is needed"),
        ("records_from=[{pack: nothing, reader: a.b}]", "which does not exist"),
        ("records_from=[{file: /no/such.csv, reader: a.b}]", "neither here nor below"),
    ],
)
def test_a_mistake_is_one_sentence(given, said, tmp_path):
    """What cannot be used is refused before anything is computed."""
    with pytest.raises(BadInputError, match=said) as error:
        Experiment.of([given, *FIRST, f"out={tmp_path}"]).compute(quiet=True)
    assert "\n" not in str(error.value)


def test_no_experiment_has_its_own_records_as_those_of_another(monkeypatch):
    """Neither by itself nor in a circle."""
    with pytest.raises(BadInputError, match="names smoke itself"):
        Experiment.of(["experiment=smoke", "records_of=[smoke]"])
    plain = options.option

    def circular(group, name):
        found = plain(group, name)
        return (
            found._replace(config=found.config | {"records_of": ["smoke"]})
            if name == "arena"
            else found
        )

    monkeypatch.setattr(record_sources, "option", circular)
    with pytest.raises(BadInputError, match="smoke names arena names smoke"):
        Experiment.of(["experiment=smoke", "records_of=[arena]"])


def test_settings_of_cells_without_cells():
    """n and the like would change nothing."""
    for given, said in (("reps=2", "reps"), ("estimator=[binned15]", "estimator")):
        with pytest.raises(BadInputError, match=f"{said} would change nothing"):
            Experiment.of(["records_of=[smoke]", given])


def reader(path):
    """Somebody's table, as this paper's package would read it."""
    given = pd.read_csv(path)
    return given.assign(problem="theirs", notion="binary", n=100, estimand="l1")[
        ["problem", "notion", "n", "rep", "estimator", "estimand", "value", "seconds"]
    ]


def wrong_reader(path):
    """It lacks a column."""
    return pd.read_csv(path)


def same_reader(path):
    """It gives one cell's estimate twice."""
    return pd.concat([reader(path)] * 2)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "rep,estimator,value,seconds\n0,binned,0.1,1.5\n1,binned,0.3,2.5\n1,kde,nan,3.5\n"
    )
    return path


def _option(table, name="reader"):
    return f"records_from=[{{file: {table}, reader: {__name__}.{name}}}]"


def test_imported_records(tmp_path, table):
    """They hold their numbers, have a status, a key and a description of their own, and are written nowhere."""
    out = tmp_path / "out"
    experiment = Experiment.of([_option(table), *FIRST, f"out={out}"])
    experiment.compute(quiet=True)
    frame = experiment.records()
    theirs = frame[frame["problem"].eq("theirs")]
    assert (
        theirs["status"].tolist() == ["imported", "imported", "undefined"]
        and theirs["experiment"].eq("adhoc").all()
    )
    assert theirs["value"].tolist()[:2] == [0.1, 0.3] and theirs["seconds"].tolist() == [
        1.5,
        2.5,
        3.5,
    ]
    assert schema.has_number(frame).sum() == (frame["status"].isin(["ok", "imported"])).sum()
    assert (
        not set(theirs["key"]) & set(harness.load_records(out)["key"]) and theirs["key"].is_unique
    )
    described = json.loads((out / "runs" / f"{theirs['run_id'].iloc[0]}.json").read_text())
    assert (
        described["state"] == "imported"
        and described["file"] == "theirs.csv"
        and len(described["sha256"]) == 64
    )
    again = Experiment.of([_option(table), f"out={tmp_path / 'other'}"]).records()
    assert again["key"].tolist() == theirs["key"].tolist()
    found = harness.evaluate(frame)
    assert set(found.loc[found["problem"].eq("theirs"), "status"]) == {"imported", "undefined"}
    assert found.loc[found["estimator"].eq("binned"), "mean"].item() == pytest.approx(0.2)
    assert set(found.loc[found["problem"].eq("beta_wavy"), "status"]) == {"ok"}


@pytest.mark.slow
def test_the_page_says_imported(tmp_path, table, capsys):
    """Imported numbers are drawn, and the page counts them apart from computed ones."""
    assert commands.main([_option(table), f"out={tmp_path}", "name=theirs"]) == 0
    page = next(tmp_path.rglob("theirs.html")).read_text()
    assert "imported" in page and "0.2" in page
    assert commands.main(["plan", _option(table), f"out={tmp_path}"]) == 0
    assert "3 imported cells (3 estimates) of theirs.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"), [("wrong_reader", "gives no problem, notion"), ("same_reader", "twice")]
)
def test_a_reader_that_gives_no_records(table, tmp_path, name, said):
    """It is named, with what it lacks."""
    with pytest.raises(BadInputError, match=said):
        Experiment.of([_option(table, name), f"out={tmp_path}"]).records()
