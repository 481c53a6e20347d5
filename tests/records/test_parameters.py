"""Parameters that vary are columns of records and of summaries, sorted by value."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import harness
from harness.common.columns import RESERVED
from harness.records import schema
from harness.records.parameters import add_parameters

BASE = ["problem=beta_overconfident", "estimator=[binned15,oracle]", "n=60", "reps=2", "jobs=1"]
BINS = "sweep.estimator.binned15.bins=[50,5,15]"


def components(group, parameters):
    """Return records of one component per JSON text, all with the id "x"."""
    other = {"problem": "estimator", "estimator": "problem"}[group]
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(len(parameters))],
            group: "x",
            f"{group}_key": [f"c{i}" for i in range(len(parameters))],
            f"{group}_parameters": parameters,
            other: "y",
            f"{other}_key": "d",
            f"{other}_parameters": "{}",
            "notion": "binary",
            "n": 10,
            "rep": 0,
            "estimand": "l1",
        }
    )


def test_no_parameter_has_the_name_of_a_column():
    assert {*schema.COLUMNS, *schema.TRUTHS, "experiment"} <= RESERVED


def test_a_sweep_has_its_parameter_as_a_column_sorted_by_value(out):
    records = harness.run([*BASE, BINS, f"out={out}"])
    rows = harness.evaluate(records[records["estimand"].eq("l1")])
    assert rows["estimator"].tolist() == ["binned15"] * 3 + ["oracle"]
    assert rows["bins"].tolist()[:3] == [5, 15, 50] and np.isnan(rows["bins"].iloc[3])
    one = harness.evaluate(records[records["bins"].eq(5)])
    assert "bins" in one and one["bins"].eq(5).all()


def test_several_sweeps_and_former_parts_in_one_folder(out):
    """Former parts lack columns and call the diagnostics parts."""
    harness.run([*BASE, BINS, f"out={out}"])
    for i, part in enumerate(list((out / "records").iterdir())):
        table = pq.read_table(part).drop_columns(["arrays"])
        former = [{"diagnostics": "parts"}.get(name, name) for name in table.column_names]
        pq.write_table(table.rename_columns(former), out / "records" / f"part-old{i}.parquet")
        part.unlink()
    harness.run([*BASE, "sweep.estimator.binned15.rule=[mass,width]", f"out={out}"])
    records = harness.load_records(out)
    rows = harness.evaluate(records[records["estimand"].eq("l1")])
    binned = rows[rows["estimator"].eq("binned15")]
    assert list(zip(binned["bins"], binned["rule"])) == [
        (5, "width"), (15, "mass"), (15, "width"), (50, "width"),
    ]  # fmt: skip


def test_reserved_and_ambiguous_names_have_the_group_in_front():
    level = [f'{{"class": "Certified", "level": {v}, "a": {v}}}' for v in (0.95, 0.9)]
    records = add_parameters(components("estimator", level))
    assert records["estimator.level"].tolist() == [0.9, 0.95] and "level" not in records
    records["problem_key"] = ["e", "f"]
    records["problem_parameters"] = ['{"class": "P", "a": 1}', '{"class": "P", "a": 2}']
    both = add_parameters(records.drop(columns=["estimator.level", "a"]))
    assert {"problem.a", "estimator.a", "estimator.level"} <= set(both) and "a" not in both


def test_components_within_an_estimator_are_told_by_class_or_by_parameter():
    inner = [f'{{"class": "V", "c": {{"class": "Ridge", "ridge": {v}}}}}' for v in (10, 2)]
    assert add_parameters(components("estimator", inner))["ridge"].tolist() == [2, 10]
    classes = [f'{{"class": "V", "c": {{"class": "{name}"}}}}' for name in ("Isotonic", "Beta")]
    assert add_parameters(components("estimator", classes))["c"].tolist() == ["Beta", "Isotonic"]


def test_records_in_which_nothing_varies_stay_as_they_are(out):
    records = harness.run([*BASE, f"out={out}"])
    assert set(records) == {*schema.COLUMNS, *schema.TRUTHS, "experiment"}
