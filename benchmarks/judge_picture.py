"""The picture of `judge` in the README: the top of the page on a VGG16 of Keras on CIFAR-10's test set, probabilities published
in p-lambda/verified_calibration (MIT licence); the pack cifar10_vgg16.

    python benchmarks/judge_picture.py FILE.npz [results/readme/judge.png]

FILE.npz holds `probs` (10000, 10) and `labels`. Needs Chromium; half a minute.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import harness

CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()
WIDTH, HEIGHT = 1280, 1480
COLOURS = 64  # of the palette: letters stay sharp, and the file small


def main(predictions: str, picture: str = "results/readme/judge.png") -> None:
    held = np.load(predictions)
    judgement = harness.judge(
        held["probs"], held["labels"], classes=CLASSES, names=["VGG16 on CIFAR-10"]
    )
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is needed.")
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder, "page.html"), Path(folder, "shot.png")
        judgement.to_html(page)
        size = [
            "--force-device-scale-factor=1",
            f"--window-size={WIDTH},{HEIGHT}",
            "--hide-scrollbars",
        ]
        subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", *size, f"--screenshot={shot}", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip
        Image.open(shot).convert("RGB").quantize(COLOURS).save(picture, optimize=True)
    print(f"{picture}: {Path(picture).stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
