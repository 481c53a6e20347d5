"""Keys and values of estimators equal tests/golden/frozen."""

import frozen
import pytest

import harness


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


STORED: dict[str, list[dict]] = {}
for stored in frozen.read("values"):
    STORED.setdefault(stored["estimator"], []).append(stored)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in frozen.SLOW)) for name in STORED],
)
def test_values_of_estimators(name):
    if reason := harness.estimators.base.EstimatorSpec.of(harness.load_estimator(name)).unavailable:
        pytest.skip(reason)
    for row, known in zip(frozen.estimator_values(name), STORED[name], strict=True):
        assert (row["notion"], row["estimand"]) == (known["notion"], known["estimand"])
        for end in ("value", "low", "high"):
            if row[end][-5:] == "Error" or "" in (row[end], known[end]):
                assert row[end] == known[end], end
            else:
                # sums of order 1 are rounded, also where a small value is left of them
                near = pytest.approx(
                    float(known[end]), rel=frozen.tolerance(name), abs=1e-13, nan_ok=True
                )
                assert float(row[end]) == near, end
