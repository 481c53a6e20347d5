"""Figures 3, 6, 7 and 8 of popordanoska2024: what is computed of records and prediction files, and
how it is drawn."""

import numpy as np
import pandas as pd
import pytest
from harness.experiments.popordanoska2024 import comparisons, fig3, fig6, fig7, fig8, networks
from harness.experiments.popordanoska2024.neighbours import NeighbourSharpness
from record_frames import record_frame
from scipy.special import softmax

from harness import BadInputError
from harness.configure.compose import compose
from harness.estimators import ReliabilityBins
from harness.evaluation import items, reproduction
from harness.math import rates
from harness.workflow.experiment import Experiment

SPLIT, BOUND = "kde_popordanoska2024", "variational_temperature"
BOUND_BY_NEIGHBOURS = "lower bound (20 neighbours)"


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """Write files of predictions into the cache's folder of a kind: nets("training",
    **{"net_seed0_epoch0001": {...}})."""
    monkeypatch.setattr("harness.problems.files_family.CACHE", tmp_path)
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)

    def write(kind, **files):
        folder = tmp_path / "digits_networks" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name, arrays in files.items():
            np.savez(folder / f"{name}.npz", **arrays)

    return write


def records(rows):
    """Return records of rows (problem, notion, estimator, estimand, value)."""
    names = ("problem", "notion", "estimator", "estimand", "value")
    return record_frame([dict(zip(names, row)) for row in rows], n=4)


def logits(y, right, k=10, scale=3.0):
    """(n, k): the label's class first in the first `right` rows, another one in the others."""
    first = np.where(np.arange(len(y)) < right, y, (y + 1) % k)
    return scale * (first[:, None] == np.arange(k)).astype(float)


# Names


def test_names_are_split_into_network_seed_epoch_layer_and_part():
    result = networks.in_training(
        ["digits/mlp9x4_seed3_epoch0067_layer2", "a/b/wide_net_seed10/test", "digits/absent/val"]
    )
    assert result.loc["digits/mlp9x4_seed3_epoch0067_layer2"].to_list()[:5] == [
        "digits",
        "mlp9x4",
        3,
        67.0,
        "layer2",
    ]
    assert result["part"].isna().to_list() == [True, False]
    family, network, seed, epoch, layer, part = result.loc["a/b/wide_net_seed10/test"]
    assert (family, network, seed, part) == ("a/b", "wide_net", 10, "test")
    assert np.isnan(epoch)
    assert pd.isna(layer)
    assert len(result) == 2
    with pytest.raises(BadInputError, match="is not named"):
        networks.in_training(["digits/net"])


def test_accuracy_is_the_share_of_right_rows(nets, out):
    y = np.arange(8) % 10
    nets("snapshots", net_seed0_epoch0010={"val_logits": logits(y, 6), "val_labels": y})
    run = Experiment.of(
        [
            "problem=[digits_snapshots_val]",
            "estimator=[accuracy]",
            "notion=[canonical,classwise]",
            "jobs=1",
        ]
    )
    run.compute(quiet=True)
    for notion in ("canonical", "classwise"):
        result = networks.estimates(run.records.read(), run.settings, notion)
        assert result["value"].to_list() == [75.0] and result["epoch"].to_list() == [10.0]


# Figure 3


def layers(values, seed=0, epoch=1, estimator=SPLIT):
    names = [*fig3.HIDDEN, "output"][: len(values)]
    where = f"digits_layers/net_seed{seed}_epoch{epoch:04d}"
    return [
        (f"{where}_{x}", "canonical", estimator, "sharpness_l2_squared", v)
        for x, v in zip(names, values)
    ]


def test_sharpness_falls_if_no_layer_has_more_than_the_one_before():
    settings = compose(["experiment=popordanoska2024_fig3_offline"])
    rows = [
        *layers([0.8, 0.7, 0.7, 0.1]),
        *layers([0.8, 0.7, 0.71, 0.1], seed=1),
        *layers([0.1, 0.2, 0.1, 0.0], epoch=2),
    ]
    result = fig3.falling(networks.estimates(records(rows), settings, "canonical"))
    assert result.set_index(["seed", "epoch"])["falls"].to_dict() == {
        (0, 1): True,
        (1, 1): False,
        (0, 2): False,
    }


def test_the_output_does_not_count_and_a_network_without_a_layer_is_left_out():
    settings = compose(["experiment=popordanoska2024_fig3_offline"])
    rows = [*layers([0.4, 0.3, 0.2, 0.1, 0.9]), *layers([0.4, 0.3], seed=1)]
    assert fig3.falling(networks.estimates(records(rows), settings, "canonical"))[
        "falls"
    ].to_list() == [True]


def lower_bound(p, y):
    return NeighbourSharpness()(p, y)["sharpness_l2_squared"].value


