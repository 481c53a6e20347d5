"""Every command of the README works as printed (those of papers and sweeps take hours)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"^```\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.M | re.S)
RUN = [block for block in BLOCKS[1:] if "data fetch" not in block]  # that one needs a network and hours


def test_the_readme_has_its_four_uses():
    text = (ROOT / "README.md").read_text()
    assert len(BLOCKS) == 7 and len(RUN) == 5 and "make run" in BLOCKS[0] and "make test" in BLOCKS[0]
    for heading in ("Reproduce", "Sweep", "Compare your own estimator", "Judge my predictions"):
        assert f"\n## {heading}\n" in text
    assert (ROOT / re.search(r"!\[.*?\]\((.*?)\)", text)[1]).is_file()


MARKS = {"reproduce": "hours", "vary": "slow", "sweep": "slow", "compare": "slow", "judge": "slow"}


@pytest.mark.parametrize("block", [pytest.param(b, id=k, marks=getattr(pytest.mark, m)) for b, (k, m) in zip(RUN, MARKS.items())])
def test_commands_work_as_printed(block, tmp_path):
    binaries = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "CALHARNESS_OUT": str(tmp_path / "results")}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Traceback" not in done.stderr and " failed, the first" not in done.stderr
