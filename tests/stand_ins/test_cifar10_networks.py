"""Training of PreResNet-20 on CIFAR-10: schedule, images, and a job that resumes."""

import io

import numpy as np
import pytest
from harness.tools.stand_ins import cifar10_networks as made

from harness import BadInputError


def test_schedules():
    """The paper's steps, and a line up from 0.01 to 0.1 and down to 0."""
    steps = (0.5, 1, 149.9, 150, 225)
    rates = [0.01, 0.1, 0.1, 0.01, 0.001]
    assert [made.learning_rate(e, 250) for e in steps] == pytest.approx(rates)
    rates = [0.01, 0.055, 0.1, 0.05, 0.0]
    assert [made.learning_rate(e, 10) for e in (0, 1.5, 3, 6.5, 10)] == pytest.approx(rates)


def test_augmented_images_are_shifted_and_mirrored():
    """One bright pixel moves by at most 4, or to the mirrored place, and stays one pixel."""
    x = np.zeros((200, 3, 32, 32), dtype=np.float32)
    x[:, 1, 10, 12] = 1.0
    result = made.augmented(x, np.random.default_rng(0))
    assert result.shape == x.shape and result.dtype == x.dtype
    image, channel, row, column = np.nonzero(result)
    assert len(image) == 200 and (channel == 1).all()
    assert set(row) == set(range(6, 15))
    assert set(column) == {*range(8, 17), *(31 - c for c in range(8, 17))}


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Make 40 training images, of which 20 validate, and 10 test images, each of one colour."""
    pillow = pytest.importorskip("PIL.Image", reason="images need pillow")
    arrays = {}
    for part, n in (("train", 40), ("test", 10)):
        files = []
        for i in range(n):
            file = io.BytesIO()
            pixels = np.full((32, 32, 3), 25 * (i % 10), dtype=np.uint8)
            pillow.fromarray(pixels).save(file, "JPEG")
            files.append(np.frombuffer(file.getvalue(), dtype=np.uint8))
        arrays[f"jpeg_{part}"] = np.concatenate(files)
        arrays[f"end_{part}"] = np.cumsum([len(file) for file in files])
        arrays[f"y_{part}"] = np.arange(n) % 10
    (tmp_path / "images").mkdir()
    np.savez(tmp_path / made.IMAGES, **arrays)
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(made, "VALIDATION", 20)
    return tmp_path


def test_images_keep_their_labels(images):
    train, val, test = made.read_images(made.images_file())
    assert [len(part.y) for part in (train, val, test)] == [20, 20, 10]
    assert sorted([*train.y, *val.y]) == sorted(np.arange(40) % 10)
    for part in (train, val, test):
        grey = part.x.mean(axis=(2, 3)) * made.SD + made.MEAN
        np.testing.assert_allclose(grey, np.repeat(25 * part.y[:, None] / 255, 3, 1), atol=0.02)


@pytest.mark.parametrize("width", [None, 2.0**-6])
def test_an_interrupted_job_ends_with_the_same_network(images, monkeypatch, width):
    pytest.importorskip("torch")
    network = made.Training(5, 2, width)
    assert made.make([network], images / "whole") == 0
    train_epoch = made._train_epoch

    def interrupted(model, optimiser, part, epoch, *rest):
        if epoch == 1:
            raise KeyboardInterrupt
        train_epoch(model, optimiser, part, epoch, *rest)

    monkeypatch.setattr(made, "_train_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.make([network], images / "parts")
    monkeypatch.setattr(made, "_train_epoch", train_epoch)
    assert made.make([network], images / "parts") == 0
    whole, parts = (np.load(images / name / network.file) for name in ("whole", "parts"))
    assert set(whole) == {
        "val_logits", "val_labels", "test_logits", "test_labels", "history", "made",
    }  # fmt: skip
    for name in set(whole) - {"made"}:
        np.testing.assert_array_equal(whole[name], parts[name])
    assert whole["history"].shape == (2, 2)
    assert not list((images / "parts").glob("*.checkpoint"))


def test_missing_images_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(made, "_check_packages", lambda: None)
    with pytest.raises(BadInputError, match="cifar10_jpeg.npz"):
        made.make([made.Training(5, 1)], tmp_path)


def test_command(cli, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(made, "make", lambda *given: asked.append(given) or 0)
    code, *_ = cli("data", "make", "cifar10_networks", "--seeds", "5,10", "--out", str(tmp_path))
    assert code == 0
    assert asked == [([made.Training(5, 10), made.Training(10, 10)], tmp_path, 1, "cpu")]
    assert cli("data", "make", "cifar10_networks", "--width", "2^-6")[0] == 0
    assert asked[1][0] == [made.Training(5, 10, 2.0**-6)]
    assert asked[1][0][0].file == "preresnet20_epochs10_seed5_h2^-6.npz"
    code, _, err = cli("data", "make", "cifar10_networks", "--width", "-1")
    assert code == 2 and "--width is '-1'" in err
