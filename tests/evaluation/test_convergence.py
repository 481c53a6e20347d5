"""Errors of estimators against n: their intervals and slopes, measured by simulation."""

import numpy as np
import pytest
from scipy import stats

from harness.errors import BadInputError
from harness.evaluation import convergence
from harness.workflow.experiment import Experiment
from harness.workflow.parts import make_parts

SIZES = np.array([100, 300, 1000, 3000])


def means(rng, reps, shift=0.0):
    """Return errors of the mean of n uniform numbers: small samples begin the large ones."""
    x = rng.uniform(-1, 1, (reps, SIZES[-1])) + shift
    return np.cumsum(x, axis=1)[:, SIZES - 1] / SIZES


def lowest_allowed(share, trials):
    """Return the quantile at 0.1 % of the observed share, if the true one is `share`."""
    return stats.binom.ppf(0.001, trials, share) / trials


@pytest.mark.parametrize("quantity", ["rmse", "sd"])
@pytest.mark.parametrize("reps", [10, 40])
def test_intervals_of_the_slope_cover_one_half(quantity, reps):
    rng = np.random.default_rng(1)
    trials = 300
    slopes = [convergence.slope(means(rng, reps), SIZES, quantity) for _ in range(trials)]
    covered = np.mean([low <= -0.5 <= high for _, low, high in slopes])
    assert covered >= lowest_allowed(0.9, trials)
    assert np.mean([value for value, _, _ in slopes]) == pytest.approx(-0.5, abs=0.03)


@pytest.mark.parametrize("quantity", ["rmse", "sd", "bias"])
def test_intervals_at_each_size_cover_the_truth(quantity):
    rng = np.random.default_rng(2)
    truth = {"rmse": np.sqrt(1 / 3 / SIZES), "sd": np.sqrt(1 / 3 / SIZES), "bias": 0 * SIZES}
    trials = 300
    covered = []
    for _ in range(trials):
        bounds = convergence.measure(means(rng, 20), quantity)
        covered.append((bounds["y_low"] <= truth[quantity]) & (truth[quantity] <= bounds["y_high"]))
    assert np.mean(covered, axis=0).min() >= lowest_allowed(0.9, trials)


def test_no_slope_is_stated_without_a_reason():
    rng = np.random.default_rng(3)
    errors = means(rng, 20)
    assert np.isnan(convergence.slope(errors[:, :2], SIZES[:2], "rmse")).all()
    assert np.isnan(convergence.slope(0 * errors, SIZES, "rmse")).all()
    assert np.isnan(convergence.slope(errors, SIZES, "bias")).all()  # the bias is 0
    value, low, high = convergence.slope(errors + 1 / SIZES**0.4, SIZES, "bias")
    assert low <= -0.4 <= high
    alone = convergence.measure(errors[:1], "rmse")
    assert np.isnan(alone["y_low"]).all() and (alone["y"] > 0).all()


def test_leaving_out_agrees_with_a_plain_loop():
    rng = np.random.default_rng(4)
    errors = means(rng, 7)
    errors[2, 1] = np.nan
    plain = {
        "rmse": lambda e: np.log(np.sqrt(np.nanmean(e**2, axis=0))),
        "sd": lambda e: np.log(np.nanstd(e, axis=0, ddof=1)),
        "bias": lambda e: np.nanmean(e, axis=0),
    }
    for quantity, compute in plain.items():
        loop = np.array([compute(np.delete(errors, i, axis=0)) for i in range(len(errors))])
        np.testing.assert_allclose(convergence._left_out(errors, quantity)[1], loop, rtol=1e-10)


RUN = ("problem=[beta_calibrated,beta_wavy]", "estimator=[binned15,oracle]", "n=[50,100,200]")


def drawn(out, *overrides):
    """Return figure, summary and wide table of a run with errors against n."""
    experiment = Experiment.of([*RUN, "reps=4", "jobs=1", f"out={out}", *overrides])
    experiment.compute(quiet=True)
    parts = make_parts(experiment, experiment.records.read(), experiment.records.read(), [])
    return parts.draw(), parts.summary, parts.wide


def test_figure_and_tables_have_the_same_numbers(out):
    figure, summary, wide = drawn(out, "figure.y=rmse", "figure.yscale=log")
    rows = summary[summary["estimand"].eq("l1") & summary["estimator"].eq("binned15")]
    assert rows["y"].tolist() == pytest.approx(rows["rmse"].tolist())
    for ax, problem in zip(figure.axes, ("beta_calibrated", "beta_wavy")):
        same = rows[rows["problem"].eq(problem)]
        line = next(c for c in ax.containers if c.get_label() == "binned15")
        assert list(line[0].get_ydata()) == same["y"].tolist()
        assert ax.get_title() == problem and ax.get_yscale() == ax.get_xscale() == "log"
        first = same.iloc[0]
        assert wide.loc[(problem, 50), "binned15"] == (
            f"{first.y:.4f} [{first.y_low:.4f}, {first.y_high:.4f}]"
        )
        slopes = f"{first.slope:.2f} [{first.slope_low:.2f}, {first.slope_high:.2f}]"
        assert wide.loc[(problem, "slope"), "binned15"] == slopes


def test_a_sweep_shows_errors_against_its_parameter(out):
    figure, summary, wide = drawn(
        out, "figure.y=bias", "sweep.estimator.binned15.bins=[5,10]", "n=50"
    )
    rows = summary[summary["estimand"].eq("l1") & summary["bins"].notna()]
    assert rows["y"].tolist() == pytest.approx(rows["bias"].tolist())
    line = next(c for c in figure.axes[0].containers if c.get_label() == "binned15")
    assert list(line[0].get_ydata()) == rows["y"].tolist()[:2]
    assert figure.axes[0].get_ylabel().startswith("Bias") and "bias" in wide.columns.name


def test_fewer_than_three_sizes_have_no_slope(out):
    _, summary, wide = drawn(out, "figure.y=sd", "n=[50,100]")
    assert summary["slope"].isna().all() and "slope" not in wide.index.get_level_values("n")


def test_an_unknown_error_or_scale_is_refused():
    for option in ("figure.y=mse", "figure.yscale=sqrt"):
        with pytest.raises(BadInputError, match=option.partition("=")[0]):
            Experiment.of([*RUN, option])


def test_a_paper_s_experiment_draws_errors_if_it_is_asked_to(out):
    figure = drawn(out, "experiment=berta2026_fig1", "figure.y=rmse", "problem=[beta_wavy]")[0]
    assert figure.axes[0].get_ylabel().startswith("RMSE")
