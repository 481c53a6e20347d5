"""The store: parts, best attempts, corruption, truths, doctor, records of earlier versions."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_states import cell_states
from record_parts import row, write, write_cells
from slow_params import slow

import harness
from harness.errors import BadInputError
from harness.records import compaction, parts, reader, schema
from harness.workflow.experiment import Experiment
from harness.workflow.health import examine

RUN = [
    "problem=[beta_wavy]",
    "estimator=[binned15,debiased15]",
    "n=[50,100]",
    "reps=3",
    "jobs=1",
    "name=store",
]
DIAGNOSTICS = '{"split_sd": 0.5}'


def replace_part(path, table, name=None):
    """Write a table instead of a part, under a name without a digest, as earlier versions did."""
    path.unlink()
    renamed = path.with_name(name or f"part-{path.stem.split('-')[1] * 2}.parquet")
    pq.write_table(table, renamed)
    return renamed


def test_the_best_attempt_of_a_cell_is_taken(out):
    write(out, row("a", "ok", 0.1, "l1"), row("b", "failed"), row("c", "interrupted"))
    again = row("c", "ok", 0.3, "l1"), row("d", "ok", 0.4, "l1")
    write(out, row("a", "failed"), row("b", "interrupted"), *again)
    write(out, row("d", "ok", 0.5, "l1"))
    frame = reader.load_records(out).set_index("key")
    expected = {"a": "ok", "b": "failed", "c": "ok", "d": "ok"}
    assert frame["status"].to_dict() == cell_states(out) == expected
    assert frame.loc["d", "value"] == 0.5  # the latest of two
    write(out, row("a", "undefined"))
    assert cell_states(out)["a"] == "undefined"  # as good as ok, and later


@pytest.mark.parametrize("order", [1, -1])
def test_a_cell_with_one_number_is_ok_in_any_order_of_its_estimates(out, order):
    common, _ = row("a", "ok")
    rows = [
        {"status": "ok", "value": 0.1, "estimand": "l1"},
        {"status": "undefined", "value": np.inf, "estimand": "kl"},
    ]
    for _ in range(2):
        write(out, (common, rows[::order]))
    assert cell_states(out) == {"a": "ok"}
    assert reader.status_counts(out) == [("e", "p", "ok", 1)]
    frame = reader.load_records(out)
    assert dict(zip(frame["estimand"], frame["status"])) == {"l1": "ok", "kl": "undefined"}
    assert len(frame) == 2


def test_load_from_folder_records_folder_or_file(out):
    harness.run(RUN)
    whole = harness.load_records(out)
    assert len(whole) == len(harness.load_records(out / "records"))
    one = harness.load_records(parts.part_files(out)[0])
    assert 0 < len(one) <= len(whole) and one["truth"].notna().all()
    assert harness.load_records(out, keys=list(whole["key"])[:1])["key"].nunique() == 1


def test_empty_and_missing_folders(out):
    out.mkdir()
    assert len(harness.load_records(out)) == 0 and "truth" in harness.load_records(out)
    with pytest.raises(BadInputError, match="does not exist"):
        harness.load_records(out / "nothing")


# Records of earlier versions


def test_records_under_an_earlier_id_have_todays(out):
    harness.run([*RUN, f"out={out}"])
    for path in parts.part_files(out):
        table = pq.read_table(path)
        position = table.column_names.index("estimator")
        names = ["earlier" if n == "binned15" else n for n in table["estimator"].to_pylist()]
        column = pa.array(names, table.schema.field(position).type)
        replace_part(path, table.set_column(position, "estimator", column))
    assert set(Experiment.of([*RUN, f"out={out}"]).records.read()["estimator"]) == {
        "binned15",
        "debiased15",
    }


@pytest.mark.parametrize("name", ["part-0.parquet", "part-z.parquet"])
def test_parts_with_another_or_no_column_diagnostics_are_read(out, name):
    """The column was called `parts`, and did not exist before. Any part may be read first."""
    old = write(out, row("a", "ok", 0.1, "l1", diagnostics=DIAGNOSTICS))
    table = pq.read_table(old)
    names = [{"diagnostics": "parts"}.get(name, name) for name in table.column_names]
    replace_part(old, table.rename_columns(names))
    oldest = write(out, row("b", "ok", 0.2, "l1", diagnostics=DIAGNOSTICS))
    oldest = replace_part(oldest, pq.read_table(oldest).drop_columns(list(schema.LATER)), name)
    alone = reader.load_records(oldest)
    assert (
        list(alone.columns) == list(reader.empty_frame().columns)
        and parts.broken_reason(oldest) is None
    )
    assert alone["diagnostics"].isna().all()
    write(out, row("c", "ok", 0.3, "l1", diagnostics=DIAGNOSTICS))
    for _ in range(2):
        frame = reader.load_records(out).set_index("key")
        assert frame["value"].to_dict() == {"a": 0.1, "b": 0.2, "c": 0.3}
        assert frame["diagnostics"].fillna("none").tolist() == [DIAGNOSTICS, "none", DIAGNOSTICS]
        assert cell_states(out) == dict.fromkeys("abc", "ok")
        compaction.compact(out)
    (joined,) = parts.part_files(out)
    assert "parts" not in pq.read_table(joined).column_names


def test_another_missing_column_is_a_broken_part(out):
    """A part that lacks a column is broken, also if other parts have the column."""
    write(out, row("a", "ok", 0.1, "l1"))
    part = write(out, row("b", "ok", 0.2, "l1"))
    part = replace_part(part, pq.read_table(part).drop_columns(["low", "rep"]))
    assert parts.broken_reason(part) == "columns rep, low are missing"
    for read in (reader.load_records, cell_states, reader.status_counts):
        with pytest.raises(
            BadInputError, match=f"{part.name} is not .*columns rep, low are missing"
        ):
            read(out)
    assert compaction.compact(out) == (1, 0) and len(parts.part_files(out)) == 2


# Truths


@pytest.mark.slow
def test_reading_computes_no_truths(out, cli):
    experiment = Experiment.of(RUN)
    experiment.compute(quiet=True)
    (path,) = (out / "truths").glob("*.json")
    path.unlink()
    assert experiment.records.read()["truth"].isna().all() and not path.exists()
    missing = "truths are missing for 1 problem, such as binary l1 of beta_wavy"
    code, text, _ = cli("report", *RUN)
    assert code == 0 and missing in " ".join(text.split()) and not path.exists()
    code, text, _ = cli(*RUN)  # only the truths are left to compute
    assert code == 0 and path.exists() and missing not in " ".join(text.split())
    assert experiment.records.read()["truth"].notna().all()


def test_an_unknown_truth_is_stored(out, module):
    module(
        "half_known",
        "import numpy as np\n"
        "class Half:\n"
        "    def sample(self, n, rng):\n"
        "        return rng.random(n), rng.integers(0, 2, n)\n"
        "    def truth(self, estimand, notion):\n"
        "        return 0.25 if estimand == 'l1' else None\n",
    )
    run = [
        "+problem.half._target_=half_known.Half",
        "estimator=[binned15]",
        "n=[20]",
        "reps=1",
        "jobs=1",
        "name=half",
    ]
    truths = harness.run(run).set_index("estimand")["truth"]
    assert truths["l1"] == 0.25 and truths.drop("l1").isna().all()
    (path,) = (out / "truths").glob("*.json")
    assert json.loads(path.read_text())["binary|l2_squared"] is None
    experiment = Experiment.of(run)
    assert experiment.records.missing_truths(experiment.records.read()) == {}


def test_truths_are_stored_once_per_problem(out):
    harness.run(RUN)
    (path,) = (out / "truths").glob("*.json")
    value, error, method = json.loads(path.read_text())["binary|l1"]
    truth = harness.load_problem("beta_wavy").truth("l1")
    assert (value, error, method) == (truth.value, 0.0, truth.method) and truth.error < 1e-12
    stamp = path.stat().st_mtime_ns
    harness.run(RUN)
    assert path.stat().st_mtime_ns == stamp


# Damage


@pytest.mark.parametrize("damage", ["garbage", *slow("cut", "columns")])
def test_a_corrupt_part_stops_with_its_name_and_nothing_is_overwritten(out, cli, damage):
    harness.run(RUN)
    victim = parts.part_files(out)[0]
    if damage == "columns":
        pq.write_table(pa.table({"key": ["a"], "status": ["ok"]}), victim)
    else:
        victim.write_bytes(victim.read_bytes()[:-100] if damage == "cut" else b"not parquet at all")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code, _, err = cli(*RUN)
    assert code == 2 and str(victim) in err and "calharness doctor" in err
    assert len(err.strip().splitlines()) == 1
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    text, problems = examine(out)
    assert problems == 1 and f"PROBLEM  {victim} cannot be read" in text
    text, problems = examine(out, repair=True)
    assert problems == 0 and f"moved    {victim} to {out / 'broken'}" in text
    names = sorted(path.name for path in (out / "broken").iterdir())
    assert names == ["NOTES.txt", f"records-{victim.name}"]
    assert "nothing to repair" in examine(out, repair=True)[0]
    harness.run(RUN)
    assert examine(out, RUN)[1] == 0


def test_no_flipped_bit_of_a_part_or_a_truth_is_believed(out):
    rows = len(harness.run(RUN))
    part, truth = parts.part_files(out)[0], next(iter((out / "truths").glob("*.json")))
    whole = part.read_bytes()
    for bit in np.random.default_rng(0).integers(0, 8 * len(whole), 25):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << (bit % 8)
        part.write_bytes(changed)
        with pytest.raises(BadInputError, match="bytes"):
            reader.load_records(out)
    part.write_bytes(whole)
    before = truth.read_text()
    number = re.search(r"0[.]\d+", before)[0]
    other = number[:-1] + str((int(number[-1]) + 1) % 10)
    without_digest = {key: value for key, value in json.loads(before).items() if key != "digest"}
    for content, reason in (
        (before.replace(number, other, 1), "was changed after it was written"),
        (json.dumps(without_digest), "has no digest"),
        ("[]", "contains a list"),
        ("null", "contains nothing"),
        ('"text"', "contains a str"),
        ('{"binary|l1": 0.1}', "has the entry 0.1 for binary"),
    ):
        truth.write_text(content)
        with pytest.raises(BadInputError, match=f"{truth.name} {reason}.*computed again"):
            reader.load_records(out)
        assert f"PROBLEM  {truth} {reason}" in examine(out)[0]
    truth.write_text(before)
    assert len(reader.load_records(out)) == rows and examine(out)[1] == 0


def test_provenance_leads_from_a_record_to_versions_and_configuration(out):
    (run_id,) = harness.run(RUN)["run_id"].unique()
    run = json.loads((out / "runs" / f"{run_id}.json").read_text())
    assert run["state"] == "finished" and run["config"]["reps"] == 3
    assert run["versions"]["numpy"] == np.__version__
    assert run["cells"]["todo"] == 12 and run["processor"] and run["threads_per_worker"] == 1


def test_diagnostics_of_a_users_estimator_are_recorded_as_json(out, module):
    module(
        "in_diagnostics",
        "from harness import Estimate\n"
        "def whole(p, y):\n"
        "    l1 = Estimate(0.5, diagnostics={'first': 0.2, 'second': 0.3})\n"
        "    return {'l1': l1, 'kl': Estimate(1.0, diagnostics={})}\n"
        "def odd(p, y):\n"
        "    return {'l1': Estimate(0.5, diagnostics={'first': 'much' if len(p) > 16 else 0.5})}\n",
    )
    targets = [f"+estimator.{name}._target_=in_diagnostics.{name}" for name in ("whole", "odd")]
    run = [
        "problem=[beta_wavy]",
        "estimator=[binned15]",
        "n=[20]",
        "reps=1",
        "jobs=1",
        "name=diagnostics",
    ]
    records = harness.run([*run, *targets])
    of = {name: group.set_index("estimand") for name, group in records.groupby("estimator")}
    assert json.loads(of["whole"].loc["l1", "diagnostics"]) == {"first": 0.2, "second": 0.3}
    assert of["whole"]["diagnostics"].notna().sum() == 1
    assert of["binned15"]["diagnostics"].isna().all()
    assert of["odd"]["status"].eq("failed").all()
    assert "diagnostics must be numbers" in of["odd"]["reason"].iloc[0]


# Readers while parts are joined


def test_a_reader_lists_again_the_parts_that_were_joined(out):
    for key in "abcdefgh":
        write(out, row(key, "ok", 0.1, "l1"))
    list_parts = parts.part_files

    def join_after_listing(folder):
        files = list_parts(folder)
        if len(files) > 1:
            patch.setattr(parts, "part_files", list_parts)
            compaction.compact(folder)
        return files

    for read in (cell_states, lambda out: set(reader.load_records(out)["key"])):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parts, "part_files", join_after_listing)
            assert set(read(out)) == set("abcdefgh")
        write(out, row("a", "ok", 0.1, "l1"))


def test_no_progress_bar_of_duckdb_is_shown(out):
    """DuckDB shows one after two seconds in a process without a script, such as a notebook."""
    harness.run([*RUN, f"out={out}"])
    code = "import sys; from harness.records import reader; "
    code += "from pathlib import Path; print(reader.query(Path(sys.argv[1]), sys.argv[2])[0][0])"
    setting = "select current_setting('enable_progress_bar')"
    command = [sys.executable, "-c", code, str(out), setting]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_records_are_read_in_jupyter_without_ipywidgets(out):
    """DuckDB then refuses to change the setting of its progress bar, which it does not show."""
    harness.run([*RUN, f"out={out}"])
    code = """if True:
        import sys, types
        from pathlib import Path

        kernel = types.SimpleNamespace(config={"IPKernelApp": {}})
        module = types.ModuleType("IPython")
        module.get_ipython = lambda: kernel
        sys.modules |= {"IPython": module, "ipywidgets": None}
        import duckdb
        try:
            duckdb.connect().execute("set enable_progress_bar = false")
        except duckdb.InvalidInputException:
            print("refused")

        import harness
        print(len(harness.load_records(Path(sys.argv[1]))))
    """
    done = subprocess.run([sys.executable, "-c", code, str(out)], capture_output=True, text=True)
    refused, rows = done.stdout.split()
    assert refused == "refused" and int(rows) > 0, done.stderr


def test_texts_that_repeat_are_categories(out):
    run = ["problem=[beta_wavy]", "estimator=[binned15,simplex_ece]", "n=20", "reps=30"]
    records = harness.run([*run, "engine=serial", f"out={out}"])
    coded, plain = harness.load_records(out), harness.load_records(out, categories=False)
    texts = list(reader.ENUMS)
    assert all(isinstance(coded[name].dtype, pd.CategoricalDtype) for name in texts)
    assert not any(isinstance(plain[name].dtype, pd.CategoricalDtype) for name in texts)
    pd.testing.assert_frame_equal(plain, records.drop(columns="experiment"))
    as_objects = coded.astype(dict.fromkeys(texts, "object"))
    pd.testing.assert_frame_equal(as_objects.fillna(np.nan), plain.fillna(np.nan))
    summaries = harness.evaluate(coded), harness.evaluate(plain)
    pd.testing.assert_frame_equal(*summaries, check_dtype=False)
    columns, keys = ["truth", "n", "estimand"], list(coded["key"].unique()[:3])
    some = harness.load_records(out, columns=columns, keys=keys)
    assert list(some.columns) == columns and 0 < len(some) < len(coded)
    assert some["truth"].notna().any()
    with pytest.raises(BadInputError, match="columns contains 'valeu'"):
        harness.load_records(out, columns=["valeu"])
    for keys in (["none"], []):
        nothing = harness.load_records(out, keys=keys)
        assert len(nothing) == 0 and list(nothing.columns) == list(coded.columns)


def test_times_of_long_records_are_those_of_a_sample(out, monkeypatch):
    for _ in range(2):
        write_cells(out, *range(500), cpu_seconds=0.25)
    exact = reader.seconds_per_cell(out)
    monkeypatch.setattr(reader, "SAMPLED_BYTES", 2000)
    assert reader.seconds_per_cell(out) == exact and exact[0][-1] == 0.25


def test_cells_without_seconds_have_no_part_in_the_times(out):
    write_cells(out, 1, 2, cpu_seconds=None)
    assert reader.seconds_per_cell(out) == []
    write_cells(out, 3, cpu_seconds=0.5)
    assert [row[-1] for row in reader.seconds_per_cell(out)] == [0.5]
