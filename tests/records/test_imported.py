"""Records that an experiment does not compute: from other experiments, or from outside."""

import json
from dataclasses import replace

import pandas as pd
import pytest

import harness
from harness.commands import app as commands
from harness.configure import options, record_sources, variations
from harness.errors import BadInputError
from harness.records import schema
from harness.workflow import drawn
from harness.workflow.experiment import Experiment

FIRST = ["problem=beta_wavy", "estimator=binned15", "n=100", "reps=2", "jobs=1"]


@pytest.fixture
def small(monkeypatch):
    """Make the experiment smoke smaller for experiments that refer to it."""
    compose = variations.as_configured

    def smaller(experiment, *more):
        settings = compose(experiment, *more)
        return replace(settings, n=[100], reps=2) if experiment == "smoke" else settings

    monkeypatch.setattr(variations, "as_configured", smaller)


def test_an_experiment_has_the_records_of_others(tmp_path, small):
    """Missing ones are computed. They keep the name of their experiment and their keys."""
    both = Experiment.of(["records_of=[smoke]", *FIRST, f"out={tmp_path}"])
    assert [plan.settings.run_name for plan in both.records.plans] == ["adhoc", "smoke"]
    assert both.records.missing(both.records.read()) == both.records.cell_count
    counts = both.compute(quiet=True)
    frame = both.records.read()
    assert counts["cells"] == both.records.cell_count == frame["key"].nunique()
    assert counts["todo"] == counts["cells"] - counts["skipped"]
    assert set(frame["experiment"]) == {"adhoc", "smoke"}
    assert both.records.missing(frame) == 0 and not both.records.missing_truths(frame)
    own = Experiment.of([*FIRST, f"out={tmp_path}"]).records.read()
    assert set(own["key"]) == set(frame.loc[frame["experiment"].eq("adhoc"), "key"])
    assert both.compute(quiet=True)["todo"] == 0
    assert drawn.stamp(both, frame) == drawn.stamp(both, frame.sample(frac=1.0, random_state=0))
    assert drawn.stamp(both, frame) != drawn.stamp(both, frame.assign(experiment="adhoc"))


@pytest.mark.slow
def test_an_experiment_without_cells(tmp_path, small, capsys):
    """Such an experiment needs no problem and no estimator. `plan` counts the cells of the
    others.
    """
    only = Experiment.of(["records_of=[smoke]", f"out={tmp_path}"])
    assert not only.plan.cells and only.plan.estimators == {} and only.settings.estimator == {}
    assert only.records.cell_count == len(only.records.plans[1].cells)
    assert commands.main(["plan", "records_of=[smoke]", f"out={tmp_path}"]) == 0
    text = capsys.readouterr().out
    assert "smoke" in text and f"{only.records.cell_count} cells" in text
    only.compute(quiet=True)
    frame = only.records.read()
    assert frame["key"].nunique() == only.records.cell_count
    assert set(frame["experiment"]) == {"smoke"}
    assert only.records.missing(frame) == 0


