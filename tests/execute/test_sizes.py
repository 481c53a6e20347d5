"""A sample that cannot fit into the memory of a cell is refused before the run."""

import numpy as np
import pytest

from harness.configure.compose import replace_config_dir
from harness.errors import BadInputError
from harness.workflow.experiment import Experiment

RUN = ["problem=dirichlet3_harmonic", "estimator=brier", "reps=1", "max_memory=1000"]


@pytest.mark.parametrize("size", ["n=100000000000", "n=[100,100000000000]"])
def test_the_largest_size_that_fits_is_named(out, size):
    largest = 1000 * 2**20 // (8 * 4)  # three columns and the labels
    experiment = Experiment.of([*RUN, size, f"out={out}"])
    with pytest.raises(BadInputError, match=f"{largest:,}"):
        experiment.compute(quiet=True)
    assert not (out / "records").exists()


def test_each_point_of_a_sweep_counts(out):
    """Here n fits with 3 classes, and not with 99."""
    sweep = "sweep.problem.dirichlet3_harmonic.classes=[3,99]"
    largest = 1000 * 2**20 // (8 * 100)
    experiment = Experiment.of([*RUN, sweep, "n=10000000", f"out={out}"])
    with pytest.raises(BadInputError, match=f"{largest:,}"):
        experiment.compute(quiet=True)


def test_all_rows_of_a_file_need_memory_too(tmp_path, out):
    path = tmp_path / "preds.npz"
    np.savez(path, p=np.full(100, 0.5), y=np.zeros(100))
    run = ["problem=predictions", f"problem.predictions.path={path}", "estimator=binned15"]
    experiment = Experiment.of([*run, "max_memory=0.001", f"out={out}"])
    with pytest.raises(BadInputError, match="n is 100, .* up to n = 65; "):
        experiment.compute(quiet=True)


def test_a_size_in_the_file_of_an_experiment_counts(out, tmp_path):
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\ndefaults:\n  - override /problem: [beta_wavy]\n"
    text += "  - override /estimator: [binned15]\nname: large\nn: [100000000000]\nreps: 1\n"
    (tmp_path / "experiment" / "large.yaml").write_text(text)
    words = ["experiment=large", f"--config-dir={tmp_path}", f"out={out}"]
    experiment = Experiment.of(replace_config_dir(words))
    with pytest.raises(BadInputError, match="n is 100,000,000,000"):
        experiment.compute(quiet=True)


def test_a_size_that_no_estimator_takes_is_skipped(out):
    """Cells that are skipped draw no sample."""
    words = [
        "problem=score_sine_perturbed",
        "estimator=nw_kfold",
        *RUN[2:],
        "n=100000000000",
        f"out={out}",
    ]
    counts = Experiment.of(words).compute(quiet=True)
    assert counts["todo"] == 0 and counts["skipped"] > 0
