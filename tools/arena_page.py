"""Draw the arena's page, results/arena/index.html, from the stored records of results/baseline.

    python tools/arena_page.py

It reads a million rows: about four minutes and 1.4 GB. Nothing is computed. `calharness compare
--rebuild` computes the stored records.
"""

from __future__ import annotations

import pandas as pd

from harness.commands.experiment import Experiment
from harness.common.paths import BASELINE
from harness.pages import arena_page
from harness.records import baseline, stored


def main() -> None:
    """Draw the page and everything beside it."""
    arena = Experiment.of([f"experiment={baseline.WHOLE}"])
    frames = []
    for part in arena.family:
        name = str(part.name)
        path = stored.path_of(BASELINE, name)
        if path.is_file():
            frame = stored.frame_of(path, part.plan)
            names = pd.Categorical([name] * len(frame))
            frames.append(frame.assign(experiment=names))
    paths = arena_page.save(arena, baseline.joined(frames))
    print(f"{len(paths)} files, such as {paths[-1]}")


if __name__ == "__main__":
    main()
