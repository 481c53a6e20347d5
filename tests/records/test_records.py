"""The store: parts, best attempts, corruption, compaction, truths, doctor."""

import json
import re

import numpy as np
import pytest
from slow_params import slow

import harness
from harness.commands.experiment import Experiment
from harness.commands.health import examine, status_text
from harness.errors import BadInputError
from harness.records import compaction, parts, reader, schema

RUN = [
    "problem=[beta_wavy]",
    "estimator=[binned15,debiased15]",
    "n=[50,100]",
    "reps=3",
    "jobs=1",
    "name=store",
]


def row(key, status, value=None, estimand=None, **more):
    common = {
        "key": key, "problem": "p", "problem_key": "00", "problem_parameters": "{}", "notion": "binary", "n": 10, "rep": 0,
        "estimator": "e", "estimator_key": "11", "estimator_parameters": "{}", "seed": 0, "run_id": "r",
    }  # fmt: skip
    return {**common, **more}, [{"status": status, "value": value, "estimand": estimand}]


def write(out, *rows):
    part = parts.Part(out)
    for one in rows:
        part.add(*one)
    part.write()


def test_the_best_attempt_of_a_cell_is_taken(out):
    write(out, row("a", "ok", 0.1, "l1"), row("b", "failed"), row("c", "interrupted"))
    write(
        out,
        row("a", "failed"),
        row("b", "interrupted"),
        row("c", "ok", 0.3, "l1"),
        row("d", "ok", 0.4, "l1"),
    )
    write(out, row("d", "ok", 0.5, "l1"))
    found = reader.load_records(out).set_index("key")
    assert found["status"].to_dict() == {"a": "ok", "b": "failed", "c": "ok", "d": "ok"}
    assert found.loc["d", "value"] == 0.5  # the latest of two
    assert reader.cell_states(out) == {"a": "ok", "b": "failed", "c": "ok", "d": "ok"}


@pytest.mark.parametrize("undefined_first", [True, False])
def test_a_cell_with_one_number_is_ok_in_whatever_order_its_estimates_come(out, undefined_first):
    common, _ = row("a", "ok")
    rows = [
        {"status": "ok", "value": 0.1, "estimand": "l1"},
        {"status": "undefined", "value": np.inf, "estimand": "kl"},
    ]
    for _ in range(2):  # and tried twice
        write(out, (common, rows[::-1] if undefined_first else rows))
    assert reader.cell_states(out) == {"a": "ok"}
    assert reader.status_counts(out) == [("e", "ok", 1)]
    found = reader.load_records(out)
    assert (
        dict(zip(found["estimand"], found["status"])) == {"l1": "ok", "kl": "undefined"}
        and len(found) == 2
    )


def test_of_finished_attempts_the_latest_counts(out):
    write(out, row("a", "ok", 0.1, "l1"))
    write(out, row("a", "undefined"))
    assert reader.cell_states(out) == {"a": "undefined"}
    assert reader.load_records(out)["status"].tolist() == ["undefined"]


def of_before(path, table):
    """A table in place of a part, under a name without a digest, as earlier versions gave; its path."""
    import pyarrow.parquet as pq

    path.unlink()
    named = path.with_name(f"part-{path.stem.split('-')[1] * 2}.parquet")
    pq.write_table(table, named)
    return named


def test_records_under_an_id_of_before_are_shown_by_the_id_of_today(out):
    import pyarrow as pa
    import pyarrow.parquet as pq

    harness.run([*RUN, f"out={out}"])
    for path in parts.part_files(out):
        table = pq.read_table(path)
        at = table.column_names.index("estimator")
        named = [
            "an_earlier_name" if name == "binned15" else name
            for name in table["estimator"].to_pylist()
        ]
        of_before(
            path, table.set_column(at, "estimator", pa.array(named, table.schema.field(at).type))
        )
    found = Experiment.of([*RUN, f"out={out}"]).records()
    assert set(found["estimator"]) == {"binned15", "debiased15"} and set(found["problem"]) == {
        "beta_wavy"
    }


