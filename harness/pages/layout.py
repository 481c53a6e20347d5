"""What all pages of the site have in common: head, navigation, tables, charts and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from markupsafe import Markup

from harness.common.version import VERSION
from harness.pages.templating import environment

NAVIGATION = (
    ("Overview", "index.html"), ("Papers", "papers/index.html"), ("Arena", "arena/index.html"),
    ("Estimators", "estimators/index.html"), ("Problems", "problems/index.html"), ("Your runs", "runs.html"),
    ("Provenance", "provenance.html"), ("Docs", "docs/index.html"),
)  # fmt: skip
LONG = 28  # characters: a column that has more in an entry is not made narrow


def page(
    title: str,
    body: str,
    path: str,
    *,
    description: str,
    tables: bool = False,
    charts: bool = False,
    alone: bool = False,
) -> str:
    """A whole page.

    Parameters
    ----------
    title : str
        In plain text; the page's h1 and, with the site's name, its title.
    body : str
        HTML of the part below h1.
    path : str
        Of the page below the site's root, "estimators/kde.html".
    description : str
        One sentence in plain text.
    tables, charts : bool
        Whether it has tables by `table(..., interactive=True)` or charts, whose scripts are then loaded.
    alone : bool
        Whether the page stands without the site: no navigation, its style inside.
    """
    here = PurePosixPath(path)
    current = next((to for _, to in NAVIGATION if to == path), None)
    if current is None:  # the section that the page lies in
        current = next(
            (
                to
                for _, to in NAVIGATION
                if "/" in to and here.parts[0] == PurePosixPath(to).parts[0]
            ),
            None,
        )
    return environment().get_template("page.html.j2").render(
        title=title, body=body, description=description, tables=tables, charts=charts, root=root(path), version=VERSION,
        navigation=() if alone else NAVIGATION, current=current, alone=alone,
    )  # fmt: skip


def root(path: str) -> str:
    """What leads from a page to the site's root.

    Examples
    --------
    >>> root("index.html"), root("estimators/kde.html")
    ('', '../')
    """
    return "../" * (len(PurePosixPath(path).parts) - 1)


def render(template: str, path: str, **values: Any) -> str:
    """The body of a page out of harness/pages/templates/<template>; `root` leads from `path` to the site's root."""
    return (
        environment()
        .get_template(template)
        .render(root=root(path), table=table, picture=picture, **values)
    )


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str,
    *,
    id: str,
    interactive: bool = False,
    options: Mapping[str, Any] | None = None,
    text: Iterable[int] = (),
) -> Markup:
    """A table with caption and scoped headers; the first entry of a row is its header, and stays in view on narrow screens.

    Parameters
    ----------
    columns : sequence of str
        The heads.
    rows : iterable of sequences
        Entries: texts (escaped), markupsafe.Markup (as it is), or pairs (what is shown, by which it is sorted).
    caption : str
        What the table shows.
    id : str
        Of the table in its page.
    interactive : bool
        Whether it can be sorted and searched (DataTables; the page needs tables=True).
    options : mapping
        DataTables' own, over those of site.js: {"pageLength": 50, "order": [[2, "asc"]]}; a column's filter is
        {"columnDefs": [{"targets": [1], "columnControl": ["order", "searchDropdown"]}]}.
    text : iterable of int
        Columns of words: they stand on the left. The first always does.
    """
    held = [[entry if isinstance(entry, tuple) else (entry, None) for entry in row] for row in rows]
    classes = {i: "left" for i in (0, *text)}
    for row in held:
        classes |= {i: "long" for i in text if i and len(str(row[i][0])) > LONG}
    made: Markup = _macro("table")(
        columns, held, caption, id, interactive, json.dumps(options) if options else "", classes
    )
    return made


def picture(source: str, alt: str, caption: str = "", *, width: int, height: int) -> Markup:
    """A figure with a drawing: its path relative to the page, and its size in pixels."""
    made: Markup = _macro("picture")(source, alt, caption, width, height)
    return made


def _macro(name: str) -> Any:
    return getattr(environment().get_template("pieces.html.j2").module, name)
