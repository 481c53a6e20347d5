"""Networks trained on the bundled digits, their files, and families of prediction files."""

from dataclasses import replace

import numpy as np
import pytest
from harness.tools.stand_ins import digits_networks
from harness.tools.stand_ins.digits_networks import Training
from scipy.special import softmax

from harness import BadInputError
from harness.commands import data
from harness.configure.compose import compose
from harness.plan.plan import plan
from harness.problems import PredictionFiles

TINY = Training("snapshots", "tiny", 3, (4,), 0.1, (0, 2), train=40, validation=50, batch=16)
LAYERS = Training("layers", "tiny", 3, (4, 3), 0.1, (1,), train=40)


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return rng.random((12, 5)), rng.integers(0, 3, 12)


def loss(x, y, weights):
    return -np.log(
        softmax(digits_networks.activations(x, weights)[-1], axis=1)[np.arange(len(y)), y]
    ).mean()


# the network


def test_activations_by_hand():
    """x = (1, 2): hidden max(0, 1 - 2 + 1/2) = 0, max(0, 3 + 0) = 3; logits 3 (1, -1) + (0, 1)."""
    weights = [
        (np.array([[1.0, 1.0], [-1.0, 1.0]]), np.array([0.5, 0.0])),
        (np.array([[7.0, 7.0], [1.0, -1.0]]), np.array([0.0, 1.0])),
    ]
    hidden, logits = digits_networks.activations(np.array([[1.0, 2.0]]), weights)
    assert hidden.tolist() == [[0.0, 3.0]] and logits.tolist() == [[3.0, -2.0]]


def test_gradients_are_those_of_the_mean_cross_entropy(images):
    x, y = images
    weights = digits_networks.first_weights((5, 4, 6, 3), np.random.default_rng(1))
    slopes, step = digits_networks.gradients(x, y, weights), 1e-6
    for layer, slope in zip(weights, slopes):
        for parameter, derivative in zip(layer, slope):
            for index in [(0,) * parameter.ndim, (-1,) * parameter.ndim]:
                parameter[index] += step
                above = loss(x, y, weights)
                parameter[index] -= 2 * step
                below = loss(x, y, weights)
                parameter[index] += step
                assert derivative[index] == pytest.approx((above - below) / (2 * step), abs=1e-8)


def test_one_step_of_plain_descent_and_two_with_momentum(images):
    """w - r g, then with v = m g + g': w - r g - r (m g + g')."""
    x, y = images
    start = digits_networks.first_weights((5, 3), np.random.default_rng(1))
    weights = [(w.copy(), b.copy()) for w, b in start]
    velocity = [(np.zeros_like(w), np.zeros_like(b)) for w, b in start]
    first = digits_networks.gradients(x, y, weights)[0][0]
    digits_networks._step(x, y, weights, velocity, 0.2, 0.5)
    np.testing.assert_allclose(weights[0][0], start[0][0] - 0.2 * first, atol=1e-15)
    second = digits_networks.gradients(x, y, weights)[0][0]
    digits_networks._step(x, y, weights, velocity, 0.2, 0.5)
    np.testing.assert_allclose(
        weights[0][0], start[0][0] - 0.2 * first - 0.2 * (0.5 * first + second), atol=1e-15
    )


def test_training_learns_and_depends_on_the_seed_alone():
    data = digits_networks.images("snapshots")
    training = replace(TINY, hidden=(32,), epochs=(0, 30), train=300)
    runs = [
        [
            weights[-1][0].copy()
            for _, weights in digits_networks.train(r, data.x[:300], data.y[:300], 10)
        ]
        for r in (training, training, replace(training, seed=4))
    ]
    assert (
        (runs[0][0] == runs[1][0]).all()
        and (runs[0][1] == runs[1][1]).all()
        and (runs[0][1] != runs[2][1]).all()
    )
    (_, _), (epoch, weights) = digits_networks.train(training, data.x[:300], data.y[:300], 10)
    right = digits_networks.activations(data.x[300:], weights)[-1].argmax(axis=1) == data.y[300:]
    assert epoch == 30 and right.mean() > 0.8