def test_records_of_earlier_versions_are_read(out):
    """The column diagnostics was called parts, and not there at all before."""
    import pyarrow.parquet as pq

    common, _ = row("a", "ok")
    for key, version in (("a", "parts"), ("b", "neither"), ("c", "diagnostics")):
        before = set(parts.part_files(out))
        write(
            out,
            (
                {**common, "key": key},
                [{"status": "ok", "value": 0.1, "estimand": "l1", "diagnostics": '{"bins": 9.0}'}],
            ),
        )
        (path,) = set(parts.part_files(out)) - before
        table = pq.read_table(path)
        if version == "parts":
            table = table.rename_columns(
                ["parts" if name == "diagnostics" else name for name in table.column_names]
            )
        elif version == "neither":
            table = table.drop_columns(["diagnostics"])
        path = of_before(path, table)
        alone = reader.load_records(path)
        assert list(alone.columns) == list(reader.empty_frame().columns)
        assert alone["diagnostics"].fillna("none").tolist() == [
            "none" if version == "neither" else '{"bins": 9.0}'
        ]
    for _ in range(2):
        found = reader.load_records(out).set_index("key")["diagnostics"]
        assert found[["a", "c"]].tolist() == ['{"bins": 9.0}'] * 2 and found.isna()["b"]
        assert reader.cell_states(out) == dict.fromkeys("abc", "ok")
        compaction.compact(out)
    assert (
        len(parts.part_files(out)) == 1
        and "parts" not in pq.read_table(parts.part_files(out)[0]).column_names
    )


def test_load_from_folder_records_folder_or_file(out):
    harness.run(RUN)
    whole = harness.load_records(out)
    assert len(whole) == len(harness.load_records(out / "records"))
    one = harness.load_records(parts.part_files(out)[0])
    assert 0 < len(one) <= len(whole) and one["truth"].notna().all()
    assert len(harness.load_records(out, keys=list(whole["key"])[:1])["key"].unique()) == 1


def test_empty_and_missing_folders(out):
    out.mkdir()
    assert len(harness.load_records(out)) == 0 and "truth" in harness.load_records(out)
    with pytest.raises(BadInputError, match="does not exist"):
        harness.load_records(out / "nothing")


@pytest.mark.slow
def test_reading_computes_no_truths(out, cli):
    experiment = Experiment.of(RUN)
    experiment.compute(quiet=True)
    (path,) = (out / "truths").glob("*.json")
    path.unlink()
    assert experiment.records()["truth"].isna().all() and not path.exists()
    said = "no truth is stored of beta_wavy (binary l1, binary l2_squared, binary linf and more)"
    code, text, _ = cli("report", *RUN)
    assert code == 0 and said in " ".join(text.split()) and not path.exists()
    code, text, _ = cli(*RUN)  # nothing is left to compute but the truths
    assert code == 0 and path.exists() and said not in " ".join(text.split())
    assert experiment.records()["truth"].notna().all()
    code, text, _ = cli("report", *RUN)
    assert said not in " ".join(text.split())


def test_that_a_problem_knows_no_truth_is_stored(out, module):
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
    frame = harness.run(run).set_index("estimand")
    assert frame["truth"]["l1"] == 0.25 and frame["truth"].drop("l1").isna().all()
    (path,) = (out / "truths").glob("*.json")
    assert json.loads(path.read_text())["binary|l2_squared"] is None
    experiment = Experiment.of(run)
    assert experiment.missing_truths(experiment.records()) == {}


def test_truths_are_stored_once_per_problem(out):
    harness.run(RUN)
    (path,) = (out / "truths").glob("*.json")
    stored = json.loads(path.read_text())
    value, error, method = stored["binary|l1"]
    truth = harness.load_problem("beta_wavy").truth("l1")
    assert (value, error, method) == (truth.value, 0.0, truth.method) and truth.error < 1e-12
    stamp = path.stat().st_mtime_ns
    harness.run(RUN)
    assert path.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("damage", ["garbage", *slow("cut", "columns")])
