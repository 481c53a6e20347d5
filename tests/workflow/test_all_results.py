"""Stored records, and `calharness results`, which draws every paper from them."""

import json

import numpy as np
import pandas as pd
import pytest

from harness.commands.app import main
from harness.errors import BadInputError
from harness.evaluation import propositions
from harness.execute.stops import RunInterruptedError
from harness.records import schema, table_plan, tables
from harness.workflow import all_results as results
from harness.workflow import drawn
from harness.workflow.experiment import Experiment

RUN = [
    "problem=[beta_wavy,beta_calibrated]",
    "estimator=[binned15,oracle,ckce,certified_interval]",
    "n=[50,100]",
    "reps=3",
    "jobs=1",
    "notion=[binary,top_label]",
]
NOT_STORED = ["peak_mb", "written", "seconds", "cpu_seconds"]
BY = ["key", "estimand"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return an experiment with points, intervals, diagnostics and skipped cells; its records."""
    experiment = Experiment.of([*RUN, f"out={tmp_path_factory.mktemp('run')}"])
    experiment.compute(quiet=True)
    return experiment, experiment.records.read_own()


@pytest.fixture
def store(run, tmp_path):
    """Return a function that stores records, by default those of `run`, and returns the file."""

    def call(frame=run[1]):
        return tables.store(frame, run[0].plan, run[0].records.out, tmp_path / "small.parquet")

    return call


def unpacked(path, out):
    """Unpack a stored file into another folder. Return the experiment there, and its records."""
    experiment = Experiment.of([*RUN, f"out={out}"])
    tables.unpack(path, experiment.plan, out)
    return experiment, experiment.records.read_own()


def test_stored_records_come_back(run, store, tmp_path):
    """All columns come back bit for bit, except times and the columns that are not tables."""
    experiment, frame = run
    assert {"ok", "skipped"} <= set(frame["status"])
    assert frame["diagnostics"].notna().any() and frame["truth"].notna().any()
    path = store()
    copy, back = unpacked(path, tmp_path / "other")
    first, second = (f.sort_values(BY, ignore_index=True) for f in (frame, back))
    columns = [name for name in frame if name not in NOT_STORED]
    pd.testing.assert_frame_equal(first[columns], second[columns], check_exact=True)
    for name in ("value", "low", "high", "truth"):
        bits = [f[name].to_numpy()[f[name].notna()].view("int64") for f in (first, second)]
        assert np.array_equal(*bits)
    for name in ("seconds", "cpu_seconds"):
        np.testing.assert_allclose(first[name], second[name], rtol=5.1e-3)
    assert copy.records.missing(back) == 0 and not copy.records.missing_truths(back)
    assert drawn.stamp(copy, back) == drawn.stamp(experiment, frame)
    again = tables.store(back, copy.plan, copy.records.out, tmp_path / "again" / "small.parquet")
    assert again.read_bytes() == path.read_bytes()


def test_pandas_alone_reads_a_stored_file(run, store):
    frame = pd.read_parquet(store())
    cells = ["problem", "notion", "n", "rep", "estimator", "estimand"]
    expected = run[1].sort_values(cells, ignore_index=True)
    actual = frame.sort_values(cells, ignore_index=True)
    for name in (*cells, "value", "low", "high", "level", "kind", "status", "truth"):
        assert actual[name].equals(expected[name].astype(actual[name].dtype)), name


def test_runs_are_stored_with_the_records(run, store, tmp_path):
    experiment, frame = run
    path = store()
    content = tables.metadata(path)
    assert content["cells"] == len(experiment.plan.cells)
    assert set(content["runs"]) == set(frame["run_id"])
    unpacked(path, tmp_path / "other")
    name = f"{frame['run_id'].iloc[0]}.json"
    description = json.loads((tmp_path / "other" / "runs" / name).read_text())
    assert description["state"] == "finished" and description["processor"]
    assert description["versions"]["numpy"] == np.__version__


def test_long_files_have_six_digits_of_diagnostics_and_all_of_estimates(
    run, store, tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "EXACT", 10)
    _, back = unpacked(store(), tmp_path / "other")
    first, second = (f.sort_values(BY, ignore_index=True) for f in (run[1], back))
    assert first["value"].equals(second["value"]) and first["high"].equals(second["high"])
    texts = [f["diagnostics"].dropna().map(json.loads) for f in (first, second)]
    for expected, actual in zip(*texts, strict=True):
        assert list(expected) == list(actual)
        for name, value in expected.items():
            assert actual[name] == pytest.approx(value, rel=1e-5)


def test_records_of_another_plan_are_refused(store, tmp_path):
    other = Experiment.of([*RUN[:-1], "notion=binary", f"out={tmp_path}"])
    message = "contains records of 96 cells, which are not the 48 cells"
    with pytest.raises(BadInputError, match=message) as error:
        tables.unpack(store(), other.plan, tmp_path)
    assert "\n" not in str(error.value) and not (tmp_path / "records").exists()
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    with pytest.raises(BadInputError, match="contains no stored records"):
        tables.unpack(tmp_path / "broken.parquet", other.plan, tmp_path)


def test_nan_with_bounds_and_a_value_at_its_lower_bound_come_back(run, store, tmp_path):
    frame = run[1]
    rows = frame[frame["low"].notna() & frame["high"].notna()].copy()
    nan, low, low_alone = rows.index[:3]
    rows.loc[nan, "value"] = float("nan")
    rows.loc[low, "value"] = rows.loc[low, "low"]
    rows.loc[low_alone, ["value", "high"]] = [rows.loc[low_alone, "low"], float("nan")]
    _, back = unpacked(store(rows), tmp_path / "other")
    columns = [*BY, "value", "low", "high"]
    first, second = (f.sort_values(BY, ignore_index=True)[columns] for f in (rows, back))
    pd.testing.assert_frame_equal(first, second, check_exact=True)


# Plans that depend on data


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """Return a stored run on a family of two files: its overrides, stored file and experiment."""
    (tmp_path / "data" / "nets").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("resnet", "vgg"):
        p = rng.uniform(size=40)
        rows = pd.DataFrame({"p": p, "y": (rng.uniform(size=40) < p).astype(int)})
        rows.to_csv(tmp_path / "data" / "nets" / f"{name}.csv", index=False)
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / "data"))
    family = ["_target_=harness.problems.PredictionFiles", "folder=nets", "pattern='*.csv'"]
    overrides = [f"+problem.nets.{field}" for field in family]
    overrides += ["problem=[beta_wavy]", "estimator=[binned15]", "n=[20,30]", "reps=3"]
    overrides += ["bootstrap=0", "jobs=1", "name=nets"]
    experiment = Experiment.of([*overrides, f"out={tmp_path}"])
    experiment.compute(quiet=True)
    path = tables.file_path(tmp_path / tables.FOLDER, "nets")
    tables.store(experiment.records.read_own(), experiment.plan, tmp_path, path)
    return overrides, path, experiment


@pytest.mark.parametrize("data", ["nowhere", "others"])
def test_stored_records_need_no_data(nets, tmp_path, monkeypatch, data):
    """The plan and the records are the stored ones, without the data or with others."""
    overrides, path, experiment = nets
    frame = experiment.records.read_own()
    assert {"beta_wavy", "nets/resnet", "nets/vgg"} == set(frame["problem"])
    (tmp_path / "others" / "nets").mkdir(parents=True)
    (tmp_path / "others" / "nets" / "vgg.csv").write_text("p,y\n" + "0.2,0\n0.7,1\n" * 30)
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / data))
    out = tmp_path / "out"
    other_plan = Experiment.of([*overrides, f"out={out}"]).plan
    assert tables.plan_digest(other_plan) != tables.plan_digest(experiment.plan)
    copy = Experiment.of([*overrides, f"out={out}"], stored_in=path.parent)
    assert copy.plan.cells == experiment.plan.cells
    assert copy.settings.files == experiment.settings.files
    tables.unpack(path, copy.plan, out)
    back = copy.records.read_own()
    columns = [name for name in frame if name not in NOT_STORED]
    pd.testing.assert_frame_equal(frame[columns], back[columns], check_exact=True)
    assert copy.records.missing(back) == 0 and not copy.records.missing_truths(back)


def test_without_stored_records_the_error_of_the_data_is_raised(nets, tmp_path):
    _, path, experiment = nets

    def make_plan():
        raise BadInputError("no such data")

    plan = tables.load_plan(path, experiment.settings, make_plan)
    assert plan.cells == experiment.plan.cells
    with pytest.raises(BadInputError, match="no such data"):
        tables.load_plan(tmp_path / "nothing.parquet", experiment.settings, make_plan)


CHANGES = ["reps=2", "estimator=[binned15,debiased15]", "+problem.nets.part=test", "seed=5"]


@pytest.mark.parametrize(
    "changed, data",
    [("n=[20]", "data"), ("n=[20]", "nowhere"), *((changed, "nowhere") for changed in CHANGES)],
)
def test_a_changed_configuration_is_refused(nets, tmp_path, monkeypatch, changed, data):
    overrides, path, _ = nets
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / data))
    name = changed.partition("=")[0]
    others = [text for text in overrides if text.partition("=")[0] != name]
    message = r"nets.parquet contains records of 18 cells, which are not .* have changed\.$"
    with pytest.raises(BadInputError, match=message):
        Experiment.of([*others, changed], stored_in=path.parent)


@pytest.mark.parametrize("group", ["estimators", "problems"])
def test_a_changed_key_of_an_estimator_or_problem_is_refused(nets, monkeypatch, group):
    _, path, experiment = nets
    unchanged = table_plan.build_selected
    for component in getattr(experiment.plan, group).values():
        changed = component._replace(key="0" * 16)

        def with_changed(kind, nodes, c=changed):
            return {n: c if n == c.id else m for n, m in unchanged(kind, nodes).items()}

        monkeypatch.setattr(table_plan, "build_selected", with_changed)
        with pytest.raises(BadInputError, match="have changed"):
            tables.load_plan(path, experiment.settings, lambda: experiment.plan)


# The command

ITEM = "moskvichev2025_fig1"


@pytest.fixture
def without_index(monkeypatch):
    monkeypatch.setattr(results, "draw_index", lambda out, failures: None)


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """Return a folder with the records of an experiment of a paper, computed by the command."""
    out = tmp_path_factory.mktemp("papers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "draw_index", lambda out, failures: None)
        assert main(["results", "--compute", ITEM, "jobs=1", f"out={out}"]) == 0
        assert main(["results", "--store", ITEM, f"out={out}"]) == 0
    return out


def copy_records(paper, out, *names):
    """Copy the stored records of ITEM to `out`, under these names."""
    (out / tables.FOLDER).mkdir(parents=True)
    content = tables.file_path(paper / tables.FOLDER, ITEM).read_bytes()
    for name in names:
        tables.file_path(out / tables.FOLDER, name).write_bytes(content)


@pytest.mark.slow
@pytest.mark.xdist_group("paper")
def test_results_are_drawn_from_stored_records_alone(paper, tmp_path, capsys, without_index):
    """Two drawings give the same bytes. Nothing is left but files of the paper."""
    drawings = []
    for out in (tmp_path / "a", tmp_path / "b"):
        copy_records(paper, out, ITEM)
        assert main(["results", ITEM, f"out={out}"]) == 0 and not (out / "records").exists()
        files = (out / "moskvichev2025").iterdir()
        same = {f.name: f.read_bytes() for f in files if f.suffix in (".csv", ".html", ".svg")}
        drawings.append(same)
    assert drawings[0] == drawings[1]
    assert {"fig1.csv", "fig1.html", "fig1.svg", "reproduction.csv"} <= set(drawings[0])
    for name in ("fig1.csv", "reproduction.csv"):  # estimates have all their digits
        assert drawings[0][name] == (paper / "moskvichev2025" / name).read_bytes()
    assert "1 experiment drawn" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.xdist_group("paper")
def test_a_drawing_replaces_only_its_rows_of_reproduction(paper, tmp_path, without_index):
    """Rows of experiments that no longer exist are removed."""
    copy_records(paper, tmp_path, ITEM)
    folder = tmp_path / "moskvichev2025"
    folder.mkdir()
    rows = pd.read_csv(paper / "moskvichev2025" / "reproduction.csv")
    others = [rows.assign(experiment=f"moskvichev2025_{name}") for name in ("fig2", "removed")]
    pd.concat(others).to_csv(folder / "reproduction.csv", index=False)
    assert main(["results", ITEM, f"out={tmp_path}"]) == 0
    experiments = set(pd.read_csv(folder / "reproduction.csv")["experiment"])
    assert experiments == {ITEM, "moskvichev2025_fig2"}


@pytest.mark.slow
@pytest.mark.xdist_group("paper")
def test_a_failing_experiment_stops_no_other(paper, tmp_path, without_index, capsys):
    copy_records(paper, tmp_path, ITEM, "moskvichev2025_fig2")
    assert main(["results", "moskvichev2025_fig[12]", f"out={tmp_path}"]) == 1
    printed = capsys.readouterr()
    assert "moskvichev2025_fig2: " in printed.err and "1 experiment drawn" in printed.out
    pages = {path.name for path in (tmp_path / "moskvichev2025").glob("*.html")}
    assert "fig1.html" in pages and "fig2.html" not in pages


def test_an_interruption_stops_all_experiments(monkeypatch, tmp_path, capsys):
    started = []

    def interrupt(self, quiet=False):
        started.append(self.settings.run_name)
        raise RunInterruptedError("interrupted; the same command goes on")

    monkeypatch.setattr(Experiment, "compute", interrupt)
    names = ["moskvichev2025_fig1", "moskvichev2025_appendix_a"]
    assert main(["results", "--compute", *names, f"out={tmp_path}"]) == 130
    assert len(started) == 1 and "the same command goes on" in capsys.readouterr().err


def test_without_stored_records_nothing_is_drawn(tmp_path, without_index, capsys):
    assert main(["results", "gruber2025_fig1", f"out={tmp_path}"]) == 0
    assert not (tmp_path / "gruber2025").exists()
    printed = capsys.readouterr().out
    assert "0 experiments drawn" in printed and "1 not drawn" in printed


def test_only_experiments_of_papers_are_selected():
    names = results.select([], with_others=False)
    assert "berta2026_table1_published" in names and not {"smoke", "arena"} & set(names)
    stated = [f"{paper}_propositions" for paper in propositions.papers()]
    assert results.select([], with_others=True) == [*names, *stated, results.ARENA]
    assert schema.WITH_NUMBER == ("ok", "imported")
