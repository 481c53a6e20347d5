"""Write the parts of the documentation that are generated from code and stored results.

component_lists.py makes the lists of estimators, calibrators and problems. It runs in `make docs`,
so that these lists need no update when something is added.

python tools/docs/write.py            write all generated parts
python tools/docs/write.py --check    list outdated parts; exit status 1 if there are any
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import binning_figure  # noqa: E402
import catalogue  # noqa: E402
import claims  # noqa: E402
import measured  # noqa: E402
import reference  # noqa: E402
import speed  # noqa: E402
from marks import DOCS, part, replaced  # noqa: E402

# {page: {part: function that returns its text}}
PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "reference/api.md": {"public names": catalogue.api},
    "reference/cli.md": {"commands": reference.commands},
    "reference/configuration.md": {"configuration": reference.configuration},
    "reference/records.md": {"verdicts": reference.verdicts},
    "../README.md": {"outcomes": claims.outcomes},
    "explanation/discrepancies.md": {
        "outcomes": claims.outcomes,
        "verdicts": claims.verdicts,
        "missing": claims.missing,
        "claims": claims.failing,
    },
    "explanation/binning.md": {"figure": binning_figure.caption, "arena": measured.binning},
    "explanation/best.md": {
        "class-wise": measured.classwise,
        "wins": measured.wins,
        "sensitivity": measured.sensitivity,
        "real": measured.real,
        "simple rule": measured.simple,
        "limit": measured.limit,
    },
    "explanation/trust.md": {
        "extent": measured.extent,
        "arena": measured.recommendations,
        "coverage": measured.coverage,
        "levels": measured.levels,
        "false_claims": measured.false_claims,
    },
    "scaling.md": {"scale": speed.scale},
    "speed.md": {"machine": speed.machine, "peers": speed.peers, "wins": speed.wins},
}


def stale(wanted: Callable[[str], bool] = lambda name: True) -> Iterator[str]:
    """Yield "page: part" for each outdated part for which `wanted("page: part")` is True."""
    for page, parts in PARTS.items():
        text = (DOCS / page).read_text()
        for name, make in parts.items():
            if wanted(f"{page}: {name}") and part(text, name) != make().strip():
                yield f"{page}: {name}"


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        names = list(stale())
        print("\n".join(names) or "all parts are current")
        return bool(names)
    for page, parts in PARTS.items():
        text = (DOCS / page).read_text()
        for name, make in parts.items():
            text = replaced(text, name, make())
        (DOCS / page).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
