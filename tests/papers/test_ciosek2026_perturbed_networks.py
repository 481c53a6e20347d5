"""Families of perturbed predictions, training with the perturbation, and their item."""

from dataclasses import replace

import numpy as np
import pytest
from harness.experiments.ciosek2026 import perturbation as item
from harness.experiments.ciosek2026 import perturbation_trained as trained
from harness.experiments.ciosek2026 import rates
from harness.experiments.ciosek2026.families import Perturbations, PerturbedNetworks
from harness.tools.stand_ins import perturbed_networks
from harness.tools.stand_ins.perturbed_networks import Training
from record_frames import record_frame
from scipy.special import logit, softmax

from harness import BadInputError, load_problem
from harness.configure.compose import compose
from harness.math.sech_noise import width_name
from harness.plan.plan import plan
from harness.problems import Beta

TINY = Training("digits_odd", "mlp", 0, (8,), epochs=2)


# Families


def test_widths_are_named():
    assert [width_name(h) for h in (2.0**-6, 0.5, 1.0, 0.02)] == ["h2^-6", "h2^-1", "h2^0", "h0.02"]


def test_a_problem_under_several_widths():
    result = Perturbations(Beta(), (0.25, 0.125), name="beta").members()
    assert list(result) == ["beta/h2^-2", "beta/h2^-3"]
    member = result["beta/h2^-3"]
    assert member.h == 0.125 and member.problem == Beta()
    for wrong in ((), (0.0,), (0.25, 0.25)):
        with pytest.raises(BadInputError, match="widths is"):
            Perturbations(Beta(), wrong)


def test_networks_as_they_are_perturbed_and_trained_so(tmp_path):
    y = np.arange(20) % 2
    scores = {"plain": np.linspace(0, 1, 20), "aware_h2^-6": np.where(y == 1, 0.9, 0.1)}
    np.savez(tmp_path / "table_mlp_seed0.npz", labels=y, **scores)
    result = PerturbedNetworks(str(tmp_path), widths=(2.0**-6,)).members()
    stem = "perturbed_networks/table_mlp_seed0"
    assert list(result) == [stem, f"{stem}/h2^-6", f"{stem}/aware_h2^-6"]
    raw, plain, aware = result.values()
    assert sorted(raw.sample(20, np.random.default_rng(0))[0]) == list(scores["plain"])
    assert plain.h == aware.h == 2.0**-6 and plain.notions == ("binary",)
    p, hit = aware.sample(20, np.random.default_rng(0))
    assert np.abs(p - np.where(hit == 1, 0.9, 0.1)).max() < 0.2 and len(set(p)) == 20


def test_absent_networks_are_one_skipped_problem(tmp_path, monkeypatch):
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    result = PerturbedNetworks("none_of_these", source="train them").members()
    (name, problem), *others = result.items()
    assert not others and name.endswith("/absent") and "train them" in problem.unavailable


def test_the_cifar_family_is_skipped_as_one_without_files(monkeypatch):
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    assert list(load_problem("cifar10_one_vs_rest_perturbed").members()) == [
        "cifar10_one_vs_rest/absent/class0"
    ]


# Training


@pytest.mark.parametrize("h", [None, 0.5, 2.0**-4, 2.0**-7])
def test_the_slope_is_that_of_the_loss(h):
    rng = np.random.default_rng(3)
    z, u, y = rng.normal(0, 4, 40), rng.uniform(0.02, 0.98, 40), rng.integers(0, 2, 40)
    step = 1e-6
    numeric = (
        perturbed_networks.loss(z + step, y, u, h) - perturbed_networks.loss(z - step, y, u, h)
    ) / (2 * step)
    np.testing.assert_allclose(perturbed_networks.slope(z, y, u, h), numeric, rtol=1e-4, atol=1e-7)
    assert np.abs(numeric).max() > 0.2


def test_the_slopes_of_classes_are_those_of_the_sum_of_their_losses():
    rng, step, h = np.random.default_rng(4), 1e-6, 2.0**-4
    z, u, y = rng.normal(0, 3, (6, 4)), rng.uniform(0.02, 0.98, (6, 4)), rng.integers(0, 4, 6)

    def loss(logits):
        p = softmax(logits, axis=1)
        return perturbed_networks.loss(logit(p), y[:, None] == np.arange(4), u, h).sum(axis=1)

    numeric = [(loss(z + step * e) - loss(z - step * e)) / (2 * step) for e in np.eye(4)]
    slopes = perturbed_networks.class_slopes(z, y, u, h)
    np.testing.assert_allclose(slopes, np.transpose(numeric), rtol=1e-4, atol=1e-7)
    assert np.abs(slopes).max() > 0.2


