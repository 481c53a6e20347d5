"""Arrays of an estimate: from the estimator through records and Parquet to a DataFrame."""

import numpy as np
import pandas as pd
import pytest

import harness
from harness import BadInputError, Estimate
from harness.contract.check import check, report
from harness.estimators.application import MOST_NUMBERS, apply
from harness.records import compaction, parts, tables
from harness.workflow.experiment import Experiment

CODE = """
import numpy as np
from harness import Estimate

def diagram(p, y):
    "The error of the mean, with the mean outcome of each half of the predictions."
    half = p < 0.5
    share = [y[half].mean() if half.any() else np.nan, y[~half].mean() if (~half).any() else np.nan]
    arrays = {"share": share, "count": np.array([half.sum(), (~half).sum()])}
    return {"l1": Estimate(abs(p.mean() - y.mean()), arrays=arrays), "kl": 0.1}

def long(p, y):
    return Estimate(0.5, arrays={"a": np.zeros(60_000), "b": np.zeros(60_000)})
"""
RUN = ["problem=[beta_wavy]", "estimator=[binned15]", "n=[50]", "reps=2", "name=arrays"]


def run(module, *more, name="diagram"):
    """Run `binned15` and a function of CODE; return the records."""
    module("in_arrays", CODE)
    return harness.run([*RUN, f"+estimator.mine._target_=in_arrays.{name}", *more])


def shares(records):
    """Return the array `share` of each record that has arrays."""
    return np.stack([dict(arrays)["share"] for arrays in records["arrays"].dropna()])


@pytest.mark.parametrize("engine", ["jobs=1", "engine=serial"])
def test_arrays_of_a_cell_are_in_its_records_and_pandas_opens_them(out, module, engine):
    records = run(module, engine)
    mine = records[records["estimator"].eq("mine") & records["estimand"].eq("l1")]
    assert len(mine) == 2 and records["arrays"].notna().sum() == 2
    for arrays in mine["arrays"]:
        assert {name: a.dtype for name, a in arrays.items()} == dict.fromkeys(
            ("share", "count"), np.dtype(float)
        )
        assert arrays["count"].sum() == 50 and (arrays["share"] <= 1).all()
    plain = pd.concat([pd.read_parquet(path) for path in parts.part_files(out)])
    assert sorted(shares(plain).tolist()) == sorted(shares(records).tolist())

    compaction.compact(out)
    again = harness.load_records(out, columns=["estimator", "rep", "estimand", "arrays"])
    assert len(again) == len(records) and np.array_equal(shares(again), shares(records))


def test_parts_without_the_column_are_read_beside_parts_with_it(out, module):
    first = run(module, "jobs=1")
    for path in parts.part_files(out):
        pd.read_parquet(path).drop(columns="arrays").to_parquet(
            path.with_name(f"part-{path.stem.split('-')[1] * 2}.parquet")
        )
        path.unlink()
    old = harness.load_records(out)
    assert len(old) == len(first) and old["arrays"].isna().all()
    both = run(module, "jobs=1", "reps=3")
    assert (
        both["arrays"].notna().tolist()
        == (both["estimator"].eq("mine") & both["estimand"].eq("l1") & both["rep"].eq(2)).tolist()
    )


def test_stored_tables_keep_arrays_and_have_the_column_only_for_them(out, module, tmp_path):
    module("in_arrays", CODE)
    experiments = [
        Experiment.of([*RUN, "jobs=1", *more])
        for more in ([], ["+estimator.mine._target_=in_arrays.diagram"])
    ]
    for number, experiment in enumerate(experiments):
        experiment.compute(quiet=True)
        frame = experiment.records.read_own()
        path = tmp_path / f"{number}.parquet"
        tables.store(frame, experiment.plan, out, path)
        plain = pd.read_parquet(path)
        assert ("arrays" in plain) == bool(number)
        unpacked = tmp_path / f"unpacked{number}"
        tables.unpack(path, experiment.plan, unpacked)
        again = harness.load_records(unpacked)
        assert again["value"].tolist() == frame["value"].tolist()
        assert again["arrays"].isna().tolist() == frame["arrays"].isna().tolist()
    for records in (plain, again, tables.read(path)):
        assert np.array_equal(shares(records.sort_values("rep")), shares(frame), equal_nan=True)


def test_summaries_are_those_without_arrays(out, module):
    records = run(module, "jobs=1")
    without = records.drop(columns="arrays")
    pd.testing.assert_frame_equal(harness.evaluate(records), harness.evaluate(without))


def test_too_long_arrays_fail_their_cell_in_a_sentence(out, module):
    records = run(module, "jobs=1", name="long")
    failed = records[records["estimator"].eq("mine")]
    assert failed["status"].eq("failed").all() and records["status"].eq("ok").any()
    assert failed["reason"].str.contains("120,000 numbers; at most 100,000").all()


def estimate(arrays):
    p, y = np.full(3, 0.5), np.array([0, 1, 1])
    return apply(lambda p, y: Estimate(0.5, arrays=arrays), p, y, "binary", None)["l1"]


@pytest.mark.parametrize(
    "arrays",
    [
        [1.0],
        np.zeros(3),
        {"a": 1.0},
        {"a": np.zeros((2, 2))},
        {"a": ["much"]},
        {"a": None},
        {"a": [1j]},
        {"a": np.array([1, None])},
    ],
)
def test_arrays_are_named_rows_of_numbers(arrays):
    with pytest.raises(BadInputError, match="l1"):
        estimate(arrays)


def test_arrays_are_copies_as_doubles():
    work = np.arange(3, dtype=np.float32)
    result = estimate({"a": work, 2: [True, False], "none": []}).arrays
    work[:] = 7
    assert {name: a.tolist() for name, a in result.items()} == {
        "a": [0.0, 1.0, 2.0],
        "2": [1.0, 0.0],
        "none": [],
    }
    assert estimate({}).arrays is None
    assert len(estimate({"a": np.zeros(MOST_NUMBERS)}).arrays["a"]) == MOST_NUMBERS
    assert Estimate(0.5, arrays={"a": work}) == Estimate(0.5, arrays={"a": work + 1})


def test_an_estimator_with_arrays_keeps_the_contract(module):
    module("in_arrays", CODE.replace('"kl": 0.1', ""))
    findings = check("in_arrays.diagram")
    assert not [f for f in findings if f.outcome == "failed"], report(findings)


def test_records_with_many_numbers_are_written_early(out):
    """A cell adds its numbers, and writing resets them."""
    part = parts.Part(out)
    common = {
        "key": "a", "problem": "p", "problem_key": "00", "problem_parameters": "{}",
        "notion": "binary", "n": 10, "rep": 0, "estimator": "e", "estimator_key": "11",
        "estimator_parameters": "{}", "seed": 0, "run_id": "r",
    }  # fmt: skip
    part.add(common, [{"status": "ok", "value": 1.0, "arrays": [("a", np.zeros(5))]}])
    part.add(common, [{"status": "failed"}])
    assert part.numbers == 5
    part.write()
    assert part.numbers == 0 and not part.rows
