"""Committed files have the same bytes on every processor: rounding errors do not reach them."""

import numpy as np
import pandas as pd
import pytest

from harness.common.writing import difference, write_csv
from harness.evaluation import tables
from harness.problems.base import Truth, find_truth
from harness.workflow import drawn
from harness.workflow.experiment import Experiment

RUN = [
    "problem=beta_overconfident",
    "estimator=[binned15,variational_platt]",
    "n=[50,100]",
    "reps=4",
    "jobs=1",
]


def as_elsewhere(frame, rng):
    """Change numbers by a few units in the last place, as another processor would."""
    columns = {
        name: frame[name] * (1 + 2e-16 * rng.integers(-3, 4, len(frame)))
        for name in ("value", "low", "high", "truth")
    }
    return frame.assign(**columns)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    experiment = Experiment.of([*RUN, f"out={tmp_path_factory.mktemp('out')}"])
    experiment.compute(quiet=True)
    return experiment


def test_tables_and_stamps_do_not_depend_on_the_processor(experiment, tmp_path):
    frame, rng = experiment.records.read(), np.random.default_rng(0)
    assert (frame["truth_error"].dropna() == 0.0).any()  # of truths by quadrature, about 1e-14
    contents, stamps = set(), set()
    for one in (frame, as_elsewhere(frame, rng), as_elsewhere(frame, rng)):
        write_csv(
            tables.summary(one, experiment.settings).drop(columns="cpu_seconds"),
            tmp_path / "a.csv",
        )
        contents.add((tmp_path / "a.csv").read_bytes())
        stamps.add(drawn.stamp(experiment, one))
    assert len(contents) == len(stamps) == 1
    assert drawn.stamp(experiment, frame.assign(value=frame["value"] * (1 + 1e-6))) not in stamps


@pytest.mark.parametrize(
    "error, stated", [(0.0, 0.0), (1.00277555756e-14, 0.0), (1.04e-9, 1e-9), (3.456e-5, 3.5e-5)]
)
def test_the_error_of_a_truth_has_two_digits(error, stated):
    class Problem:
        def truth(self, estimand, notion):
            return Truth(0.25, error, "quadrature")

    assert find_truth(Problem(), "l1", "binary").error == stated


def test_what_is_left_of_equal_numbers_is_no_number(tmp_path):
    a, b = pd.Series([0.1 + 0.2, 1e6, 2.0, np.inf]), pd.Series([0.3, 1e6 + 1e-9, 1.5, 1.0])
    frame = pd.DataFrame(
        {"a": a, "difference": difference(a, b), "tiny": [1e-17, -4e-13, 2e-12, np.nan]}
    )
    assert frame["difference"].tolist() == [0.0, 0.0, 0.5, np.inf]
    write_csv(frame, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines == ["a,difference,tiny", "0.3,0,0", "1000000,0,0", "2,0.5,2e-12", "inf,inf,"]