def test_other_records_are_a_variation():
    changed = Experiment.of(["experiment=smoke", "records_of=[moskvichev2025_fig1]"])
    plain = Experiment.of(["experiment=smoke"])
    assert changed.identity.is_variation and "records_of" in changed.identity.differs
    assert not plain.identity.is_variation
    assert [c.key for c in changed.plan.cells] == [c.key for c in plain.plan.cells]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("records_of=smoke", "give a list of ids of experiments"),
        ("records_of=[smok]", "did you mean 'smoke'"),
        ("records_from=[{pack: a}]", "module.function"),
        ("records_from=a", "give a list of"),
        ("records_from=[{pack: nothing, reader: a.b}]", "which does not exist"),
        ("records_from=[{file: /no/such.csv, reader: a.b}]", "neither in the working folder nor"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(option, message, tmp_path):
    with pytest.raises(BadInputError, match=message) as error:
        Experiment.of([option, *FIRST, f"out={tmp_path}"]).compute(quiet=True)
    assert "\n" not in str(error.value)


def test_no_experiment_has_its_own_records_as_those_of_another(monkeypatch):
    """An experiment that names itself, directly or in a circle, is refused."""
    with pytest.raises(BadInputError, match="smoke uses smoke"):
        Experiment.of(["experiment=smoke", "records_of=[smoke]"])
    plain = options.option

    def circular(group, name, *more):
        found = plain(group, name, *more)
        if name != "arena":
            return found
        return found._replace(config=found.config | {"records_of": ["smoke"]})

    monkeypatch.setattr(record_sources, "option", circular)
    with pytest.raises(BadInputError, match="smoke uses arena"):
        Experiment.of(["experiment=smoke", "records_of=[arena]"])


# Records from outside


def reader(path):
    """Read somebody's table."""
    columns = ["problem", "notion", "n", "rep", "estimator", "estimand", "value", "seconds"]
    frame = pd.read_csv(path)
    return frame.assign(problem="theirs", notion="binary", n=100, estimand="l1")[columns]


def incomplete_reader(path):
    return pd.read_csv(path)


def repeating_reader(path):
    return pd.concat([reader(path)] * 2)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "rep,estimator,value,seconds\n0,binned,0.1,1.5\n1,binned,0.3,2.5\n1,kde,nan,3.5\n"
    )
    return path


def source_option(table, name="reader"):
    return f"records_from=[{{file: {table}, reader: {__name__}.{name}}}]"


def test_imported_records(tmp_path, table):
    """Imported records have a status, a key and a description, and are written nowhere."""
    out = tmp_path / "out"
    experiment = Experiment.of([source_option(table), *FIRST, f"out={out}"])
    experiment.compute(quiet=True)
    frame = experiment.records.read()
    theirs = frame[frame["problem"].eq("theirs")]
    assert theirs["status"].tolist() == ["imported", "imported", "undefined"]
    assert theirs["value"].tolist()[:2] == [0.1, 0.3] and theirs["experiment"].eq("adhoc").all()
    assert theirs["seconds"].tolist() == [1.5, 2.5, 3.5] and theirs["key"].is_unique
    assert schema.has_number(frame).sum() == frame["status"].isin(["ok", "imported"]).sum()
    assert not set(theirs["key"]) & set(harness.load_records(out)["key"])
    description = json.loads((out / "runs" / f"{theirs['run_id'].iloc[0]}.json").read_text())
    assert description["state"] == "imported" and description["file"] == "theirs.csv"
    assert len(description["sha256"]) == 64
    again = Experiment.of([source_option(table), f"out={tmp_path / 'other'}"]).records.read()
    assert again["key"].tolist() == theirs["key"].tolist()
    summary = harness.evaluate(frame).set_index(["problem", "estimator"])
    assert set(summary.loc["theirs", "status"]) == {"imported", "undefined"}
    assert summary.loc[("theirs", "binned"), "mean"].item() == pytest.approx(0.2)
    assert set(summary.loc["beta_wavy", "status"]) == {"ok"}


@pytest.mark.slow
def test_the_page_shows_imported_numbers(tmp_path, table, capsys):
    assert commands.main([source_option(table), f"out={tmp_path}", "name=theirs"]) == 0
    page = next(tmp_path.rglob("theirs.html")).read_text()
    assert "imported" in page and "0.2" in page
    assert commands.main(["plan", source_option(table), f"out={tmp_path}"]) == 0
    assert "3 imported cells (3 estimates) of theirs.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [("incomplete_reader", "no column problem, notion"), ("repeating_reader", "twice")],
)
def test_a_reader_that_gives_no_records_is_named(table, tmp_path, name, message):
    with pytest.raises(BadInputError, match=f"{name}.*{message}"):
        Experiment.of([source_option(table, name), f"out={tmp_path}"]).records.read()