# what is stored


def test_parts_are_disjoint_and_hold_all_digits(tmp_path):
    assert digits_networks.make([TINY], tmp_path) == 0
    stored = np.load(tmp_path / "snapshots" / "tiny_seed3_epoch0002.npz")
    data = digits_networks.images("snapshots")
    assert (
        stored["val_labels"].tolist() == data.y[40:90].tolist()
        and stored["test_labels"].tolist() == data.y[90:].tolist()
    )
    assert stored["val_logits"].shape == (50, 10) and len(data.y) == 1797 and data.x.max() == 1.0
    assert set(digits_networks.images("training").y) == {0, 1}


def test_layers_are_stored_with_one_zero_column_and_the_output_as_it_is(tmp_path):
    digits_networks.make([LAYERS], tmp_path)
    names = [f"tiny_seed3_epoch0001_{layer}.npz" for layer in ("layer1", "layer2", "output")]
    assert LAYERS.files() == names
    stored = [np.load(tmp_path / "layers" / name)["logits"] for name in names]
    assert [z.shape for z in stored] == [(1757, 5), (1757, 4), (1757, 10)]
    for z in stored[:2]:
        assert (z[:, -1] == 0).all() and (z >= 0).all() and z.max() > 0
        p = softmax(z.astype(float), axis=1)
        np.testing.assert_allclose(
            np.log(p / p[:, -1:]), z, atol=1e-9
        )  # nothing of the activations is lost
    weights = dict(
        digits_networks.train(
            LAYERS,
            digits_networks.images("layers").x[:40],
            digits_networks.images("layers").y[:40],
            10,
        )
    )[1]
    np.testing.assert_allclose(
        stored[2],
        digits_networks.activations(digits_networks.images("layers").x[40:], weights)[-1],
        rtol=1e-5,
        atol=1e-6,
    )


def test_same_bytes_twice_and_nothing_is_trained_twice(tmp_path, monkeypatch):
    for name in ("a", "b"):
        digits_networks.make([TINY], tmp_path / name)
    first = {path.name: path.read_bytes() for path in (tmp_path / "a" / "snapshots").iterdir()}
    assert first == {
        path.name: path.read_bytes() for path in (tmp_path / "b" / "snapshots").iterdir()
    }
    assert sorted(first) == ["tiny_seed3_epoch0000.npz", "tiny_seed3_epoch0002.npz"]
    monkeypatch.setattr(digits_networks, "train", lambda *_: pytest.fail("trained again"))
    assert digits_networks.make([TINY], tmp_path / "a") == 0


@pytest.mark.parametrize("lost", ["epoch0000", "epoch0002"])
def test_an_interrupted_network_is_trained_again(tmp_path, lost):
    digits_networks.make([TINY], tmp_path)
    path = tmp_path / "snapshots" / f"tiny_seed3_{lost}.npz"
    before = path.read_bytes()
    path.unlink()
    digits_networks.make([TINY], tmp_path)
    assert path.read_bytes() == before