def test_the_slope_is_finite_where_scores_are_0_and_1():
    z, u = np.array([-800.0, 800.0, -40.0, 40.0]), np.array([0.0, 1.0, 1e-12, 0.5])
    for y in (0, 1):
        assert np.isfinite(perturbed_networks.slope(z, np.full(4, y), u, 2.0**-8)).all()


def test_training_depends_on_the_seed_and_the_width_alone():
    rows = perturbed_networks.load_rows("digits_odd")
    x, y = rows.x[:120], rows.y[:120]
    plain, again, other = (perturbed_networks.train(replace(TINY, seed=s), x, y) for s in (0, 0, 1))
    assert (plain[0][0] == again[0][0]).all() and (plain[0][0] != other[0][0]).any()
    aware, same = (perturbed_networks.train(TINY, x, y, 2.0**-5) for _ in range(2))
    assert (aware[0][0] == same[0][0]).all() and (aware[0][0] != plain[0][0]).any()


def test_training_with_the_perturbation_lowers_the_loss_that_it_sees():
    rows = perturbed_networks.load_rows("breast_cancer")
    training, h = replace(TINY, hidden=(), epochs=5), 2.0**-3
    u = np.random.default_rng(0).random(len(rows.test_y))
    losses = [
        perturbed_networks.loss(
            perturbed_networks.activations(
                rows.test_x,
                perturbed_networks.train(replace(training, epochs=e), rows.x, rows.y, h),
            )[-1][:, 0],
            rows.test_y,
            u,
            h,
        )
        for e in (0, 5)
    ]
    assert losses[1].mean() < 0.6 * losses[0].mean()


def test_command_stores_every_training_once(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(perturbed_networks, "MODELS", {"mlp": (4,)})
    monkeypatch.setattr(perturbed_networks, "SEEDS", range(1))
    monkeypatch.setattr(perturbed_networks, "Training", lambda *args: Training(*args, epochs=1))
    asked = (
        "data",
        "make",
        "perturbed_networks",
        "--tables",
        "breast_cancer",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    )
    code, text, err = cli(*asked)
    assert code == 0 and "0 failed" in text
    with np.load(tmp_path / "breast_cancer_mlp_seed0.npz") as arrays:
        names = {"plain", *(f"aware_h2^-{j}" for j in range(2, 9))}
        assert names | {"labels", "made"} == set(arrays.files)
        assert all(arrays[name].shape == arrays["labels"].shape for name in names)
    assert "1 of them stored before" in cli(*asked)[2]
    for wrong, words in (
        (("--tables", "iris"), "--tables has iris"),
        (("--jobs", "0"), "'--jobs'"),
    ):
        code, _, err = cli(*asked[:3], *wrong)
        assert code == 2 and words in err


def test_an_absent_table_is_refused(monkeypatch):
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    with pytest.raises(BadInputError, match="uci_csv/spambase.csv"):
        perturbed_networks.load_rows("spambase")


# The item


def records(values):
    rows = [
        {"problem": p, "rep": r, "value": v} for p, vs in values.items() for r, v in enumerate(vs)
    ]
    return record_frame(rows, estimator="auroc", estimand="auroc")


def network(seed, plain, perturbed, aware):
    stem = f"perturbed_networks/spambase_mlp_seed{seed}"
    return {stem: [plain, plain], f"{stem}/h2^-6": perturbed, f"{stem}/aware_h2^-6": aware}


@pytest.fixture
def result():
    return records(
        network(0, 0.95, [0.94, 0.92], [0.9496, 0.9498]) | network(1, 0.97, [0.96, 0.96],
                                                                   [0.9696, 0.9698])
        | {"cifar10_one_vs_rest/net/class0": [0.9], "cifar10_one_vs_rest/net/class0/h2^-4": [0.8]}
    )  # fmt: skip


def test_decreases_are_against_the_plain_network(result):
    """The plain network loses 0.95 - 0.93 = 0.02 and 0.97 - 0.96 = 0.01.

    With the perturbation in training both networks lose 0.0003.
    """
    curves = item.curves(result).set_index(["panel", "series", "aware", "h"])
    plain, aware = (curves.loc[("mlp", "spambase", trained, 2.0**-6)] for trained in (False, True))
    assert plain["mean"] == pytest.approx(0.015)
    assert plain["se"] == pytest.approx(0.005)
    assert plain["members"] == 2
    assert aware["mean"] == pytest.approx(0.0003) and aware["raw"] == pytest.approx(0.96)
    assert curves.loc[("cifar10", "net", False, 2.0**-4), "mean"] == pytest.approx(0.1)


def test_the_limit_is_judged_beyond_two_standard_errors():
    assert [
        rates.below(*estimate, item.LIMIT)
        for estimate in ((0.0005, 0.0002), (0.0005, 0.0003), (0.002, 0.0001))
    ] == ["yes", "open", "no"]


def test_table_figure_and_comparison(result):
    settings = compose(["experiment=ciosek2026_perturbation"])
    table = item.table(result, settings)
    assert (
        dict(zip(table.index.get_level_values("trained"), table["below 0.001 at 2^-6"]))[
            "with the perturbation"
        ]
        == "yes"
    )
    assert set(table["below 0.001 at 2^-6"]) == {"–", "no", "yes"}
    figure = item.render(result, settings)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title() for ax in shown] == [
        "the paper's networks",
        item.PANELS["cifar10"],
        item.PANELS["mlp"],
    ]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == (
        "width $h$ of the perturbation",
        "decrease of the AUROC",
    )
    cifar, mlp = (
        {c.get_label(): c[0].get_xydata().tolist() for c in ax.containers} for ax in shown[1:]
    )
    assert cifar == {"net": [[2.0**-4, pytest.approx(0.1)]]}
    assert (
        mlp["spambase"][0] == [2.0**-6, pytest.approx(0.0003)] and len(shown[2].containers) == 2
    )  # with training and without
    ours = item.reproduced(result, settings)
    assert ours["why"].notna().all()  # nothing of ours is of the paper's own networks
    spam = ours[ours["row"].eq("Spam, BERT, h = 2^-6")].iloc[0]
    assert spam["value"] == pytest.approx(0.0003)
    assert np.isnan(ours.loc[ours["row"].str.startswith("IMDB"), "value"]).all()


