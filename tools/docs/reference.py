"""Write the reference of the command line and the configuration as Markdown.

The texts come from `--help` and from the comments in conf/config.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import typer
from marks import table

from harness.commands.app import app
from harness.commands.base import NAME, WIDTH
from harness.common.paths import CONF
from harness.configure import rules
from harness.configure.figure import Figure
from harness.configure.settings import Settings
from harness.evaluation.verdicts import VERDICTS


def commands() -> str:
    """Return the output of `calharness --help` and `calharness COMMAND --help`."""
    parts = _help_texts(typer.main.get_command(app), [NAME])
    return "\n\n".join(f"## {title}\n\n```text\n{text}\n```" for title, text in parts)


def _help_texts(command: Any, path: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (command line, help text) for a command and then for each of its subcommands."""
    title = " ".join(path)
    settings = {**command.context_settings, "terminal_width": WIDTH}
    context = command.context_class(command, info_name=title, **settings)
    yield title if len(path) > 1 else f"{title} --help", command.get_help(context).rstrip()
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from _help_texts(subcommand, [*path, name])


def configuration() -> str:
    """Return a table of conf/config.yaml's options: name, default, allowed values, comment."""
    text = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    rows: list[list[str]] = []
    group = ""
    for line in text[text.index("\nn:") + 1 :].splitlines():
        match = re.fullmatch(r"(\s*)(\w+):\s*(.*?)(?:\s+# (.*))?", line)
        if match:
            indent, name, default, comment = match.groups()
            group = group if indent else ""
            rows.append([f"`{group}{name}`", f"`{default}`" if default else "", comment or ""])
            if not default:
                group = f"{name}."
        elif line.strip().startswith("#"):
            rows[-1][2] = f"{rows[-1][2]} {line.strip(' #')}"
    allowed = _allowed()
    return table(
        ["option", "default", "allowed", "meaning"],
        [
            [name, default, allowed.get(name, ""), _literal(comment)]
            for name, default, comment in rows
            if default
        ],
    )


def _allowed() -> dict[str, str]:
    """Return {option as the table shows it: allowed values in words}.

    Options without a rule are left out.
    """
    allowed = {}
    for prefix, settings in (("", Settings), ("figure.", Figure)):
        for field in fields(settings):
            rule = field.metadata.get("rule", rules.ANYTHING)
            if rule not in (rules.ANYTHING, rules.MAPPING):
                words = re.sub(r"^(allowed are|give) |,? (is|are) needed", "", rule.words)
                allowed[f"`{prefix}{field.name}`"] = _literal(words)
    return allowed


def verdicts() -> str:
    """Return a table of the verdicts on numbers and claims, with their meaning."""
    return table(
        ["verdict", "meaning"],
        [[f"`{name}`", meaning] for name, meaning in VERDICTS.items()],
    )


def _literal(text: str) -> str:
    """Return a comment with the characters escaped that Markdown or HTML would interpret."""
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("*", r"\*")
