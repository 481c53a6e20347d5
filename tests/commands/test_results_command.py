"""Stored records, and the command that draws every paper from them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from harness.commands import all_results as results
from harness.commands import app as commands
from harness.commands.experiment import Experiment
from harness.errors import BadInputError
from harness.execute.run import RunInterruptedError
from harness.records import schema, stored, stored_plan

OWN = [
    "problem=[beta_wavy,beta_calibrated]",
    "estimator=[binned15,oracle,ckce,certified_interval]",
    "n=[50,100]",
    "reps=3",
    "jobs=1",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run with points, intervals, diagnostics, and cells that are skipped."""
    out = tmp_path_factory.mktemp("run")
    experiment = Experiment.of([*OWN, "notion=[binary,top_label]", f"out={out}"])
    experiment.compute(quiet=True)
    return experiment, experiment.computed()


def again(experiment, path, out):
    """The records of a stored file, read in another folder."""
    copy = Experiment.of([*OWN, "notion=[binary,top_label]", f"out={out}"])
    stored.unpack(path, copy.plan, out)
    return copy, copy.computed()


def test_what_is_stored_comes_back(run, tmp_path):
    """Every column bit for bit, but for times and what is left out; and the truths."""
    experiment, frame = run
    assert (
        {"ok", "skipped"} <= set(frame["status"])
        and frame["diagnostics"].notna().any()
        and frame["truth"].notna().any()
    )
    path = stored.store(frame, experiment.plan, experiment.out, tmp_path / "small.parquet")
    copy, back = again(experiment, path, tmp_path / "other")
    left = ["peak_mb", "written", "seconds", "cpu_seconds"]
    by = ["key", "estimand"]
    first, second = (f.sort_values(by, ignore_index=True).drop(columns=left) for f in (frame, back))
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    for name in ("value", "low", "high", "truth"):
        assert (
            np.array_equal(
                first[name].to_numpy().view("int64"), second[name].to_numpy().view("int64")
            )
            or first[name].isna().any()
        )
    for name in ("seconds", "cpu_seconds"):
        both = frame.sort_values(by)[name].to_numpy(), back.sort_values(by)[name].to_numpy()
        np.testing.assert_allclose(*both, rtol=5.1e-3)
    assert copy.missing(back) == 0 and not copy.missing_truths(back)
    assert copy.stamp(back) == Experiment.of(
        [*OWN, "notion=[binary,top_label]", f"out={experiment.out}"]
    ).stamp(frame)
    once = stored.store(back, copy.plan, copy.out, tmp_path / "again" / "small.parquet")
    assert once.read_bytes() == path.read_bytes()


def test_runs_are_told(run, tmp_path):
    """A record's run id leads to what is known of the run."""
    experiment, frame = run
    path = stored.store(frame, experiment.plan, experiment.out, tmp_path / "small.parquet")
    told = stored.metadata(path)
    assert told["cells"] == len(experiment.plan.cells) and set(told["runs"]) == set(frame["run_id"])
    again(experiment, path, tmp_path / "other")
    one = json.loads((tmp_path / "other" / "runs" / f"{frame['run_id'].iloc[0]}.json").read_text())
    assert (
        one["state"] == "finished"
        and one["processor"]
        and one["versions"]["numpy"] == np.__version__
    )


def test_long_files_have_six_digits_of_diagnostics(run, tmp_path, monkeypatch):
    """And all of the estimates."""
    monkeypatch.setattr(stored, "EXACT", 10)
    experiment, frame = run
    path = stored.store(frame, experiment.plan, experiment.out, tmp_path / "long.parquet")
    _, back = again(experiment, path, tmp_path / "other")
    first, second = (f.sort_values(["key", "estimand"], ignore_index=True) for f in (frame, back))
    assert first["value"].equals(second["value"]) and first["high"].equals(second["high"])
    for one, other in zip(
        first["diagnostics"].dropna(), second["diagnostics"].dropna(), strict=True
    ):
        one, other = json.loads(one), json.loads(other)
        assert list(one) == list(other)
        for name, value in one.items():
            assert other[name] == pytest.approx(value, rel=1e-5)