def test_a_corrupt_part_stops_with_its_name_and_nothing_is_overwritten(out, cli, damage):
    harness.run(RUN)
    victim = parts.part_files(out)[0]
    if damage == "cut":
        victim.write_bytes(victim.read_bytes()[:-100])
    elif damage == "garbage":
        victim.write_bytes(b"not parquet at all")
    else:
        import pandas as pd

        pd.DataFrame({"key": ["a"], "status": ["ok"]}).to_parquet(victim)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    code, _, err = cli(*RUN)
    assert (
        code == 2
        and str(victim) in err
        and "calharness doctor" in err
        and len(err.strip().splitlines()) == 1
    )
    assert before == {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    text, problems = examine(out)
    assert problems == 1 and f"PROBLEM  {victim} cannot be read" in text
    text, problems = examine(out, repair=True)
    assert problems == 0 and f"moved    {victim} to {out / 'broken'}" in text
    assert [path.name for path in sorted((out / "broken").iterdir())] == [
        "NOTES.txt",
        f"records-{victim.name}",
    ]
    assert "nothing to repair" in examine(out, repair=True)[0]
    harness.run(RUN)
    assert examine(out, RUN)[1] == 0


def test_no_flipped_bit_of_a_part_or_a_truth_is_believed(out):
    """Every part has a digest: whichever bit changes, the part is refused by name; so is a changed number among the truths."""
    rows = len(harness.run(RUN))
    part, truth = parts.part_files(out)[0], next(iter((out / "truths").glob("*.json")))
    whole = part.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(0, 8 * len(whole), 25):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << (at % 8)
        part.write_bytes(changed)
        with pytest.raises(BadInputError, match="its bytes are not those that were written"):
            reader.load_records(out)
    part.write_bytes(whole)
    before = truth.read_text()
    number = re.search(r"0[.]\d+", before)[0]
    for content, said in (
        (before.replace(number, number[:-1] + str((int(number[-1]) + 1) % 10), 1), "was changed after it was written"),
        ("[]", "holds a list"), ("null", "holds nothing"), ('"text"', "holds a str"), ('{"binary|l1": 0.1}', "has 0.1 of binary"),
    ):  # fmt: skip
        truth.write_text(content)
        with pytest.raises(BadInputError, match=f"{truth.name} {said}.*computed again"):
            reader.load_records(out)
        assert f"PROBLEM  {truth} {said}" in examine(out)[0]
    truth.write_text(json.dumps({k: v for k, v in json.loads(before).items() if k != "digest"}))
    with pytest.raises(BadInputError, match=f"{truth.name} has no digest"):
        reader.load_records(out)
    truth.write_text(before)
    assert len(reader.load_records(out)) == rows and examine(out)[1] == 0


def test_who_reads_while_parts_are_joined_reads_all(out):
    """Parts that go between being listed and being read are looked for again."""
    for key in "abcdefgh":
        write(out, row(key, "ok", 0.1, "l1"))
    listed = parts.part_files

    def joined_in_between(folder):
        found = listed(folder)
        if len(found) > 1:
            patch.setattr(parts, "part_files", listed)
            compaction.compact(folder)
        return found

    for read in (reader.cell_states, lambda out: set(reader.load_records(out)["key"])):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parts, "part_files", joined_in_between)
            assert set(read(out)) == set("abcdefgh")
        write(out, row("a", "ok", 0.1, "l1"))


@pytest.mark.slow
def test_compaction_keeps_every_row(out):
    for reps in (1, 2, 3):
        harness.run([*RUN[:3], f"reps={reps}", *RUN[4:]])
    before = harness.run(RUN)
    assert len(parts.part_files(out)) > 1
    text, problems = examine(out, compact=True)
    assert problems == 0 and "compacted" in text and len(parts.part_files(out)) == 1
    after = harness.run(RUN)
    assert before["value"].tolist() == after["value"].tolist() and len(parts.part_files(out)) == 1


@pytest.mark.slow
def test_doctor_finds_what_is_wrong(out):
    harness.run(RUN)
    assert examine(out)[1] == 0 and examine(out, RUN)[1] == 0
    text, problems = examine(out, [*RUN[:3], "reps=4", *RUN[4:]])
    assert problems == 1 and "4 missing" in text
    (out / "records" / ".part-x.parquet.tmp").write_bytes(b"half")
    text, problems = examine(out)
    assert problems == 0 and ".part-x.parquet.tmp" in text
    write(out, row("z", "ok", 0.1, "l1", run_id="lost"))
    write(out, row("z", "ok", 0.2, "l1", run_id="lost"))
    text, problems = examine(out)
    assert problems == 2 and "records that differ" in text and "run lost has records but no" in text
    (next((out / "truths").glob("*.json"))).write_text("{")
    assert "is not valid JSON" in examine(out)[0]


def test_status_counts_cells(out):
    Experiment.of(["experiment=smoke", "n=50", "reps=2", "jobs=1"]).compute(quiet=True)
    text = status_text(out)
    line = next(line for line in text.splitlines() if line.startswith("binned15 "))
    assert line.split()[1:] == [
        "4",
        "2",
        "0",
        "0",
        "0",
    ]  # two binary problems, the canonical one skipped
    assert "smoke" in text and "finished" in text
    assert "0 parts" in status_text(out / "elsewhere")


def test_provenance_leads_from_a_record_to_versions_and_configuration(out):
    frame = harness.run(RUN)
    (run_id,) = frame["run_id"].unique()
    run = json.loads((out / "runs" / f"{run_id}.json").read_text())
    assert (
        run["state"] == "finished"
        and run["config"]["reps"] == 3
        and run["versions"]["numpy"] == np.__version__
    )
    assert run["cells"]["todo"] == 12 and run["processor"] and run["threads_per_worker"] == 1


# Parts of an estimate, and records of before there were any


def without_diagnostics(path):
    """The same file as the first version wrote it."""
    import pyarrow.parquet as pq

    return of_before(path, pq.read_table(path).drop_columns(list(schema.LATER)))