def test_lower_bound_of_separate_and_of_mingled_classes():
    """Two clusters of 30 with one class each: the neighbours are right, the variance 1 - 2 / 4 is
    found whole. One cluster, labels at random: nothing to be found, the bound is about -1/40 (the
    variance of a mean of 20, in two columns)."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    apart = softmax(np.column_stack([10.0 * y + 0.01 * rng.normal(size=60), np.zeros(60)]), axis=1)
    assert lower_bound(apart, y) == pytest.approx(0.5, abs=1e-12)
    mingled = softmax(np.column_stack([rng.normal(size=2000), np.zeros(2000)]), axis=1)
    assert lower_bound(mingled, rng.integers(0, 2, 2000)) == pytest.approx(-0.5 / 20, abs=0.02)


def test_lower_bound_sees_activations_and_not_how_far_softmax_crowds_them():
    """Activations 0.01 apart (all probabilities about 1/2) and 40 apart (all about 0 or 1) are told
    apart alike."""
    y = np.arange(60) % 2
    steps = np.arange(60) * 1e-5
    for gap in (0.01, 40.0):
        assert lower_bound(
            softmax(np.column_stack([gap * y + steps, np.zeros(60)]), axis=1), y
        ) == pytest.approx(0.5)


def train_layers(nets, kind):
    """Two seeds at two epochs: 10 rows of 80 right at first, 50 later."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 10
    for seed in (0, 1):
        for epoch in (0, 5):
            for layer in (*fig3.HIDDEN, "output"):
                z = logits(y, 10 * epoch) + rng.normal(0, 0.1, (80, 10))
                nets(
                    kind, **{f"net_seed{seed}_epoch{epoch:04d}_{layer}": {"logits": z, "labels": y}}
                )


@pytest.mark.slow
def test_figure_3_end_to_end(nets, out):
    """Numbers of other data than the paper's carry that and are not judged."""
    train_layers(nets, "layers")
    experiment = Experiment.of(
        [
            "experiment=popordanoska2024_fig3_offline",
            "estimator=[kde_popordanoska2024,accuracy]",
            "jobs=1",
        ]
    )
    experiment.compute(quiet=True)
    result = experiment.records.read()
    table = fig3.table(result, experiment.settings)
    assert table.loc[("Dirichlet kernel (h = 0.005)", "5"), "accuracy"] == "62.5 ± 0.0"
    assert {column for column, _ in table.index} == {
        "Dirichlet kernel (h = 0.005)",
        BOUND_BY_NEIGHBOURS,
    }
    figure = fig3.render(result, experiment.settings)
    drawn = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title() for ax in drawn] == [
        "test accuracy",
        "Dirichlet kernel (h = 0.005)",
        BOUND_BY_NEIGHBOURS,
        fig3.PAPER,
    ]
    compared = reproduction.compare(
        fig3.reproduced(result, experiment.settings), "popordanoska2024", ["fig3"]
    )
    mine = compared.set_index(["row", "column"]).loc[
        ("L2 sharpness of layer 1, epoch 5", "Dirichlet kernel (h = 0.005)")
    ]
    assert mine["ours"] > 0
    assert mine["verdict"] == "not reproducible here"
    assert mine["reason"].startswith("other data")
    assert not compared["verdict"].isin(["differs", "identical"]).any()


@pytest.mark.slow
def test_on_mnist_the_papers_curves_are_drawn_and_judged(nets, out):
    train_layers(nets, "layers_mnist")
    experiment = Experiment.of(["experiment=popordanoska2024_fig3", "jobs=1"])
    experiment.compute(quiet=True)
    result = experiment.records.read()
    axes = {ax.get_title(): ax for ax in fig3.render(result, experiment.settings).axes}
    paper = axes[fig3.PAPER].lines
    dotted = [line.get_linestyle() == ":" for line in axes[fig3.ACCURACY].lines]
    assert len(paper) == 4 and sum(dotted) == 1
    assert paper[0].get_ydata()[-1] == pytest.approx(0.786, abs=0.01)  # layer 1 at epoch 30
    compared = reproduction.compare(
        fig3.reproduced(result, experiment.settings), "popordanoska2024", ["fig3", "fig3_printed"]
    )
    judged = compared[compared["ours"].notna() & compared["reported"].notna()]
    assert (
        set(judged["verdict"]) <= {"identical", "within error", "differs", "no test"}
        and len(judged) == 2 + 6 + 9
    )  # layer 3 is hidden at both epochs
    assert (
        compared.loc[compared["ours"].isna() & compared["reported"].notna(), "reason"]
        .str.startswith("the files at hand do not hold it")
        .all()
    )