def test_records_of_another_plan_are_refused(run, tmp_path):
    """With one sentence."""
    experiment, frame = run
    path = stored.store(frame, experiment.plan, experiment.out, tmp_path / "small.parquet")
    other = Experiment.of([*OWN, "notion=binary", f"out={tmp_path}"])
    with pytest.raises(
        BadInputError, match=r"holds records of 96 cells, which are not the 48 cells"
    ) as error:
        stored.unpack(path, other.plan, tmp_path)
    assert "\n" not in str(error.value) and not (tmp_path / "records").exists()
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    with pytest.raises(BadInputError, match="holds no stored records"):
        stored.unpack(tmp_path / "broken.parquet", other.plan, tmp_path)


def test_a_value_beside_its_bound_and_one_that_is_no_number(run, tmp_path):
    """NaN with bounds, and values that equal the lower bound alone, come back as they were."""
    experiment, frame = run
    held = frame[frame["low"].notna() & frame["high"].notna()].copy()
    held.loc[held.index[0], "value"] = float("nan")
    held.loc[held.index[1], "value"] = held.loc[held.index[1], "low"]
    held.loc[held.index[2], ["value", "high"]] = [held.loc[held.index[2], "low"], float("nan")]
    path = stored.store(held, experiment.plan, experiment.out, tmp_path / "small.parquet")
    _, back = again(experiment, path, tmp_path / "other")
    columns = ["key", "estimand", "value", "low", "high"]
    first, second = (f.sort_values(columns[:2], ignore_index=True)[columns] for f in (held, back))
    pd.testing.assert_frame_equal(first, second, check_exact=True)


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """A run on a family of two files of predictions, stored; its overrides, and the folder where it is stored."""
    (tmp_path / "data" / "nets").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("resnet", "vgg"):
        p = rng.uniform(size=40)
        rows = pd.DataFrame({"p": p, "y": (rng.uniform(size=40) < p).astype(int)})
        rows.to_csv(tmp_path / "data" / "nets" / f"{name}.csv", index=False)
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / "data"))
    family = ["_target_=harness.problems.PredictionFiles", "folder=nets", "pattern='*.csv'"]
    given = [f"+problem.nets.{field}" for field in family]
    given += [
        "problem=[beta_wavy]",
        "estimator=[binned15]",
        "n=[20,30]",
        "reps=3",
        "bootstrap=0",
        "jobs=1",
        "name=nets",
    ]
    experiment = Experiment.of([*given, f"out={tmp_path}"])
    experiment.compute(quiet=True)
    stored.store(
        experiment.computed(),
        experiment.plan,
        tmp_path,
        stored.path_of(tmp_path / stored.FOLDER, "nets"),
    )
    return given, tmp_path / stored.FOLDER, experiment


def test_data_that_are_not_here_are_not_needed(nets, tmp_path, monkeypatch):
    """Nor others in their place: the plan is the stored one, and the records are those that were stored."""
    given, folder, experiment = nets
    frame = experiment.computed()
    assert {"beta_wavy", "nets/resnet", "nets/vgg"} == set(frame["problem"])
    for here in ("nowhere", "others"):
        (tmp_path / "others" / "nets").mkdir(parents=True, exist_ok=True)
        (tmp_path / "others" / "nets" / "vgg.csv").write_text("p,y\n" + "0.2,0\n0.7,1\n" * 30)
        monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / here))
        out = tmp_path / f"from_{here}"
        assert stored.plan_digest(Experiment.of([*given, f"out={out}"]).plan) != stored.plan_digest(
            experiment.plan
        )
        again = Experiment.of([*given, f"out={out}"], stored_in=folder)
        assert (
            again.plan.cells == experiment.plan.cells
            and again.shown_settings().files == experiment.shown_settings().files
        )
        stored.unpack(stored.path_of(folder, "nets"), again.plan, out)
        back = again.computed()
        left = ["peak_mb", "written", "seconds", "cpu_seconds"]
        pd.testing.assert_frame_equal(
            frame.drop(columns=left), back.drop(columns=left), check_exact=True
        )
        assert again.missing(back) == 0 and not again.missing_truths(back)

    def raises():
        raise BadInputError("no such data")

    path = stored.path_of(folder, "nets")
    assert stored.plan_of(path, experiment.settings, raises).cells == experiment.plan.cells
    with pytest.raises(BadInputError, match="no such data"):
        stored.plan_of(tmp_path / "nothing.parquet", experiment.settings, raises)