def test_diagnostics_are_recorded_as_json(out):
    common, (of_row,) = row("a", "ok", 0.1, "l1")
    write(
        out,
        (
            common,
            [
                {**of_row, "diagnostics": json.dumps({"split_sd": 0.25})},
                {**of_row, "estimand": "kl"},
            ],
        ),
    )
    found = reader.load_records(out).set_index("estimand")["diagnostics"]
    assert json.loads(found["l1"]) == {"split_sd": 0.25} and found.isna().tolist() == [True, False]
    assert schema.LATER == ("diagnostics",) and schema.LATER[0] in schema.COLUMNS


def test_an_estimator_of_a_strangers_may_give_diagnostics(out, module):
    module(
        "in_diagnostics",
        "from harness import Estimate\n"
        "def whole(p, y):\n"
        "    return {'l1': Estimate(0.5, diagnostics={'first': 0.2, 'second': 0.3}), 'kl': Estimate(1.0, diagnostics={})}\n"
        "def odd(p, y):\n"
        "    return {'l1': Estimate(0.5, diagnostics={'first': 'much' if len(p) > 16 else 0.5})}\n",
    )
    targets = [f"+estimator.{name}._target_=in_diagnostics.{name}" for name in ("whole", "odd")]
    frame = harness.run(
        [
            "problem=[beta_wavy]",
            "estimator=[binned15]",
            *targets,
            "n=[20]",
            "reps=1",
            "jobs=1",
            "name=diagnostics",
        ]
    )
    of = {name: group.set_index("estimand") for name, group in frame.groupby("estimator")}
    assert json.loads(of["whole"].loc["l1", "diagnostics"]) == {"first": 0.2, "second": 0.3}
    assert (
        of["whole"]["diagnostics"].notna().sum() == 1 and of["binned15"]["diagnostics"].isna().all()
    )
    assert (
        set(of["odd"]["status"]) == {"failed"}
        and "diagnostics must be numbers" in of["odd"]["reason"].iloc[0]
    )


@pytest.mark.slow
def test_records_without_diagnostics_stay_readable(out):
    new = harness.run(RUN)
    for path in parts.part_files(out):
        assert parts.broken_reason(without_diagnostics(path)) is None
    before = parts.part_files(out)
    old = harness.load_records(out)
    assert (
        list(old.columns) == [*schema.COLUMNS, "truth", "truth_error"]
        and old["diagnostics"].isna().all()
    )
    assert old["value"].tolist() == new["value"].tolist()
    assert len(reader.cell_states(out)) == 12 and len(harness.run(RUN)) == len(new)
    assert parts.part_files(out) == before  # nothing was computed again
    assert examine(out, RUN)[1] == 0


@pytest.mark.parametrize("newer_first", [True, False])
def test_records_with_and_without_diagnostics_go_together(out, newer_first):
    """Whichever file is read first, and compacted too."""
    write(out, row("a", "ok", 0.1, "l1"))
    without_diagnostics(parts.part_files(out)[0])
    common, (of_row,) = row("b", "ok", 0.2, "l1")
    write(out, (common, [{**of_row, "diagnostics": '{"split_sd": 0.5}'}]))
    older = next(
        path
        for path in parts.part_files(out)
        if "a" in reader.query([path], "select key from r")[0]
    )
    older.rename(older.with_name("part-z.parquet" if newer_first else "part-0.parquet"))
    for _ in range(2):
        found = reader.load_records(out).set_index("key")
        assert found["value"].to_dict() == {"a": 0.1, "b": 0.2}
        assert found.loc["b", "diagnostics"] == '{"split_sd": 0.5}' and found["diagnostics"].isna()[
            ["a", "b"]
        ].tolist() == [
            True,
            False,
        ]
        assert reader.cell_states(out) == {"a": "ok", "b": "ok"}
        compaction.compact(out)
    assert len(parts.part_files(out)) == 1


def test_another_missing_column_is_a_broken_part(out):
    """Beside whole parts as well, whose columns would fill its gaps with nothing."""
    import pyarrow.parquet as pq

    write(out, row("a", "ok", 0.1, "l1"))
    write(out, row("b", "ok", 0.2, "l1"))
    victim = parts.part_files(out)[1]
    victim = of_before(victim, pq.read_table(victim).drop_columns(["low", "rep"]))
    assert parts.broken_reason(victim) == "columns rep, low are missing"
    for read in (reader.load_records, reader.cell_states, reader.status_counts):
        with pytest.raises(
            BadInputError,
            match=f"{victim.name} is not a readable record part .columns rep, low are missing",
        ):
            read(out)
    assert compaction.compact(out) == (1, 0) and len(parts.part_files(out)) == 2
