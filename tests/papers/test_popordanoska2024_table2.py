"""popordanoska2024: Table 1 as formulas, twins of Table 2, and networks trained again."""

import numpy as np
import pandas as pd
import pytest
from harness.experiments.popordanoska2024 import networks, trained, twins
from harness.experiments.popordanoska2024.authors import DirichletKernel, TemperatureGrid
from harness.experiments.popordanoska2024.halves import HalvesOfFiles, RecalibratedHalves
from scipy.special import gammaln, rel_entr, softmax, xlogy

from harness.configure.compose import compose
from harness.configure.settings import Settings
from harness.problems import Predictions, Recalibrated, TemperedDirichlet
from harness.records.schema import COLUMNS

KERNEL = "kde_popordanoska2024"


# Table 1


def kernel_regression(g, y, h):
    """Equations 11 and 12, sample by sample, each without itself."""
    rows = []
    for i, z in enumerate(g):
        alpha = g / h + 1.0
        log_k = gammaln(alpha.sum(axis=1)) - gammaln(alpha).sum(axis=1)
        log_k += ((alpha - 1.0) * np.log(z)).sum(axis=1)
        k = np.exp(log_k - log_k.max())
        k[i] = 0.0
        rows.append(k @ np.eye(g.shape[1])[y] / k.sum())
    return np.array(rows)


def test_the_estimators_of_table_1():
    """Calibration error and refinement of both losses, from the formulas of the table."""
    rng = np.random.default_rng(0)
    g = rng.dirichlet([2.0, 2.0, 2.0], 60)
    y = np.array([rng.choice(3, p=p) for p in g])
    r = kernel_regression(g, y, 0.05)
    expected = {
        "l2_squared": ((r - g) ** 2).sum(axis=1).mean(),
        "refinement_l2_squared": -(r**2).sum(axis=1).mean(),
        "kl": rel_entr(r, g).sum(axis=1).mean(),
        "refinement_kl": -xlogy(r, r).sum(axis=1).mean(),
    }
    result = DirichletKernel("direct", 0.05, zero_rows=False)(g, y)
    for name, value in expected.items():
        assert result[name].value == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("classes", [2, 5])
def test_errors_and_refinements_of_table_1_add_up_to_the_losses(classes):
    """Loss = calibration error + refinement (+ 1 for the Brier score), with E[Y | g] known.

    Both sides are means over the same samples. Their difference is a mean of zero: 5 standard
    errors.
    """
    problem = TemperedDirichlet(classes)
    g, y = problem.sample(40_000, np.random.default_rng(0))
    c, rows = problem.posterior(g), np.arange(len(y))
    brier = ((g - np.eye(classes)[y]) ** 2).sum(axis=1)
    terms = {
        "brier": brier - ((c - g) ** 2 - c**2).sum(axis=1) - 1.0,
        "log": -np.log(g[rows, y]) - (rel_entr(c, g) - xlogy(c, c)).sum(axis=1),
    }
    for difference in terms.values():
        assert abs(difference.mean()) < 5 * difference.std() / len(y) ** 0.5
        assert difference.std() > 0.01


# Networks without validation predictions


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(40, 3))
    y = np.array([rng.choice(3, p=p) for p in softmax(z, axis=1)])
    path = tmp_path / "net.npz"
    np.savez(path, logits=3.0 * z, labels=y)
    return path


def test_each_half_is_recalibrated_on_the_other(rows):
    problem = RecalibratedHalves(Predictions(str(rows)), TemperatureGrid())
    p, y = problem.sample(40, np.random.default_rng(1))
    order, _ = np.random.default_rng(1).spawn(2)
    f, labels = Predictions(str(rows)).sample(40, order)
    assert (y == labels).all() and problem.n_max == 40
    for this, other in ((slice(0, 20), slice(20, 40)), (slice(20, 40), slice(0, 20))):
        fitted = TemperatureGrid().fit(f[other], y[other])
        np.testing.assert_allclose(p[this], fitted(f[this]))


def test_files_stand_beside_their_recalibrated_halves(rows):
    family = HalvesOfFiles("halves", {"net": str(rows)}, {"temperature": TemperatureGrid()})
    members = family.members()
    assert list(members) == ["halves/net", "halves/net/temperature"]
    assert not isinstance(members["halves/net/temperature"], Recalibrated)


# Twins


