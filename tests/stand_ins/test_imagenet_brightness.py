"""Brightened images: the ImageNet job with stand-ins for timm and the images, and Figure 4b."""

import types
from dataclasses import replace

import numpy as np
import pytest
from harness.experiments.moskvichev2025 import fig4b as item
from harness.tools.stand_ins import digits_networks
from harness.tools.stand_ins import imagenet_brightness as made

from harness import BadInputError
from harness.configure.compose import compose


def test_brightness_multiplies_pixels_and_stops_at_white():
    assert made.brightened(np.array([0.0, 0.4, 0.9]), 50).tolist() == pytest.approx([0.0, 0.6, 1.0])
    assert made.brightened(np.array([0.0, 0.4, 0.9]), -50).tolist() == pytest.approx(
        [0.0, 0.2, 0.45]
    )
    assert (made.brightened(np.array([0.3]), 0) == 0.3).all()
    assert [made.level_name(p) for p in (-50, 0, 10)] == [
        "brightness-50",
        "brightness+0",
        "brightness+10",
    ]


# the job


@pytest.fixture
def images(tmp_path):
    """Three grey images in 1,000 folders: class 2 twice, class 7 once."""
    image = pytest.importorskip("PIL.Image", reason="images need pillow")
    folder = tmp_path / "images"
    for label in range(made.CLASSES):
        (folder / f"n{label:08d}").mkdir(parents=True)
    for name, label, grey in (("a.JPEG", 2, 40), ("b.png", 2, 200), ("c.jpg", 7, 100)):
        image.fromarray(np.full((6, 5, 3), grey, dtype=np.uint8)).save(
            folder / f"n{label:08d}" / name
        )
    return folder


@pytest.fixture
def timm(monkeypatch):
    """Stand-in for timm: 'light' (1,000 classes) and 'features' (2) return the mean pixel."""
    torch = pytest.importorskip("torch", reason="the job runs timm's networks with torch")
    asked = []

    class Network(torch.nn.Module):
        def __init__(self, outputs, classes):
            super().__init__()
            self.outputs, self.num_classes = outputs, classes

        def forward(self, x):
            return x.mean(dim=(1, 2, 3))[:, None] * torch.arange(1.0, self.outputs + 1)

    def create_model(name, pretrained, pretrained_cfg_overlay):
        asked.append((name, pretrained, pretrained_cfg_overlay))
        if name not in ("light", "features"):
            raise RuntimeError(f"Unknown model ({name})")
        return Network(made.CLASSES, made.CLASSES) if name == "light" else Network(2, 0)

    data = types.SimpleNamespace(
        resolve_model_data_config=lambda model: {"size": 1},
        create_transform=lambda size, is_training: (
            lambda image: torch.tensor(np.asarray(image) / 255.0).permute(2, 0, 1)
        ),
    )
    fake = types.ModuleType("timm")
    fake.create_model, fake.data, fake.asked = create_model, data, asked
    fake.__spec__ = types.SimpleNamespace(name="timm")
    monkeypatch.setitem(__import__("sys").modules, "timm", fake)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    return fake


def job(images, *networks, n=3, **changes):
    return made.Job(
        images,
        networks,
        changes.pop("weights", {}),
        changes.pop("heads", {}),
        n=n,
        batch=2,
        **changes,
    )


def stored(out, network, percent):
    with np.load(out / f"{network}_{made.level_name(percent)}.npz") as archive:
        return archive["logits"], archive["labels"]


def test_logits_of_brightened_images_are_stored(images, timm, tmp_path):
    out = tmp_path / "out"
    assert made.make(job(images, "light"), out) == 0
    assert len(list(out.glob("light_brightness*.npz"))) == len(made.LEVELS) == 11
    logits, labels = stored(out, "light", 0)
    assert logits.shape == (3, made.CLASSES) and sorted(labels) == [2, 2, 7]
    darker, brighter = (stored(out, "light", p)[0] for p in (-50, 50))
    grey = np.sort(255 * logits[:, 0])
    np.testing.assert_allclose(grey, [40, 100, 200], atol=2)  # one of them is a JPEG
    np.testing.assert_allclose(np.sort(255 * darker[:, 0]), grey / 2, atol=1)
    np.testing.assert_allclose(np.sort(255 * brighter[:, 0]), np.minimum(1.5 * grey, 255), atol=1)


