"""What the pages share: style sheet and scripts. The libraries are those that altair (vl-convert-python) and itables bring along.

A page opened from file:// cannot load ES modules, so each library is one classic script: Vega, Vega-Lite and Vega-Embed as
window.vegaEmbed, DataTables with its extensions as window.DataTable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from harness.errors import BadInputError
from harness.pages.sources import Sources
from harness.pages.templating import environment

SHARED = "window.vegaEmbed = vegaEmbed; window.vegaLite = vegaLite; window.vega = vega;"
EXPORTS = re.compile(r"export\s*\{([^{}]*)\}\s*;?")


def files(root: Sources | None = None) -> Iterator[tuple[str, bytes]]:
    """(path in the site, content) of all that the pages share. Raises BadInputError where the extra `site` is not installed."""
    script, style = tables()
    yield from own()
    yield "assets/tables.js", script.encode()
    yield "assets/tables.css", style.encode()
    yield "assets/charts.js", charts().encode()


def own() -> Iterator[tuple[str, bytes]]:
    """The style sheet, and what starts tables and charts."""
    made = environment()
    yield "assets/site.css", made.get_template("style.css.j2").render().encode()
    yield "assets/site.js", made.get_template("site.js").render().encode()


def tables() -> tuple[str, str]:
    """DataTables with its extensions and jQuery out of itables: (classic script, style sheet)."""
    try:
        import itables
    except ImportError:
        raise _missing("itables") from None
    folder = Path(itables.__file__).parent / "html"
    module = (folder / "dt_bundle.js").read_text(encoding="utf-8")
    return classic(module, "DataTable"), (folder / "dt_bundle.css").read_text(encoding="utf-8")


def charts() -> str:
    """Vega, Vega-Lite and Vega-Embed out of vl-convert: a classic script."""
    try:
        import vl_convert
    except ImportError:
        raise _missing("vl-convert-python") from None
    return f"(()=>{{\n{_inlinable(vl_convert.javascript_bundle(SHARED))}\n}})();\n"


def classic(module: str, name: str) -> str:
    """An ES module without imports as a classic script: its default export becomes window.<name>, the others window.<name>Parts.

    Examples
    --------
    >>> print(classic("const a = 1, b = 2; export{a as default, b as other};", "Both"))
    (()=>{"use strict";
    const a = 1, b = 2; window.Both=a;window.BothParts={other:b};
    })();
    <BLANKLINE>
    """
    found = EXPORTS.findall(module)
    if len(found) != 1:
        raise BadInputError(
            f"the bundle of {name} has {len(found)} export lists; one is needed: another release of itables?"
        )
    pairs = [(part.split(" as ") * 2)[:2] for part in (one.strip() for one in found[0].split(","))]
    named = {outer.strip(): inner.strip() for inner, outer in pairs}
    others = ",".join(f"{outer}:{inner}" for outer, inner in named.items() if outer != "default")
    shared = f"window.{name}={named['default']};window.{name}Parts={{{others}}};"
    return f'(()=>{{"use strict";\n{EXPORTS.sub(lambda _: shared, _inlinable(module))}\n}})();\n'


def _inlinable(script: str) -> str:
    """The script without what would end it if it stood inside a page."""
    return script.replace("</script", r"<\/script")


def _missing(package: str) -> BadInputError:
    return BadInputError(
        f"the site needs {package}, which is not installed; pip install 'calharness[site]' brings it."
    )
