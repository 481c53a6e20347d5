"""Keys, values of estimators, verdicts and judge's schema equal tests/golden/frozen."""

import json

import frozen
import pytest

import harness

QUICK_EXPERIMENTS = [
    "smoke", "sweep_bins", "berta2026_fig1", "ciosek2026_bound", "gruber2025_fig1",
    "moskvichev2025_fig3",
    "popordanoska2024_fig2b",
]  # fmt: skip


def differences(rows, stored, *identity):
    """Return rows that differ from the stored ones; numbers are compared as texts."""
    known = {tuple(row[name] for name in identity): row for row in stored}
    texts = [{name: str(value) for name, value in row.items()} for row in rows]
    return [row for row in texts if row != known.get(tuple(row[name] for name in identity))]


def test_cell_keys():
    stored = frozen.read("cells")
    rows = frozen.cells()
    assert len(stored) == len({row["key"] for row in stored}) == len(rows) == 200
    if harness.load_problem("cifar10_densenet121").unavailable:
        # the plan of files that are absent has no resamples, so that its cells are others
        rows = [row for row in rows if row["run"] != "packs"]
    assert differences(rows, stored, "key") == []


def test_keys_of_all_problems_and_estimators():
    stored = frozen.read("components")
    rows = frozen.component_keys()
    known = {(row["group"], row["id"]) for row in stored}
    assert known - {(row["group"], row["id"]) for row in rows} == set()
    known = [
        row for row in stored if row["key"]
    ]  # some depend on files that were absent then, or are absent now
    ids = {(row["group"], row["id"]) for row in known}
    assert (
        differences(
            [row for row in rows if row["key"] and (row["group"], row["id"]) in ids],
            known,
            "group",
            "id",
        )
        == []
    )


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(QUICK_EXPERIMENTS, id="some"),
        pytest.param(None, id="all", marks=pytest.mark.slow),
    ],
)
def test_keys_of_experiments(names):
    rows = frozen.experiment_keys(names)
    assert len(rows) == len(names) if names else len(rows) > 80  # others need files that are absent
    stored = frozen.read("experiments")
    known = {
        row["experiment"] for row in stored
    }  # others are new, or of files that were absent then
    assert (
        differences([row for row in rows if row["experiment"] in known], stored, "experiment") == []
    )


ESTIMATORS = [
    pytest.param(name, marks=pytest.mark.slow) if frozen.is_slow(name) else name
    for name in harness.list_estimators()
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_values_of_estimators(name):
    if reason := harness.estimators.base.EstimatorSpec.of(harness.load_estimator(name)).unavailable:
        pytest.skip(reason)
    table = "values_slow" if frozen.is_slow(name) else "values"
    stored = {
        (row["notion"], row["estimand"]): row
        for row in frozen.read(table)
        if row["estimator"] == name
    }
    rows = {(row["notion"], row["estimand"]): row for row in frozen.estimator_values([name])}
    assert rows.keys() == stored.keys()
    for key, row in rows.items():
        for end in ("value", "low", "high"):
            number, known = row.get(end, ""), stored[key][end]
            if number[-5:] == "Error" or "" in (number, known):
                assert number == known, (key, end)
            else:
                # sums of order 1 are rounded, also where a small value is left of them
                near = pytest.approx(
                    float(known), rel=frozen.tolerance(name), abs=1e-13, nan_ok=True
                )
                assert float(number) == near, (key, end)


def test_verdicts():
    assert frozen.verdicts() == json.loads((frozen.FOLDER / "verdicts.json").read_text())


def test_schema_of_judge():
    assert frozen.judge_schema() == json.loads((frozen.FOLDER / "judge.json").read_text())