@pytest.mark.parametrize(
    "changed",
    ["n=[20]", "reps=2", "estimator=[binned15,debiased15]", "+problem.nets.part=test", "seed=5"],
)
@pytest.mark.parametrize("data", ["data", "nowhere"])
def test_a_changed_configuration_is_refused_without_its_data_too(
    nets, tmp_path, monkeypatch, changed, data
):
    """With one sentence."""
    given, folder, _ = nets
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / data))
    path = changed.partition("=")[0]
    with pytest.raises(
        BadInputError,
        match=r"nets.parquet holds records of 18 cells, which are not .* have changed\.$",
    ):
        Experiment.of(
            [*(text for text in given if text.partition("=")[0] != path), changed], stored_in=folder
        )


@pytest.mark.parametrize("group", ["estimators", "problems"])
def test_a_changed_estimator_or_problem_is_refused(nets, monkeypatch, group):
    """Its key is another one: of an estimator, of a problem that is no data, and of the same data."""
    given, folder, experiment = nets
    path = stored.path_of(folder, "nets")
    named = experiment.plan.estimators if group == "estimators" else experiment.plan.problems
    plain = stored_plan.chosen
    for name in named:
        changed = named[name]._replace(key="0" * 16)
        plan = (
            experiment.plan
            if group == "estimators"
            else replace(experiment.plan, problems={**named, name: changed})
        )

        def with_changed(kind, nodes, c=changed):
            return {n: c if n == c.id else m for n, m in plain(kind, nodes).items()}

        monkeypatch.setattr(stored_plan, "chosen", with_changed)
        with pytest.raises(BadInputError, match="have changed"):
            stored.plan_of(path, experiment.settings, lambda plan=plan: plan)


# ---------------------------------------------------------------- the command

ITEM = "moskvichev2025_fig1"


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """A folder with the records of one experiment of a paper, computed by the command."""
    out = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "draw_index", lambda out, failed: None)
        assert commands.main(["results", "--compute", ITEM, "jobs=1", f"out={out}"]) == 0
        assert commands.main(["results", "--store", ITEM, f"out={out}"]) == 0
    return out


@pytest.mark.slow
def test_results_are_drawn_again_from_what_is_stored(papers, tmp_path, capsys, monkeypatch):
    """Without any record, all files twice the same; and nothing but files of the paper."""
    monkeypatch.setattr(results, "draw_index", lambda out, failed: None)
    drawn = []
    for name in ("a", "b"):
        out = tmp_path / name
        (out / stored.FOLDER).mkdir(parents=True)
        (out / stored.FOLDER / f"{ITEM}.parquet").write_bytes(
            (papers / stored.FOLDER / f"{ITEM}.parquet").read_bytes()
        )
        assert commands.main(["results", ITEM, f"out={out}"]) == 0
        assert not (out / "records").exists()
        drawn.append(
            {
                p.name: p.read_bytes()
                for p in (out / "moskvichev2025").iterdir()
                if p.suffix in (".csv", ".html", ".svg")
            }
        )
    assert drawn[0] == drawn[1] and {
        "fig1.csv",
        "fig1.html",
        "fig1.svg",
        "reproduction.csv",
    } <= set(drawn[0])
    for name in ("fig1.csv", "reproduction.csv"):  # the estimates have all their digits
        assert drawn[0][name] == (papers / "moskvichev2025" / name).read_bytes()
    assert "1 experiment drawn" in capsys.readouterr().out