def test_another_recipe_replaces_what_an_earlier_one_made(tmp_path):
    """Our files go, also those whose names are no longer used. Other files stay."""
    digits_networks.make([TINY], tmp_path)
    folder = tmp_path / "snapshots"
    before = (folder / "tiny_seed3_epoch0002.npz").read_bytes()
    np.savez(folder / "mine.npz", val_logits=np.zeros((2, 2)))
    digits_networks.make([replace(TINY, rate=0.2, epochs=(1, 2))], tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == [
        "mine.npz",
        "tiny_seed3_epoch0001.npz",
        "tiny_seed3_epoch0002.npz",
    ]
    assert (folder / "tiny_seed3_epoch0002.npz").read_bytes() != before


def test_a_failing_network_is_counted_and_the_others_are_stored(tmp_path, capsys):
    wrong = replace(TINY, name="wrong", hidden=(-1,))
    assert digits_networks.make([wrong, TINY], tmp_path) == 1
    assert "wrong, seed 3: failed (" in capsys.readouterr().err
    assert (tmp_path / "snapshots" / "tiny_seed3_epoch0002.npz").is_file()


@pytest.mark.parametrize("kind", digits_networks.KINDS)
def test_every_kind_has_names_of_its_own_and_enough_rows(kind):
    ones = digits_networks.trainings(kind)
    names = [name for training in ones for name in training.files()]
    assert len(names) == len(set(names))
    for training in ones:
        rest = 1797 - training.train - training.validation
        assert kind == "layers_mnist" or rest >= 800 or training.validation >= 800
        assert list(training.epochs) == sorted(set(training.epochs))


def test_digits_and_mnist_take_as_many_steps():
    """14 batches of 64 of 896 digits, 938 of 60,000 images."""
    steps = [
        training.epochs[-1] * -(-training.train // training.batch)
        for training in (
            digits_networks.trainings("layers")[0],
            digits_networks.trainings("layers_mnist")[0],
        )
    ]
    assert steps == [28140, 28140]


# MNIST


def write_mnist(folder, **change):
    rng = np.random.default_rng(0)
    arrays = {
        "x_train": rng.integers(0, 256, (30, 2, 2), dtype=np.uint8), "y_train": np.arange(30) % 10,
        "x_test": np.full((5, 2, 2), 255, dtype=np.uint8), "y_test": np.arange(5),
    }  # fmt: skip
    np.savez(
        folder / "mnist.npz", **{k: v for k, v in {**arrays, **change}.items() if v is not None}
    )


def test_mnist_is_found_scaled_and_cut_at_its_own_split(tmp_path, monkeypatch):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    assert digits_networks.mnist_file() is None
    write_mnist(tmp_path)
    (tmp_path / "images").mkdir()
    assert digits_networks.mnist_file() == tmp_path / "mnist.npz"
    write_mnist(tmp_path / "images")
    data = digits_networks.images("layers_mnist", digits_networks.mnist_file())
    assert (
        data.x.shape == (35, 4)
        and data.x.min() >= 0
        and (data.x[30:] == 1.0).all()
        and data.y[30:].tolist() == [0, 1, 2, 3, 4]
    )
    training = Training("layers_mnist", "tiny", 0, (3,), 0.1, (1,), train=30, batch=8)
    assert (
        digits_networks.make([training], tmp_path / "out", mnist=digits_networks.mnist_file()) == 0
    )
    assert np.load(tmp_path / "out" / "layers_mnist" / training.files()[-1])["labels"].tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_mnist_without_an_array_is_refused(tmp_path):
    write_mnist(tmp_path, y_test=None)
    with pytest.raises(BadInputError, match="no array y_test"):
        digits_networks.images("layers_mnist", tmp_path / "mnist.npz")


def test_command(cli, tmp_path, monkeypatch):
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    monkeypatch.setattr(
        digits_networks, "trainings", lambda kind: [TINY] if kind == "snapshots" else []
    )
    options = ("--out", str(tmp_path), "--jobs", "1", "--kinds", "snapshots,layers_mnist")
    code, text, err = cli("data", "make", "digits_networks", *options)
    assert (
        code == 0
        and "1 networks stored, 0 failed" in text
        and "layers_mnist is not made" in err
        and "about" in err
    )


def test_command_without_a_checkout():
    with pytest.raises(BadInputError, match="checkout"):
        data.needs_checkout(["digits_networks"])


# families of files


def write(folder, *names, rows=6, **arrays):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for name in names:
        parts = {
            f"{part}_{what}": v
            for part in ("val", "test")
            for what, v in (("logits", rng.normal(size=(rows, 3))), ("labels", np.arange(rows) % 3))
        }
        np.savez(folder / name, **(arrays or parts))


def test_members_are_the_matching_files_by_name(tmp_path):
    write(tmp_path, "b_seed1.npz", "a_seed2.npz", "a_seed1.npz", ".hidden.npz")
    family = PredictionFiles(str(tmp_path), pattern="a_*.npz", part="test", name="nets")
    assert list(family.members()) == ["nets/a_seed1/test", "nets/a_seed2/test"]
    assert len(PredictionFiles(str(tmp_path)).members()) == 3
    problem = family.members()["nets/a_seed2/test"]
    p, y = problem.sample(6, np.random.default_rng(0))
    stored = np.load(tmp_path / "a_seed2.npz")
    np.testing.assert_allclose(
        np.sort(p, axis=0), np.sort(softmax(stored["test_logits"], axis=1), axis=0)
    )
    assert sorted(y) == sorted(stored["test_labels"])


def test_members_are_seeded_by_id_as_when_the_papers_results_were_computed(tmp_path):
    """Keys and streams of members are older than seeding by content."""
    write(tmp_path, "one.npz")
    (member,) = PredictionFiles(str(tmp_path), part="test").members().values()
    assert member.version == 1 and member.content is None
    seeded = replace(member, by_content=True)
    assert (
        seeded.version == 2
        and len(seeded.content) == 16
        and seeded.fingerprint == member.fingerprint
    )


def test_arrays_may_be_named_and_the_folder_gives_the_name(tmp_path):
    write(
        tmp_path / "mine", "one.npz", q=np.array([[0.2, 0.8], [0.6, 0.4]]), truth=np.array([1, 0])
    )
    ((name, member),) = (
        PredictionFiles(str(tmp_path / "mine"), probabilities="q", labels="truth").members().items()
    )
    assert name == "mine/one"
    p, y = member.sample(2, np.random.default_rng(0))
    assert sorted(zip(p[:, 1], y)) == [(0.4, 0), (0.8, 1)]


def test_the_working_folder_comes_before_the_data_folder_before_the_cache(tmp_path, monkeypatch):
    here, data, cache = (tmp_path / name for name in ("here", "data", "cache"))
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("CALHARNESS_DATA", str(data))
    monkeypatch.setattr("harness.problems.files_family.CACHE", cache)
    family = PredictionFiles("nets")
    for place in (cache, data, here):
        write(place / "nets", f"of_{place.name}.npz")
        assert list(family.members()) == [f"nets/of_{place.name}"]


def test_without_files_the_family_is_one_problem_that_is_skipped_with_the_way_to_get_them(
    tmp_path, monkeypatch, out
):
    monkeypatch.chdir(tmp_path)
    settings = compose(
        [
            "problem=[digits_snapshots_val,digits_snapshots_test]",
            "problem.digits_snapshots_val.folder=none",
            "problem.digits_snapshots_test.folder=none",
            "estimator=[binned15,brier]",
            "notion=classwise",
        ]
    )
    planned = plan(settings)
    assert list(planned.problems) == ["digits_snapshots/absent/val", "digits_snapshots/absent/test"]
    assert len(planned.cells) == 4 == len(planned.skips)
    assert all(
        "none/*.npz" in reason and "calharness data make digits_networks" in reason
        for reason in planned.skips.values()
    )
    assert len(plan(replace(settings, n=[100, 5000])).skips) == 8


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "folder is missing"),
        ({"folder": "x", "part": "valid"}, "part is 'valid'; allowed are train, val, test"),
        ({"folder": "x", "part": "val", "logits": "z"}, "remove probabilities, logits and labels"),
    ],
)
def test_mistakes_are_told(given, named):
    with pytest.raises(BadInputError, match=named):
        PredictionFiles(**given)


def test_one_name_with_two_endings_is_refused(tmp_path):
    write(tmp_path, "a.npz")
    (tmp_path / "a.csv").write_text("p,y\n0.5,1\n")
    with pytest.raises(BadInputError, match="several files a"):
        PredictionFiles(str(tmp_path), pattern="*").members()