def test_the_job_goes_on_where_it_was(images, timm, tmp_path, capsys):
    out = tmp_path / "out"
    made.make(job(images, "light"), out)
    (out / "light_brightness+10.npz").unlink()
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.npz")}
    made.make(job(images, "light"), out)
    assert "10 of them stored before" in capsys.readouterr().err
    assert {
        path.name: path.stat().st_mtime_ns for path in out.glob("*.npz")
    }.items() > times.items()
    timm.asked.clear()
    made.make(job(images, "light"), out)
    assert not timm.asked  # nothing to do, no network is loaded
    made.make(job(images, "light", seed=1), out)  # other images, or their other order: all anew
    assert "0 of them stored before" in capsys.readouterr().err


def test_a_head_gives_classes_to_features(images, timm, tmp_path):
    out, head = tmp_path / "out", tmp_path / "head.npz"
    with pytest.raises(BadInputError, match="--head features=FILE"):
        made.make(job(images, "features"), out)
    weight = np.random.default_rng(0).normal(size=(made.CLASSES, 2))
    np.savez(head, weight=weight, bias=np.ones(made.CLASSES), normalise=1)
    made.make(job(images, "features", heads={"features": head}), out)
    expected = (
        weight @ np.array([1.0, 2.0]) / np.sqrt(5.0) + 1.0
    )  # every feature vector is a multiple of (1, 2)
    np.testing.assert_allclose(stored(out, "features", 0)[0], np.tile(expected, (3, 1)), rtol=1e-6)
    np.savez(head, weight=weight[:, :1])
    with pytest.raises(BadInputError, match="1 features"):
        made.make(job(images, "features", heads={"features": head}), out)


def test_nothing_is_downloaded_unasked(images, timm, tmp_path):
    import os

    weights = tmp_path / "light.pth"
    weights.touch()
    made.load(job(images, "light", weights={"light": weights}), "light")
    assert os.environ["HF_HUB_OFFLINE"] == "1" and timm.asked[-1] == (
        "light",
        True,
        {"file": str(weights)},
    )
    os.environ["HF_HUB_OFFLINE"] = "0"
    made.load(job(images, "light", download=True), "light")
    assert os.environ["HF_HUB_OFFLINE"] == "0"
    with pytest.raises(BadInputError, match="nonsense"):
        made.load(job(images, "nonsense"), "nonsense")


def test_images_are_drawn_by_the_seed(images):
    chosen = [
        [path.name for path, _ in job(images, "light", seed=seed).chosen] for seed in range(6)
    ]
    assert chosen[0] == [path.name for path, _ in job(images, "light").chosen]
    assert len({tuple(names) for names in chosen}) > 1 and all(
        sorted(names) == ["a.JPEG", "b.png", "c.jpg"] for names in chosen
    )


def test_what_is_missing_is_said_in_one_sentence(cli, images, tmp_path, monkeypatch):
    make = ("data", "make", "imagenet_brightness")
    with pytest.raises(BadInputError, match="--n is 4"):
        len(job(images, "light", n=4).chosen)
    with pytest.raises(BadInputError, match="is no folder"):
        len(job(tmp_path / "nowhere", "light").chosen)
    (images / "n00000000").rmdir()
    with pytest.raises(BadInputError, match="999 folders"):
        len(job(images, "light").chosen)
    for wrong, named in (
        ((), "--images"),
        (("--images", ".", "--n", "0"), "'--n'"),
        (("--images", ".", "--networks", ","), "--networks is empty"),
        (
            ("--images", ".", "--weights", "other=x"),
            "NAME=FILE is needed",
        ),
        (("--images", ".", "--head", "resnet50.a1_in1k=nofile"), "there is no file 'nofile'"),
    ):
        code, _, err = cli(*make, *wrong)
        assert code == 2 and named in err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = cli(*make, "--images", ".")
    assert code == 2 and "timm, torch, PIL" in err and "calharness[imagenet]" in err


