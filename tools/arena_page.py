"""Draw the arena's page, results/arena/index.html, from the stored records in results/baseline.

    python tools/arena_page.py

The script runs no estimator. For a million rows it takes about a minute of CPU time and 1.3 GB of
memory. To recompute the stored records, run `calharness compare --rebuild`.
"""

from __future__ import annotations

from functools import partial

import pandas as pd

from harness.commands.experiment import Experiment
from harness.common.paths import BASELINE
from harness.pages import arena_page
from harness.plan import plan as planning
from harness.records import baseline, stored, stored_columns

COLUMNS = (*baseline.COMPARED, "level")  # of the records, that the page reads


def main() -> None:
    """Write the arena's page and the figures and tables that the page links to."""
    arena = Experiment.of([f"experiment={baseline.WHOLE}"])
    frames = []
    for part in arena.family:
        name = str(part.name)
        path = stored.file_path(BASELINE, name)
        if path.is_file():
            # the stored plan knows the keys of problems whose data files are absent here
            plan = stored.load_plan(path, part.settings, partial(planning.plan, part.settings))
            frame = stored.load_frame(path, plan, COLUMNS)
            names = pd.Categorical([name] * len(frame))
            frames.append(frame.assign(experiment=names))
    paths = arena_page.save(arena, stored_columns.concatenate(frames))
    print(f"{len(paths)} files, such as {paths[-1]}")


if __name__ == "__main__":
    main()
