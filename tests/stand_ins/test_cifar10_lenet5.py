"""Training of LeNet-5 on CIFAR-10: schedule, images, and a job that resumes to the bit."""

import io

import numpy as np
import pytest
from harness.tools.stand_ins import cifar10_images
from harness.tools.stand_ins import cifar10_lenet5 as made
from PIL import Image
from scipy.ndimage import affine_transform

from harness import BadInputError

N = {"train_a": 200, "train_b": 160, "test": 20}


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Make 360 images for training and validation and 20 for testing, in strips of 20."""
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for part, n in N.items():
        y = np.sort(rng.integers(0, 10, n))
        pixels = (rng.integers(0, 40, (n, 32, 32, 3)) + 20 * y[:, None, None, None]).astype(
            np.uint8
        )
        strips = []
        for strip in pixels.reshape(-1, 20 * 32, 32, 3):
            file = io.BytesIO()
            Image.fromarray(strip).save(file, "WEBP", lossless=True)
            strips.append(np.frombuffer(file.getvalue(), np.uint8))
        arrays = {
            "webp": np.concatenate(strips),
            "end": np.cumsum([len(strip) for strip in strips]),
            "y": y.astype(np.int16),
        }
        if part == "test":
            arrays["official_order"] = rng.permutation(n)
        np.savez(tmp_path / f"images/cifar10_{part}.npz", **arrays)
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(made, "KEPT", (1, 3))
    return tmp_path


def test_learning_rates():
    """The limits are inclusive, and epochs count from 0."""
    epochs = (0, 60, 61, 120, 121, 160, 161, 299)
    rates = [0.1, 0.1, 0.01, 0.01, 0.001, 0.001, 0.0001, 0.0001]
    assert [made.learning_rate(epoch) for epoch in epochs] == pytest.approx(rates)


def test_images_keep_their_labels(images):
    rest, test = cifar10_images.find("lossless").read()
    assert (len(rest.y), len(test.y)) == (360, 20)
    with np.load(images / "images/cifar10_test.npz") as arrays:
        np.testing.assert_array_equal(test.y, arrays["y"][arrays["official_order"]])
    for part in (rest, test):
        assert (part.x.min(axis=(1, 2, 3)) >= 20 * part.y).all()
        assert (part.x.max(axis=(1, 2, 3)) < 20 * part.y + 40).all()


def test_a_seed_draws_its_own_tenth(images):
    rest, _ = cifar10_images.find("lossless").read()
    train, val, scale = made.split(rest, 1)
    assert (len(train.y), len(val.y)) == (324, 36)
    assert sorted([*train.y, *val.y]) == sorted(rest.y)
    np.testing.assert_allclose(scale.mean, train.x.mean(axis=(0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(scale.sd, train.x.std(axis=(0, 2, 3)), rtol=1e-6)
    standard = made.standardised(train.x, scale)
    np.testing.assert_allclose(standard.mean(axis=(1, 2, 3)), 0, atol=1e-4)
    assert not np.array_equal(val.x, made.split(rest, 2)[1].x)


@pytest.mark.parametrize("shift", [(1.3, -2.7), (-4.0, 4.0), (0.0, 0.5), (-0.25, -3.9)])
@pytest.mark.parametrize("mirrored", [False, True])
def test_shifts_are_those_of_scipy(shift, mirrored):
    """Keras calls affine_transform with linear interpolation, and mirrors afterwards."""
    image = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32)).astype(np.uint8)
    scale = made.Scale(np.float32([100, 110, 120]), np.float32([50, 60, 70]))
    out = np.empty((3, 32, 32, 1), np.float32)
    made.augment(image, np.array([1]), np.array([shift]), np.array([mirrored]), *scale, out)
    for c in range(3):
        standard = (image[1, c] - float(scale.mean[c])) / float(scale.sd[c])
        expected = affine_transform(standard, np.eye(2), shift, order=1, cval=0.0)
        expected = expected[:, ::-1] if mirrored else expected
        np.testing.assert_allclose(out[c, ..., 0], expected, atol=1e-5)


def test_an_interrupted_job_ends_with_the_same_bits(images, monkeypatch):
    """Two epochs, then an interruption, then two more: all files equal those of four epochs."""
    whole, parts = images / "whole", images / "parts"
    assert made.make([made.Training(5, 4)], whole) == 0
    train_epoch = made.train_epoch

    def interrupted(state, *rest):
        if len(state["history"]) == 2:
            raise KeyboardInterrupt
        return train_epoch(state, *rest)

    monkeypatch.setattr(made, "train_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.make([made.Training(5, 4)], parts)
    monkeypatch.setattr(made, "train_epoch", train_epoch)
    assert made.make([made.Training(5, 4)], parts) == 0
    names = [f"lenet5_epochs{epochs}_seed5.npz" for epochs in (1, 3, 4)]
    for name in [*names, "lenet5_seed5.checkpoint.npz"]:
        one, other = (np.load(folder / name) for folder in (whole, parts))
        assert set(one) == set(other)
        for key in one:
            np.testing.assert_array_equal(one[key], other[key], err_msg=f"{name} {key}")
    assert one["history"].shape == (4, 3)
    assert one["history"][-1, 0] < one["history"][0, 0]  # the loss on the training images falls


def test_a_job_goes_on_from_fewer_epochs(images, monkeypatch):
    """A call with more epochs continues. A file that is gone is computed from the start."""
    out, epochs = images / "out", []
    train_epoch = made.train_epoch

    def counted(state, *rest):
        epochs.append(len(state["history"]))
        return train_epoch(state, *rest)

    monkeypatch.setattr(made, "train_epoch", counted)
    assert made.make([made.Training(5, 1)], out) == 0
    assert made.make([made.Training(5, 2)], out) == 0
    assert made.make([made.Training(5, 2)], out) == 0
    assert epochs == [0, 1]
    (out / "lenet5_epochs1_seed5.npz").unlink()
    assert made.make([made.Training(5, 2)], out) == 0
    assert epochs == [0, 1, 0, 1]


def test_missing_images_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    with pytest.raises(BadInputError, match="cifar10_train_a.npz"):
        made.make([made.Training(5, 1)], tmp_path)


def test_command(cli, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(made, "make", lambda *given: asked.append(given) or 0)
    code, *_ = cli("data", "make", "cifar10_lenet5", "--epochs", "180", "--out", str(tmp_path))
    assert code == 0
    assert asked == [([made.Training(seed, 180) for seed in (1, 2, 3, 4, 5)], tmp_path, 1)]
    assert asked[0][0][0].snapshots == [160, 180]