@pytest.mark.slow
def test_rows_of_other_experiments_stay_where_one_is_drawn(papers, tmp_path, monkeypatch):
    """reproduction.csv belongs to all experiments of a paper; what is no experiment any more has no rows."""
    monkeypatch.setattr(results, "draw_index", lambda out, failed: None)
    (tmp_path / stored.FOLDER).mkdir()
    (tmp_path / stored.FOLDER / f"{ITEM}.parquet").write_bytes(
        (papers / stored.FOLDER / f"{ITEM}.parquet").read_bytes()
    )
    folder = tmp_path / "moskvichev2025"
    folder.mkdir()
    rows = pd.read_csv(papers / "moskvichev2025" / "reproduction.csv")
    both = [
        rows.assign(experiment=name) for name in ("moskvichev2025_fig2", "moskvichev2025_of_before")
    ]
    pd.concat(both).to_csv(folder / "reproduction.csv", index=False)
    assert commands.main(["results", ITEM, f"out={tmp_path}"]) == 0
    assert set(pd.read_csv(folder / "reproduction.csv")["experiment"]) == {
        ITEM,
        "moskvichev2025_fig2",
    }


@pytest.mark.slow
def test_one_that_cannot_be_drawn_stops_no_other(papers, tmp_path, monkeypatch, capsys):
    """The exit status and a sentence say it."""
    monkeypatch.setattr(results, "draw_index", lambda out, failed: None)
    (tmp_path / stored.FOLDER).mkdir()
    held = (papers / stored.FOLDER / f"{ITEM}.parquet").read_bytes()
    (tmp_path / stored.FOLDER / f"{ITEM}.parquet").write_bytes(held)
    (tmp_path / stored.FOLDER / "moskvichev2025_fig2.parquet").write_bytes(held)
    assert commands.main(["results", "moskvichev2025_fig[12]", f"out={tmp_path}"]) == 1
    said = capsys.readouterr()
    assert "moskvichev2025_fig2: " in said.err and "1 experiment drawn" in said.out
    assert (tmp_path / "moskvichev2025" / "fig1.html").is_file() and not (
        tmp_path / "moskvichev2025" / "fig2.html"
    ).is_file()


def test_an_interruption_stops_all(monkeypatch, tmp_path, capsys):
    """It is no failure of one experiment, after which the others go on."""
    started = []

    def interrupted(self, quiet=False):
        started.append(self.name)
        raise RunInterruptedError(
            "interrupted; what was finished is recorded, the same command goes on from there"
        )

    monkeypatch.setattr(Experiment, "compute", interrupted)
    status = commands.main(
        [
            "results",
            "--compute",
            "moskvichev2025_fig1",
            "moskvichev2025_appendix_a",
            f"out={tmp_path}",
        ]
    )
    assert (
        status == 130
        and len(started) == 1
        and "the same command goes on" in capsys.readouterr().err
    )


def test_nothing_stored_draws_nothing(tmp_path, monkeypatch, capsys):
    """Neither does an experiment without any number, nor a mistake."""
    monkeypatch.setattr(results, "draw_index", lambda out, failed: None)
    assert commands.main(["results", "gruber2025_fig1", f"out={tmp_path}"]) == 0
    assert (
        not (tmp_path / "gruber2025").exists() and "0 experiments drawn" in capsys.readouterr().out
    )
    for given, said in (
        ("--all", "No such option: --all"),
        ("nothing*", "matches 'nothing*'"),
        ("n=3", "has no option 'n'"),
    ):
        assert commands.main(["results", given, f"out={tmp_path}"]) == 2
        assert said in capsys.readouterr().err


def test_the_experiments_are_those_of_papers():
    """Neither smoke nor the arena."""
    names = results.select([])
    assert "berta2026_table1_published" in names and not {"smoke", "arena"} & set(names)
    assert schema.WITH_NUMBER == ("ok", "imported")
