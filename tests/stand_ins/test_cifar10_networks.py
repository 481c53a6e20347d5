"""Training of PreResNet-20 on CIFAR-10: schedule, images, and a job that resumes."""

import io

import numpy as np
import pytest
from harness.tools.stand_ins import cifar10_images, preresnet
from harness.tools.stand_ins import cifar10_networks as made
from harness.tools.stand_ins.preresnet import Hardware

from harness import BadInputError
from harness.common.paths import CHECKOUT
from harness.sources import packs


def test_schedules():
    """The paper's steps, and a line up from 0.01 to 0.1 and down to 0."""
    steps = (0.5, 1, 149.9, 150, 225)
    rates = [0.01, 0.1, 0.1, 0.01, 0.001]
    assert [made.learning_rate(e, 250) for e in steps] == pytest.approx(rates)
    rates = [0.01, 0.055, 0.1, 0.05, 0.0]
    assert [made.learning_rate(e, 10) for e in (0, 1.5, 3, 6.5, 10)] == pytest.approx(rates)


def test_augmented_images_are_shifted_and_mirrored():
    """One bright pixel moves by at most 4, or to the mirrored place, and stays one pixel."""
    torch = pytest.importorskip("torch")
    x = np.zeros((200, 3, 32, 32), dtype=np.float32)
    x[:, 1, 10, 12] = 1.0
    images = preresnet.padded(x, "cpu")
    order, draws = preresnet.draw_epoch(200, 64, np.random.default_rng(0))
    assert sorted(order) == list(range(200)) and draws.shape == (200, 3)
    top, left, mirrored = torch.from_numpy(draws).unbind(1)
    result = preresnet.augmented(images, torch.from_numpy(order), top, left, mirrored.bool())
    assert result.is_contiguous(memory_format=torch.channels_last)
    image, channel, row, column = np.nonzero(result.numpy())
    assert len(image) == 200 and (channel == 1).all()
    assert set(row) == set(range(6, 15))
    assert set(column) == {*range(8, 17), *(31 - c for c in range(8, 17))}


def test_augmented_images_are_slices_of_padded_ones():
    """Against numpy, image by image."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 3, 32, 32)).astype(np.float32)
    order, draws = preresnet.draw_epoch(30, 8, rng)
    result = preresnet.augmented(
        preresnet.padded(x, "cpu"),
        torch.from_numpy(order),
        *torch.from_numpy(draws[:, :2]).unbind(1),
        torch.from_numpy(draws[:, 2]).bool(),
    )
    large = np.pad(x, ((0, 0), (0, 0), (4, 4), (4, 4)))
    for image, row, (top, left, mirrored) in zip(result.numpy(), order, draws):
        expected = large[row, :, top : top + 32, left : left + 32]
        np.testing.assert_array_equal(image, expected[..., ::-1] if mirrored else expected)


def encoded(pictures, codec, **options):
    """Return (content, ends) of pictures (h, w, 3) uint8, one encoded file after another."""
    pillow = pytest.importorskip("PIL.Image", reason="images need pillow")
    files = []
    for pixels in pictures:
        file = io.BytesIO()
        pillow.fromarray(pixels).save(file, codec, **options)
        files.append(np.frombuffer(file.getvalue(), dtype=np.uint8))
    return np.concatenate(files), np.cumsum([len(file) for file in files])


def grey(labels):
    """Return images (n, 32, 32, 3) of one colour each, by their labels."""
    return np.broadcast_to(
        25 * np.asarray(labels, np.uint8)[:, None, None, None], (len(labels), 32, 32, 3)
    )


def write_jpegs(folder):
    """Write 40 training images, of which 20 validate, and 10 test images."""
    arrays = {}
    for part, n in (("train", 40), ("test", 10)):
        y = np.arange(n) % 10
        arrays[f"jpeg_{part}"], arrays[f"end_{part}"] = encoded(grey(y), "JPEG")
        arrays[f"y_{part}"] = y
    np.savez(folder / "cifar10_jpeg.npz", **arrays)


def write_lossless(folder):
    """Write the same images without loss, in strips of five; test images are in reverse order."""
    for part, n in (("train_a", 20), ("train_b", 20), ("test", 10)):
        y = np.arange(n)[::-1] % 10
        strips = grey(y).reshape(-1, 5 * 32, 32, 3)
        webp, end = encoded(strips, "WEBP", lossless=True)
        more = {"official_order": np.arange(n)[::-1]} if part == "test" else {}
        np.savez(folder / f"cifar10_{part}.npz", webp=webp, end=end, y=y, **more)


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Make small files of images of both kinds; 20 training images validate."""
    (tmp_path / "images").mkdir()
    write_jpegs(tmp_path / "images")
    write_lossless(tmp_path / "images")
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(made, "VALIDATION", 20)
    return tmp_path


