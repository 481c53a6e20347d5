"""Run the commands of README and documentation, and compare what they print.

The blocks of a page run in one folder, one after the other.

A fence says what its block is:
    ``` or ```bash                  commands, run by bash; a failing one fails the page
    ```python                       a program of its own
    ```yaml title="FILE"            in any language, with a title: a file that the reader writes
    ```text                         output of the block before: every line, in this order;
                                    ... stands for anything
    ```diff, ```yaml, ...           shown only
and `<!-- not run: WHY -->` before a fence that a test cannot run (a cluster, a download, hours).
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n+)?"
    r'^``` ?(?P<language>\w*)(?: title="(?P<title>[^"\n]+)")?\n(?P<text>.*?)^```$',
    re.M | re.S,
)
SHELL = ("", "bash")


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    text: str
    why_not: str

    @property
    def runs(self):
        return not self.why_not and not self.title and self.language in (*SHELL, "python")


def blocks(page):
    """The blocks of a page of the project, in order."""
    text = (ROOT / page).read_text()
    result = [
        Block(m["language"], m["title"] or "", m["text"], m["why"] or "")
        for m in BLOCK.finditer(text)
    ]
    assert len(result) * 2 == len(re.findall(r"^ *```", text, flags=re.M)), (
        f"{page}: a fence that cannot be read"
    )
    return result


def run(some, folder):
    """Run blocks in a folder, one after the other, and compare their output with the page."""
    binaries = Path(sys.executable).parent
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "PYTHONPATH": path,
        "CALHARNESS_OUT": str(folder / "results"),
        "COLUMNS": "250",
    }
    printed = None
    for block in some:
        if block.title and not block.why_not:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text)
        elif block.runs:
            command = (
                [sys.executable, "-c"]
                if block.language == "python"
                else ["bash", "-e", "-o", "pipefail", "-c"]
            )
            done = subprocess.run(
                [*command, block.text], cwd=folder, env=environment, capture_output=True, text=True
            )
            printed = done.stdout + done.stderr
            assert done.returncode == 0, block.text + printed[-3000:]
            assert "Traceback" not in done.stderr and " failed, the first" not in done.stderr, (
                block.text + printed[-3000:]
            )
        elif block.language == "text" and not block.why_not:
            assert printed is not None, f"nothing was run that could print {block.text!r}"
            missing = first_missing(block.text, printed)
            assert missing is None, f"not printed: {missing!r}\n{printed[-3000:]}"
        else:
            printed = None


def first_missing(expected, printed):
    """First line of `expected` that is missing in `printed`, or None.

    The lines must come in this order. Spaces count as one, and ... stands for anything.
    """
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    for line in (" ".join(line.split()) for line in expected.splitlines()):
        pattern = ".*".join(map(re.escape, line.split("...")))
        if line != "..." and not any(re.fullmatch(pattern, other) for other in lines):
            return line
    return None
