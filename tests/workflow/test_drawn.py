"""A result is drawn again only if its records have changed."""

import pytest

from harness.workflow import drawing, drawn
from harness.workflow.experiment import Experiment


@pytest.mark.slow
def test_a_page_is_drawn_again_when_its_numbers_change(out):
    experiment = Experiment.of(
        ["problem=beta_wavy", "estimator=[binned15]", "n=60", "reps=2", "jobs=1", "name=mine"]
    )
    experiment.compute(quiet=True)
    frame = experiment.records.read()
    drawing.render(experiment, frame)
    assert drawn.is_drawn(experiment, frame) and drawn.is_drawn(experiment, frame.iloc[::-1])
    nearly = frame.assign(value=frame["value"] * (1 + 1e-15))
    assert (
        drawn.stamp(experiment, nearly)
        == drawn.stamp(experiment, frame)
        != drawn.stamp(experiment, frame.assign(value=frame["value"] + 1e-9))
    )
    assert not drawn.is_drawn(experiment, frame.iloc[:-1])
    page = experiment.identity.page
    page.with_suffix(".drawn").write_bytes(b"\xff")  # a damaged note
    assert not drawn.is_drawn(experiment, frame)
    page.with_suffix(".drawn").unlink()  # a result of an earlier version
    assert not drawn.is_drawn(experiment, frame)