def test_an_item_without_predictions_still_renders(result):
    settings = compose(["experiment=ciosek2026_perturbation"])
    none = result.assign(status="skipped", reason="no files", value=np.nan, estimand=None)
    (ax,) = item.render(none, settings).axes
    assert len(ax.texts) == 1 and not ax.lines
    assert item.table(none, settings).shape[0] == 1
    assert item.reproduced(none, settings)["value"].isna().all()


def test_a_family_without_its_files_is_skipped_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    repository = "problem.tabular_perturbed.problem.repository=no_such_folder"
    planned = plan(compose(["problem=[tabular_perturbed]", "estimator=[auroc]", repository]))
    assert set(planned.problems) == {"tabular_perturbed"} and planned.cells
    assert any(
        "there is no repository no_such_folder" in reason for reason in planned.skips.values()
    )
    assert set(planned.skips) == {c.key for c in planned.cells}


def test_the_item_of_retrained_networks_compares_with_the_plain_one():
    plain, aware = "cifar10_trained/net_epochs1_seed0", "cifar10_trained_aware/net_epochs1_seed0"
    values = {}
    for j, less in enumerate((0.01, 0.03)):
        values |= {f"{plain}/test/class{j}": [0.9], f"{plain}/test/class{j}/h2^-6": [0.9 - less]}
        values |= {f"{aware}_h2^-6/test/class{j}": [0.8]}
        values |= {f"{aware}_h2^-6/test/class{j}/h2^-6": [0.9 - less / 2]}
    curves = trained.curves(records(values)).set_index("aware")
    assert curves.loc[False, "mean"] == pytest.approx(0.02)
    assert curves.loc[True, "mean"] == pytest.approx(0.01)
    assert curves["members"].tolist() == [2, 2]
    settings = compose(["experiment=ciosek2026_perturbation_trained"])
    ours = trained.reproduced(records(values), settings).set_index("row")
    assert ours.loc["CIFAR, ViT, h = 2^-6", "value"] == pytest.approx(0.01)
    assert ours["why"].notna().all()