def test_the_papers_one_run_is_judged_by_the_spread_of_runs():
    """Three networks with 0.2, 0.3 and 0.4: sd 0.1, one more run differs from their mean by 0.1
    sqrt(1 + 1/3) or so."""
    settings = compose(["experiment=popordanoska2024_fig3"])
    rows = [r for seed, v in enumerate((0.2, 0.3, 0.4)) for r in layers([v], seed)]
    ours = fig3.reproduced(records(rows), settings).set_index(["item", "row"])
    mine = ours.loc[("fig3", "L2 sharpness of layer 1, epoch 1")]
    assert mine["value"] == pytest.approx(0.3)
    assert mine["error"] == pytest.approx(0.1 * np.sqrt(4 / 3))
    assert mine["reps"] == 3
    assert ours.loc[("fig3", "accuracy, epoch 3"), "why"].startswith(
        "the files at hand do not hold it"
    )


# Figure 6


def over_training(seed, losses, errors):
    rows = []
    for epoch, (loss, error) in enumerate(zip(losses, errors), start=1):
        where = f"digits_training/net_seed{seed}_epoch{epoch:04d}/val"
        rows += [(where, "binary", e, "kl", v) for e, v in ((SPLIT, error), (BOUND, error - 0.01))]
        rows += [
            (where, "binary", "logloss", "logloss", loss),
            (where, "binary", SPLIT, "refinement_kl", loss - error),
        ]
    return rows


def test_changes_from_the_least_loss_to_the_end():
    """Losses .5 .3 .4 with errors .1 .2 .35: from epoch 2 on the loss rises by .1, the error by
    .15, the refinement by -.05."""
    settings = compose(["experiment=popordanoska2024_fig6_offline"])
    result = fig6.changes(records(over_training(0, [0.5, 0.3, 0.4], [0.1, 0.2, 0.35])), settings)
    assert all(len(keys) == len(set(keys)) > 0 for keys in result["keys"])
    result = result.drop(columns="keys").set_index("column")
    assert list(result.index) == ["Dirichlet kernel (as published)", "lower bound (temperature)"]
    for row in result.index:  # the refinement of the bound is the loss less the bound
        expected = [0, 2, 1, 0.1, 0.15, -0.05]
        np.testing.assert_allclose(result.loc[row].to_numpy(float), expected, atol=1e-12)
    table = fig6.table(
        records(
            [
                *over_training(0, [0.5, 0.3, 0.4], [0.1, 0.2, 0.35]),
                *over_training(1, [0.5, 0.3, 0.6], [0.1, 0.2, 0.35]),
            ]
        ),
        settings,
    )
    assert table.loc["Dirichlet kernel (as published)", "log-loss rises by"] == "0.2000 ± 0.1000"