@pytest.mark.parametrize("kind, tolerance", [("jpeg", 0.02), ("lossless", 1e-6)])
def test_images_keep_their_labels(images, kind, tolerance):
    train, val, test = made.read_images(cifar10_images.find(kind))
    assert [len(part.y) for part in (train, val, test)] == [20, 20, 10]
    assert sorted([*train.y, *val.y]) == sorted(np.arange(40) % 10)
    for part in (train, val, test):
        means = part.x.mean(axis=(2, 3)) * made.SD + made.MEAN
        expected = np.repeat(25 * part.y[:, None] / 255, 3, 1)
        np.testing.assert_allclose(means, expected, atol=tolerance)


def test_lossless_images_are_taken_if_they_are_there(images):
    assert cifar10_images.find().kind == "lossless"
    assert cifar10_images.find("jpeg").kind == "jpeg"
    train, test = cifar10_images.find().read()
    assert test.y.tolist() == list(range(10)) and train.x.shape == (40, 3, 32, 32)
    (images / "images" / "cifar10_train_b.npz").unlink()
    assert cifar10_images.find().kind == "jpeg"
    with pytest.raises(BadInputError, match="cifar10_train_a.npz"):
        cifar10_images.find("lossless")
    with pytest.raises(BadInputError, match="'png'; allowed are lossless, jpeg"):
        cifar10_images.find("png")


def test_the_stored_network_is_of_jpegs_and_stays_valid():
    """Its origin follows from the recipe and the checksum of the JPEGs."""
    network = made.Training(5, 10)
    assert network.file == "preresnet20_epochs10_seed5.npz"
    assert made.Training(5, 10, images="lossless").file == (
        "preresnet20_lossless_epochs10_seed5.npz"
    )
    with np.load(CHECKOUT / "data" / made.FOLDER / network.file) as arrays:
        assert made.origin(network, packs.packs()["cifar10_images"].sha256) == str(arrays["made"])


@pytest.mark.parametrize("width", [None, 2.0**-6])
def test_an_interrupted_job_ends_with_the_same_network(images, monkeypatch, width):
    pytest.importorskip("torch")
    network = made.Training(5, 2, width, "lossless")
    assert made.make([network], images / "whole") == 0
    train_epoch = made._train_epoch

    def interrupted(model, optimiser, x, y, epoch, *rest):
        if epoch == 1:
            raise KeyboardInterrupt
        train_epoch(model, optimiser, x, y, epoch, *rest)

    monkeypatch.setattr(made, "_train_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.make([network], images / "parts")
    monkeypatch.setattr(made, "_train_epoch", train_epoch)
    assert made.make([network], images / "parts") == 0
    whole, parts = (np.load(images / name / network.file) for name in ("whole", "parts"))
    assert set(whole) == {
        "val_logits", "val_labels", "test_logits", "test_labels", "history", "images", "hardware",
        "made",
    }  # fmt: skip
    for name in set(whole) - {"made"}:
        np.testing.assert_array_equal(whole[name], parts[name])
    assert whole["history"].shape == (2, 2)
    assert str(whole["images"]) == "lossless"
    assert str(whole["hardware"]).startswith("cpu, bfloat16, torch ")
    assert not list((images / "parts").glob("*.checkpoint"))


def test_precision_changes_products_and_is_checked(images):
    pytest.importorskip("torch")
    network = made.Training(5, 1, images="lossless")
    results = {}
    for precision in ("bfloat16", "float32"):
        out = images / precision
        assert made.make([network], out, hardware=Hardware("cpu", precision)) == 0
        with np.load(out / network.file) as arrays:
            results[precision] = arrays["test_logits"]
            assert f", {precision}," in str(arrays["hardware"])
    difference = np.abs(results["bfloat16"] - results["float32"])
    assert 0.0 < difference.max() < 0.5
    assert Hardware("cuda").products == "float32"
    with pytest.raises(BadInputError, match="only CUDA has it"):
        Hardware("cpu", "tf32")
    with pytest.raises(BadInputError, match="precision is 'half'"):
        Hardware("cuda", "half")


def test_missing_images_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(preresnet, "check_packages", lambda: None)
    with pytest.raises(BadInputError, match="cifar10_jpeg.npz"):
        made.make([made.Training(5, 1)], tmp_path)


def test_command(cli, images, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(made, "make", lambda *given: asked.append(given) or 0)
    command = ("data", "make", "cifar10_networks")
    code, *_ = cli(*command, "--seeds", "5,10", "--out", str(tmp_path))
    assert code == 0
    wanted = [made.Training(seed, 10, images="lossless") for seed in (5, 10)]
    assert asked == [(wanted, tmp_path, 1, Hardware())]
    more = ("--device", "cuda", "--precision", "tf32", "--jobs", "5")
    assert cli(*command, "--width", "2^-6", "--images", "jpeg", *more)[0] == 0
    assert asked[1][0] == [made.Training(5, 10, 2.0**-6)]
    assert asked[1][0][0].file == "preresnet20_epochs10_seed5_h2^-6.npz"
    assert asked[1][2:] == (5, Hardware("cuda", "tf32"))
    code, _, err = cli(*command, "--width", "-1")
    assert code == 2 and "--width is '-1'" in err