def test_an_image_that_is_none_is_named(images, timm, tmp_path):
    (images / "n00000007" / "c.jpg").write_text("no image")
    with pytest.raises(BadInputError, match="c.jpg"):
        made.make(job(images, "light"), tmp_path / "out")


# the twin on digits


def test_digits_are_predicted_at_every_level(tmp_path):
    training = digits_networks.Training("brightness", "tiny", 0, (4,), 0.1, (1,), 797)
    digits_networks.make([training], tmp_path)
    paths = sorted((tmp_path / "brightness").glob("*.npz"))
    assert [path.name for path in paths] == sorted(
        f"tiny_seed0_{made.level_name(p)}.npz" for p in made.LEVELS
    )
    with np.load(paths[0]) as dark, np.load(paths[-1]) as other:
        assert dark["logits"].shape == (1000, 10) and (dark["labels"] == other["labels"]).all()
        assert (dark["logits"] != other["logits"]).any()


# the item


def records(values):
    import pandas as pd

    rows = [
        {"problem": p, "estimator": e, "estimand": e, "value": v} for (p, e), v in values.items()
    ]
    return pd.DataFrame(rows).assign(
        status="ok", reason=None, notion="canonical", n=1000, rep=0, truth=np.nan
    )


def test_levels_at_which_a_network_has_the_smaller_value():
    """Network a beats b in CKCE at all three levels, in JKCE at one. Seeds are averaged."""
    values = {}
    for i, percent in enumerate((-50, 0, 50)):
        for seed in (0, 1):
            for network, ckce, skce in (("a", 1.0 + i, i), ("b", 2.0 + i, 1.0)):
                problem = f"family/{network}_seed{seed}_brightness{percent:+d}"
                values[problem, "ckce"], values[problem, "skce"] = ckce + 0.2 * seed, skce
    composed = compose(["experiment=moskvichev2025_fig4b_offline"])
    settings = replace(composed, labels=replace(composed.labels, problem={"a": "A", "b": "B"}))
    lines = item.measured(records(values), settings)
    first = lines[
        lines["title"].eq("CKCE") & lines["network"].eq("A") & lines["percent"].eq(-50)
    ].iloc[0]
    assert (first["mean"], first["reps"]) == (pytest.approx(1.1), 2) and first[
        "se"
    ] == pytest.approx(0.1)
    table = item.table(records(values), settings)
    assert table.loc[("CKCE", "A"), "smaller than the others at"] == "3 of 3"
    assert table.loc[("JKCE", "A"), "smaller than the others at"] == "1 of 3"
    assert table.loc[("CKCE", "A"), "largest / smallest"] == "2.82"  # 3.1 / 1.1
    left, right = item.render(records(values), settings).axes
    assert [ax.get_ylabel() for ax in (left, right)] == ["CKCE", "JKCE"]
    drawn = {c.get_label(): c[0].get_xydata().tolist() for c in left.containers}
    assert drawn["A"] == pytest.approx(np.array([[-50, 1.1], [0, 2.1], [50, 3.1]])) and set(
        drawn
    ) == {"A", "B"}
    ours = item.reproduced(records(values), settings).set_index("column")["value"]
    assert ours.to_dict() == {"CKCE": 3}  # of JKCE the paper gives no number


def test_without_predictions_the_item_says_so():
    settings = compose(["experiment=moskvichev2025_fig4b"])
    none = records({("imagenet_brightness/absent", "ckce"): np.nan}).assign(
        status="skipped", reason="no images", estimand=None
    )
    assert item.table(none, settings).iloc[0, 0] == "none: there are no predictions"
    (ax,) = item.render(none, settings).axes
    assert [text.get_text() for text in ax.texts] == [
        "there are no predictions to draw; the page says how to get them"
    ]
    ours = item.reproduced(none, settings)
    assert ours["value"].isna().all() and ours["why"].str.contains("no images").all()
