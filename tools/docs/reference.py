"""The command line and the configuration, from the code's own texts and comments."""

from __future__ import annotations

import re

from marks import table

from harness.commands import help as texts
from harness.common.paths import CONF
from harness.evaluation import reproduction


def commands() -> str:
    """What `calharness --help` and `calharness help COMMAND` print."""
    parts = [("calharness --help", None), *((f"calharness {name}", name) for name in texts.TEXTS)]
    return "\n\n".join(f"## {title}\n\n```text\n{texts.text(name).rstrip()}\n```" for title, name in parts)


def configuration() -> str:
    """A row for every option of conf/config.yaml: its name, default and comment."""
    text = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    rows: list[list[str]] = []
    group = ""
    for line in text[text.index("\nn:") + 1 :].splitlines():
        found = re.fullmatch(r"(\s*)(\w+):\s*(.*?)(?:\s+# (.*))?", line)
        if found:
            group = "" if not found[1] else group
            rows.append([f"`{group}{found[2]}`", f"`{found[3]}`" if found[3] else "", found[4] or ""])
            if not found[3]:
                group = f"{found[2]}."
        elif line.strip().startswith("#"):
            rows[-1][2] = f"{rows[-1][2]} {line.strip(' #')}"
    return table(["option", "default", "meaning"], [[name, default, _literal(said)] for name, default, said in rows if default])


def verdicts() -> str:
    """The verdicts on numbers and claims."""
    return table(["verdict", "meaning"], [[f"`{name}`", said] for name, said in reproduction.VERDICTS.items()])


def _literal(said: str) -> str:
    """A comment as Markdown: what looks like HTML stays text."""
    return said.replace("<", "&lt;").replace(">", "&gt;").replace("*", r"\*")