def test_figure_6_end_to_end(nets, out):
    """Via risk the log-loss is the error plus the refinement, of estimates too."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    for seed in (0, 1):
        for epoch in (1, 10):
            parts = {
                f"{part}_{what}": v
                for part in ("train", "val")
                for what, v in (
                    ("logits", logits(y, 50, 2, 0.1 * epoch) + rng.normal(0, 0.2, (60, 2))),
                    ("labels", y),
                )
            }
            nets("training", **{f"net_seed{seed}_epoch{epoch:04d}": parts})
    experiment = Experiment.of(["experiment=popordanoska2024_fig6_offline", "jobs=1"])
    experiment.compute(quiet=True)
    result = experiment.records.read()
    values = result.pivot_table(index="problem", columns=["estimator", "estimand"], values="value")
    split = values[SPLIT]["kl"] + values[SPLIT]["refinement_kl"]
    np.testing.assert_allclose(split, values["logloss"]["logloss"], atol=1e-10)
    assert [ax.get_xscale() for ax in fig6.render(result, experiment.settings).axes] == ["log"] * 4
    ours = fig6.reproduced(result, experiment.settings)
    assert len(ours.dropna(subset="value")) == 3 * 3 + 2
    assert ours["why"].str.startswith("other data").all()


# Figure 7


def test_pareto_front_in_the_plane():
    """(1, 3), (2, 2), (3, 1) are optimal; (2, 3) is worse than (2, 2), (3, 3) than all. Equal
    points do not better each other."""
    points = np.array([[1, 3], [2, 2], [3, 1], [2, 3], [3, 3], [1, 3]])
    assert comparisons.pareto(points).tolist() == [True, True, True, False, False, True]


def test_the_front_is_of_means_over_the_seeds():
    settings = compose(["experiment=popordanoska2024_fig7_offline"])
    errors = {10: (0.2, 0.4), 20: (0.1, 0.1), 30: (0.1, 0.3)}
    rows = [
        (f"digits_snapshots/net_seed{s}_epoch{e:04d}/val", "classwise", SPLIT, "kl", errors[e][s])
        for e in errors
        for s in (0, 1)
    ]
    rows += [
        (
            f"digits_snapshots/net_seed{s}_epoch{e:04d}/val",
            "classwise",
            "accuracy",
            "accuracy",
            (right + s) / 20,
        )
        for e, right in ((10, 10), (20, 16), (30, 18))
        for s in (0, 1)
    ]
    result = fig7.snapshots(records(rows), settings).set_index("epoch")
    assert result["error"].to_dict() == {10: 47.5, 20: 17.5, 30: 7.5}
    np.testing.assert_allclose(result["ce"], [0.3, 0.1, 0.2])
    np.testing.assert_allclose(result["ce_se"], [0.1, 0.0, 0.1], atol=1e-12)
    assert result["front"].to_dict() == {10: False, 20: True, 30: True}
    (ax,) = fig7.render(records(rows), settings).axes
    assert {t.get_text() for t in ax.texts} == {"20", "30", "outside: epoch 10"}
    assert fig7.table(records(rows), settings)["Pareto optimal"].to_list() == ["–", "yes", "yes"]
    ours = fig7.reproduced(records(rows), settings)
    assert ours["value"].to_list() == [2]


# Figure 8


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.27753279),
        (5, 10, 0.23659309, 0.76340691),
        (10, 10, 0.72246721, 1.0),
        (1, 1, 0.20654931, 1.0),
    ],
)
def test_wilson_interval(successes, n, low, high):
    assert rates.wilson(successes, n) == pytest.approx((low, high), abs=1e-8)


def test_bins_are_open_below_and_closed_above():
    """0 and 0.1 in the first bin, just above 0.1 in the second, 1 in the last."""
    estimate = ReliabilityBins(bins=10)(
        np.array([0.0, 0.1, 0.1 + 1e-12, 1.0]), np.array([0, 1, 1, 1])
    )["l1"]
    settings = compose(["experiment=popordanoska2024_fig8_offline"])
    rows = [("digits/net_seed0/test", "classwise", fig8.DIAGRAM, "l1", estimate.value)]
    result = fig8.bins(records(rows).assign(arrays=[estimate.arrays]), settings)
    assert result["bin"].to_list() == [0, 1, 9] and result["count"].to_list() == [2, 1, 1]
    assert result["share"].to_list() == [0.5, 1.0, 1.0] and result["mean"][0] == pytest.approx(0.05)


def test_l1_over_bins_is_that_of_the_binned_estimator(nets, out):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 300)
    nets(
        "networks",
        mlp16_seed10={
            "test_logits": logits(y, 200) + rng.normal(0, 1, (300, 10)),
            "test_labels": y,
        },
    )
    experiment = Experiment.of(["experiment=popordanoska2024_fig8_offline", "jobs=1"])
    experiment.compute(quiet=True)
    result = experiment.records.read()
    table = fig8.table(result, experiment.settings)
    assert list(table.index.get_level_values("network")) == ["MLP 16"] * 10
    recorded = result.loc[
        result["estimand"].eq("l1") & result["estimator"].eq("binned15"), "value"
    ].item()
    assert result.loc[result["estimator"].eq(fig8.DIAGRAM), "value"].item() == pytest.approx(
        recorded, abs=1e-12
    )
    assert np.mean(table["L1 error"].astype(float)) == pytest.approx(recorded, abs=1e-4)
    figure = fig8.render(result, experiment.settings)
    assert [ax.get_title() for ax in figure.axes] == [f"MLP 16, class {j}" for j in range(10)]


# Absent files


@pytest.mark.slow
@pytest.mark.parametrize(
    "item", ["3", "3_offline", "6", "6_offline", "7", "7_offline", "8", "8_offline"]
)
def test_without_files_an_experiment_says_how_to_get_them(nets, cli, out, item):
    code, text, err = cli(f"experiment=popordanoska2024_fig{item}", "jobs=1")
    assert code == 1 and "has a number" in err and "no files" in err
    assert (out / "popordanoska2024" / f"fig{item}.png").is_file()
    compared = pd.read_csv(out / "popordanoska2024" / "reproduction.csv")
    assert compared["ours"].isna().all() and compared["verdict"].eq("not reproducible here").all()
    printed = compared[compared["reported"].notna()]
    assert printed["reason"].str.startswith("skipped: there are no files").all()
    assert len(printed) > 100 if item.startswith("3") else len(printed) == 0


def test_numbers_that_the_paper_only_draws_have_a_reason():
    result = reproduction.compare(
        pd.DataFrame(columns=items.ANSWER), "popordanoska2024", ["fig7", "fig3_printed"]
    )
    reasons = (
        result[result["reported"].isna()].groupby("item")["reason"].unique().map(list).to_dict()
    )
    assert reasons == {
        "fig7": ["the paper shows this number only in a figure"],
        "fig3_printed": ["the authors' table has no value here"]
    }  # fmt: skip