def frame(values):
    names = [*COLUMNS, "truth", "truth_error"]
    rows = [
        {"key": str(i), "problem": problem, "notion": "classwise", "n": 4, "rep": 0,
         "estimator": KERNEL, "estimand": "kl", "value": value, "status": "ok", "kind": "point",
         "problem_parameters": "{}", "estimator_parameters": "{}"}
        for i, (problem, value) in enumerate(values.items())
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def test_networks_as_miscalibrated_as_the_papers_are_twins():
    """Table 2 begins at 1.21 on CIFAR-10 and at 0.62 on CIFAR-100."""
    settings = compose(["experiment=popordanoska2024_table2_twins"])
    assert twins.least_printed(settings) == {"CIFAR-10": 1.21, "CIFAR-100": 0.62}
    end = "temperature_popordanoska2024"
    records = frame(
        {
            "cifar10_resnet50": 0.0120,
            f"cifar10_resnet50_{end}": 0.02,
            "halves/cifar10_resnet20": 0.0122,
            f"halves/cifar10_resnet20/{end}": 0.01,
            "cifar100_resnet110": 0.0063,
        }
    )
    assert twins.fitting(records, settings)["problem"].to_list() == [
        "halves/cifar10_resnet20",
        f"halves/cifar10_resnet20/{end}",
        "cifar100_resnet110",
    ]
    assert not len(twins.fitting(records[:0], settings))


def test_a_difference_of_twins_is_in_per_cent_of_the_error_before():
    settings = compose(["experiment=popordanoska2024_table2_twins"])
    base = "halves/cifar10_resnet20"
    values = {base: 0.04, f"{base}/isotonic_popordanoska2024": 0.02}
    records = frame(values | {f"{base}/temperature_popordanoska2024": 0.01})
    result = twins.differences(records, settings, "kl", "isotonic", "temperature")
    assert result["difference"].to_list() == pytest.approx([25.0])
    assert result["keys"].to_list() == [("0", "1", "2")]


# Networks trained again


@pytest.mark.parametrize(
    ("seeds", "epochs", "reason"),
    [
        ([5], 250, "one network was trained"),
        ([5], 10, "for 10 epochs instead of 250"),
        ([5, 10], 10, "for 10 epochs instead of 250"),
        ([5, 10], 250, None),
    ],
)
def test_trained_networks_are_judged_by_two_seeds_of_the_papers_schedule(seeds, epochs, reason):
    problems = [f"trained/preresnet20_epochs{epochs}_seed{seed}" for seed in seeds]
    problems += [f"{name}/isotonic_popordanoska2024" for name in problems]
    result = trained.unjudged(problems)
    assert result is None if reason is None else reason in result


def test_trained_networks_answer_to_the_row_of_table_2():
    settings = compose(["experiment=popordanoska2024_table2_trained"])
    records = frame({"trained/preresnet20_lossless_epochs25_seed5": 0.02})
    ours = trained.reproduced(records, settings).set_index(["row", "column"])
    mine = ours.loc[("CIFAR-10, PreResNet20, none", "CE_KL")]
    assert mine["value"] == pytest.approx(2.0) and mine["why"].startswith("one network")
    named = networks.recalibrated(records, Settings.from_dict({}))
    assert named["network"].to_list() == ["trained/preresnet20_lossless_epochs25"]


def test_only_networks_of_the_longest_schedule_are_shown():
    settings = compose(["experiment=popordanoska2024_table2_trained"])
    values = {(25, 5): 0.9, (250, 5): 0.02, (250, 10): 0.04}
    names = "trained/preresnet20_lossless_epochs{}_seed{}".format
    records = frame({names(*key): value for key, value in values.items()})
    ours = trained.reproduced(records, settings).set_index(["row", "column"])
    mine = ours.loc[("CIFAR-10, PreResNet20, none", "CE_KL")]
    assert mine["value"] == pytest.approx(3.0) and mine["why"] is None


def test_trained_networks_answer_to_the_rows_of_tables_3_and_4():
    names = "trained/preresnet20_lossless_epochs25_seed5{}".format
    for item, columns in (("table4", ("Accuracy", "NLL", "Brier")), ("table3", ("Accuracy",))):
        settings = compose([f"experiment=popordanoska2024_{item}_trained"])
        parts = [
            frame({names(""): value, names("/isotonic_popordanoska2024"): value / 2}).assign(
                estimator=estimand, estimand=estimand, notion="canonical"
            )
            for estimand, value in {"accuracy": 0.9, "logloss": 0.3, "brier": 0.2}.items()
        ]
        ours = trained.reproduced(pd.concat(parts), settings).set_index(["row", "column"])
        for column, value in zip(columns, (90.0, 30.0, 20.0)):
            before, after = (
                ours.loc[(f"CIFAR-10, PreResNet20, {method}", column)]
                for method in ("none", "isotonic")
            )
            assert before["value"] == pytest.approx(value)
            assert after["value"] == pytest.approx(value / 2)
            assert before["why"].endswith("for 25 epochs instead of 250")
