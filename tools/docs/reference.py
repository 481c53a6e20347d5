"""The command line and the configuration, from the code's own texts and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import typer
from marks import table

from harness.commands.app import NAME, app
from harness.commands.base import WIDTH
from harness.common.paths import CONF
from harness.configure import rules
from harness.configure.figure import Figure
from harness.configure.settings import Settings
from harness.evaluation import reproduction


def commands() -> str:
    """What `calharness --help` and `calharness COMMAND --help` print."""
    parts = _help_texts(typer.main.get_command(app), [NAME])
    return "\n\n".join(f"## {title}\n\n```text\n{text}\n```" for title, text in parts)


def _help_texts(command: Any, path: list[str]) -> Iterator[tuple[str, str]]:
    """(command line, help text) of a command, then of the commands within it."""
    title = " ".join(path)
    settings = {**command.context_settings, "terminal_width": WIDTH}
    context = command.context_class(command, info_name=title, **settings)
    yield title if len(path) > 1 else f"{title} --help", command.get_help(context).rstrip()
    for name, one in getattr(command, "commands", {}).items():
        yield from _help_texts(one, [*path, name])


def configuration() -> str:
    """A row for every option of conf/config.yaml: its name, default, allowed values and comment."""
    text = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    rows: list[list[str]] = []
    group = ""
    for line in text[text.index("\nn:") + 1 :].splitlines():
        found = re.fullmatch(r"(\s*)(\w+):\s*(.*?)(?:\s+# (.*))?", line)
        if found:
            group = "" if not found[1] else group
            rows.append(
                [f"`{group}{found[2]}`", f"`{found[3]}`" if found[3] else "", found[4] or ""]
            )
            if not found[3]:
                group = f"{found[2]}."
        elif line.strip().startswith("#"):
            rows[-1][2] = f"{rows[-1][2]} {line.strip(' #')}"
    allowed = _allowed()
    return table(
        ["option", "default", "allowed", "meaning"],
        [
            [name, default, allowed.get(name, ""), _literal(said)]
            for name, default, said in rows
            if default
        ],
    )


def _allowed() -> dict[str, str]:
    """Allowed values in words, by the option's name as the table has it; those without a rule in words are left out."""
    found = {}
    for prefix, settings in (("", Settings), ("figure.", Figure)):
        for one in fields(settings):
            rule = one.metadata.get("rule", rules.ANYTHING)
            if rule not in (rules.ANYTHING, rules.MAPPING):
                words = re.sub(r"^(allowed are|give) |,? (is|are) needed", "", rule.words)
                found[f"`{prefix}{one.name}`"] = _literal(words)
    return found


def verdicts() -> str:
    """The verdicts on numbers and claims."""
    return table(
        ["verdict", "meaning"],
        [[f"`{name}`", said] for name, said in reproduction.VERDICTS.items()],
    )


def _literal(said: str) -> str:
    """A comment as Markdown: what looks like HTML stays text."""
    return said.replace("<", "&lt;").replace(">", "&gt;").replace("*", r"\*")
