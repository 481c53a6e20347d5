"""Time the training of networks with and without perturbed scores in the loss (ciosek2026).

    python tools/training_seconds.py [MODEL ...]

The models are PreResNet-20 on CIFAR-10, which needs torch, pillow and CALHARNESS_DATA/images, and
the small models of `calharness data make perturbed_networks`. The width of the perturbation is
2^-6. The script prints one CSV row per model and pair of trainings:

    model        preresnet20, or a table and a kind of model, such as digits_odd_mlp
    pair         number of the pair
    scores       number of scores in the losses of a training
    plain        CPU seconds of a training without perturbation
    perturbed    CPU seconds of the same training with the perturbation

Both trainings of a pair use the same rows, batches and steps on one thread. Every second pair
begins with the perturbed one. experiments/ciosek2026/training_seconds.csv holds the rows.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator

from harness.tools.stand_ins import (
    cifar10_images,
    cifar10_networks,
    perturbed_networks,
    preresnet,
)

from harness.common.threads import one_thread

WIDTH = 2.0**-6
PAIRS = 24
CIFAR10 = "preresnet20"
CIFAR10_ROWS = 4 * cifar10_networks.BATCH  # four steps per training
COLUMNS = ["model", "pair", "scores", "plain", "perturbed"]


def trainings() -> dict[str, Callable[[], tuple[Callable[[float | None], object], int]]]:
    """Return {model: function that prepares it}.

    Each function returns a pair (train, m). train(width) trains the model, without perturbation if
    the width is None. m is the number of scores that it trains on.
    """
    tables = [name for name in perturbed_networks.TABLES if perturbed_networks.is_at_hand(name)]
    small = {
        f"{network.table}_{network.model}": network
        for network in perturbed_networks.trainings(tables)
        if network.seed == 0
    }
    ways = {name: lambda network=network: _small(network) for name, network in small.items()}
    return {CIFAR10: _preresnet20, **ways}


def _preresnet20():
    import torch

    torch.set_num_threads(1)
    data, *_ = cifar10_networks.read_images(cifar10_images.find())
    images = preresnet.padded(data.x[:CIFAR10_ROWS], "cpu")
    labels = torch.from_numpy(data.y[:CIFAR10_ROWS])
    torch.manual_seed(0)
    model = preresnet.preresnet20()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)

    def train(h):
        network = cifar10_networks.Training(0, 10, h)
        cifar10_networks._train_epoch(
            model, optimiser, images, labels, 0, network, preresnet.Hardware()
        )

    return train, 10 * len(labels)


def _small(network):
    rows = perturbed_networks.load_rows(network.table)

    def train(h):
        perturbed_networks.train(network, rows.x, rows.y, h)

    return train, network.epochs * len(rows.y)


def seconds(train: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    train()
    return time.process_time() - start


def pairs(model: str) -> Iterator[list[object]]:
    """Yield the CSV rows of a model, after one pair that is not counted."""
    train, scores = trainings()[model]()
    for pair in range(-1, PAIRS):
        order = (None, WIDTH) if pair % 2 else (WIDTH, None)
        spent = {h: seconds(lambda h=h: train(h)) for h in order}
        if pair >= 0:
            yield [model, pair, scores, f"{spent[None]:.6g}", f"{spent[WIDTH]:.6g}"]


if __name__ == "__main__":
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    with one_thread():
        for name in sys.argv[1:] or trainings():
            for row in pairs(name):
                table.writerow(row)
                sys.stdout.flush()
