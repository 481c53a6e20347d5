"""Style sheet and scripts that the pages share.

The libraries come with altair (vl-convert-python) and itables. A page that is opened from file://
cannot load ES modules. So each library is one classic script: Vega, Vega-Lite and Vega-Embed as
window.vegaEmbed, DataTables with its extensions as window.DataTable.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import BadInputError
from harness.pages.sources import Sources
from harness.pages.templating import environment

SHARED = "window.vegaEmbed = vegaEmbed; window.vegaLite = vegaLite; window.vega = vega;"
EXPORTS = re.compile(r"export\s*\{([^{}]*)\}\s*;?")


def pages(sources: Sources | None = None) -> Iterator[tuple[str, str]]:
    """Yield (path, content) of all shared files.

    Raises
    ------
    BadInputError
        If the extra `site` is not installed.
    """
    bundle = Path(_library("itables", "itables").__file__).parent / "html" / "dt_bundle.js"
    vega = _library("vl_convert", "vl-convert-python").javascript_bundle(SHARED)
    yield from own_files()
    yield "assets/tables.js", classic_script(bundle.read_text(encoding="utf-8"), "DataTable")
    yield "assets/tables.css", bundle.with_suffix(".css").read_text(encoding="utf-8")
    yield "assets/charts.js", f"(()=>{{\n{_escape_script(vega)}\n}})();\n"


def own_files(sources: Sources | None = None) -> Iterator[tuple[str, str]]:
    """Yield the style sheet and the scripts of this project."""
    files = {"site.css": "style.css.j2", "site.js": "site.js", "leaderboard.js": "leaderboard.js"}
    for name, template in files.items():
        yield f"assets/{name}", environment().get_template(template).render()


def classic_script(module: str, name: str) -> str:
    """Turn an ES module without imports into a classic script.

    Its default export becomes window.<name>, the others window.<name>Parts.

    Examples
    --------
    >>> print(classic_script("const a = 1, b = 2; export{a as default, b as other};", "Both"))
    (()=>{"use strict";
    const a = 1, b = 2; window.Both=a;window.BothParts={other:b};
    })();
    <BLANKLINE>
    """
    lists = EXPORTS.findall(module)
    if len(lists) != 1:
        raise BadInputError(
            f"the bundle of {name} has {len(lists)} export lists; one is needed: another release "
            "of itables?"
        )
    pairs = [(part.split(" as ") * 2)[:2] for part in lists[0].split(",")]
    inner_names = {outer.strip(): inner.strip() for inner, outer in pairs}
    default = inner_names.pop("default")
    others = ",".join(f"{outer}:{inner}" for outer, inner in inner_names.items())
    shared = f"window.{name}={default};window.{name}Parts={{{others}}};"
    script = EXPORTS.sub(lambda _: shared, _escape_script(module))
    return f'(()=>{{"use strict";\n{script}\n}})();\n'


def _escape_script(script: str) -> str:
    """Escape the end tag that would end a script inside a page."""
    return script.replace("</script", r"<\/script")


def _library(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise BadInputError(
            f"the site needs {package}, which is not installed; pip install 'calharness[site]' "
            "brings it."
        ) from None
