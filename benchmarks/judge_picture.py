"""Draw the picture of `judge` in the README: the top of its page for a network on CIFAR-10.

    python benchmarks/judge_picture.py FILE.npz [results/readme/judge.png]

The network is a VGG16 of Keras. Its probabilities on the test set are published in
p-lambda/verified_calibration (MIT licence), and are the pack cifar10_vgg16. FILE.npz holds `probs`
(10000, 10) and `labels`. The script needs Chromium and takes half a minute.
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
WIDTH, HEIGHT = 1280, 1270
COLOURS = 64  # size of the palette: small enough for a small file, large enough for sharp letters


def main(predictions: str, picture: str = "results/readme/judge.png") -> None:
    """Judge the predictions, and write a picture of the top of the resulting page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is needed.")
    arrays = np.load(predictions)
    names = ["VGG16 on CIFAR-10"]
    judgement = harness.judge(arrays["probs"], arrays["labels"], classes=CLASSES, names=names)
    with tempfile.TemporaryDirectory() as folder:
        page, screenshot = Path(folder, "page.html"), Path(folder, "screenshot.png")
        judgement.to_html(page)
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={screenshot}",
        ]
        subprocess.run([chromium, *options, page.as_uri()], check=True, capture_output=True)
        Image.open(screenshot).convert("RGB").quantize(COLOURS).save(picture, optimize=True)
    print(f"{picture}: {Path(picture).stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
