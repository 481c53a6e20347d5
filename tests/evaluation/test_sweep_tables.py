"""Tables of sweeps have each estimator at each value."""

from sweep_runs import BASE, BINS, PAIR

from harness.evaluation.sweep_tables import SweepResults
from harness.workflow import drawing
from harness.workflow.experiment import Experiment


def test_a_table_of_many_points_is_evaluated_once(out, monkeypatch):
    """Once per point took ten minutes for 2,000 points."""
    from harness.evaluation import sweep_tables, tables

    result = Experiment.of(
        [
            *BASE,
            f"sweep.estimator.binned15.bins={list(range(2, 32))}",
            f"out={out}",
            "problem=[beta_wavy]",
        ]
    )
    result.compute(quiet=True)
    frame, calls, plain = result.records.read(), [], tables.evaluate
    for module in (tables, sweep_tables):
        monkeypatch.setattr(module, "evaluate", lambda *a, **k: calls.append(a) or plain(*a, **k))
    assert len(drawing.wide_table(result, frame)) == 30 and len(calls) == 1
    rows = SweepResults(result.plan).rows(frame, result.settings)
    assert rows["bins"].nunique() == 30 and len(calls) == 2


def test_the_table_has_every_estimator_at_every_value(out):
    """A parameter that does not bear on a problem is 'all' in its rows."""
    experiment = Experiment.of([*BASE, BINS, "sweep.problem.beta_overconfident.a=[0.5,2]"])
    experiment.compute(quiet=True)
    table = drawing.wide_table(experiment, experiment.records.read())
    assert table.index.names == ["problem", "n", "bins", "a"] and list(table.columns) == [
        "truth",
        "binned15",
        "oracle",
    ]
    calibrated, overconfident = (table.xs(problem) for problem in PAIR[9:-1].split(","))
    assert (
        list(calibrated.index) == [(60, "5", "all"), (60, "10", "all")]
        and calibrated["oracle"].nunique() == 1
    )
    assert list(overconfident.index) == [(60, b, a) for b in ("5", "10") for a in ("0.5", "2")]
    assert overconfident["binned15"].nunique() == 4 and overconfident["oracle"].nunique() == 2
    assert table.map(lambda text: any(c.isdigit() for c in text)).all(axis=None)
