"""Style sheet and scripts that the pages of the site share.

DataTables with its extensions comes with the package itables. A page that is opened from file://
cannot load ES modules. Therefore the library is converted to one classic script, which defines
window.DataTable.
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

EXPORTS = re.compile(r"export\s*\{([^{}]*)\}\s*;?")


def pages(sources: Sources | None = None) -> Iterator[tuple[str, str]]:
    """Yield (path, content) of the scripts and style sheets of the site.

    Raises
    ------
    BadInputError
        If the extra `site` is not installed.
    """
    bundle = Path(_library("itables", "itables").__file__).parent / "html" / "dt_bundle.js"
    yield from own_files()
    yield "assets/tables.js", classic_script(bundle.read_text(encoding="utf-8"), "DataTable")
    yield "assets/tables.css", bundle.with_suffix(".css").read_text(encoding="utf-8")


def own_files(sources: Sources | None = None) -> Iterator[tuple[str, str]]:
    """Yield (path, content) of the style sheet and the scripts of this project."""
    files = {"site.css": "style.css.j2", "site.js": "site.js"}
    for name, template in files.items():
        yield f"assets/{name}", environment().get_template(template).render()


def classic_script(module: str, name: str) -> str:
    """Convert an ES module without imports to a classic script.

    Its default export becomes window.<name>, and its other exports become window.<name>Parts.

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
            f"the bundle of {name} has {len(lists)} export lists, but one is needed; install the "
            "release of itables that constraints.txt names."
        )
    pairs = [(part.split(" as ") * 2)[:2] for part in lists[0].split(",")]
    inner_names = {outer.strip(): inner.strip() for inner, outer in pairs}
    default = inner_names.pop("default")
    others = ",".join(f"{outer}:{inner}" for outer, inner in inner_names.items())
    shared = f"window.{name}={default};window.{name}Parts={{{others}}};"
    script = EXPORTS.sub(lambda _: shared, _escape_script(module))
    return f'(()=>{{"use strict";\n{script}\n}})();\n'


def _escape_script(script: str) -> str:
    """Escape the tag that would end a script element."""
    return script.replace("</script", r"<\/script")


def _library(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise BadInputError(
            f"the site needs {package}, which is not installed; run pip install 'calharness[site]'."
        ) from None
