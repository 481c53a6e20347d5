"""LaTeX tables from data frames."""

from __future__ import annotations

import re
import unicodedata

import pandas as pd

TABULAR = r"""{\noindent\footnotesize\setlength{\tabcolsep}{4pt}%
\sbox0{%
%s}%
\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi\par}
"""
TEXT = {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    **{c: f"\\{c}" for c in "{}$_%&#"}, **{c: f"${c}$" for c in "|<>"}, "–": "--", "—": "---",
    "…": r"\ldots{}", "‘": "`", "’": "'", "“": "``", "”": "''", '"': "''",
    "\u2011": "{-}",
}  # fmt: skip
MATHEMATICS = {
    "±": r"\pm ", "≤": r"\leq ", "≥": r"\geq ", "≈": r"\approx ", "≠": r"\neq ",
    "∞": r"\infty ",
    "−": "-", "×": r"\times ", "·": r"\cdot ", "√": r"\surd ", "∈": r"\in ", "→": r"\to ",
    "←": r"\leftarrow ", "°": r"^\circ ", "µ": r"\mu ", "ℓ": r"\ell ", "½": "1/2",
    **{c: f"^{i}" for i, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{c: f"_{i}" for i, c in enumerate("₀₁₂₃₄₅₆₇₈₉")},
}  # fmt: skip
CAPITALS = "GAMMA DELTA THETA LAMDA XI PI SIGMA UPSILON PHI PSI OMEGA".split()  # TeX has no others


def latex(frame: pd.DataFrame) -> str:
    r"""Return a data frame as a booktabs table that LaTeX can \input.

    TeX scales the table down if it is wider than the text. A comment lists the required packages.
    A frame without rows gives only a comment.
    """
    name = " ".join(str(frame.columns.name or "").split())
    if frame.empty:
        return f"% {name}\n% no rows\n"
    texts = frame.astype(str).set_axis([str(column) for column in frame], axis=1)
    levels = texts.index.to_frame(index=False).astype(str)
    levels.columns = [str(level or "") for level in frame.index.names]
    return f"% {name}\n% needs \\usepackage{{booktabs,graphicx}}\n{_tabular(levels, texts)}"


def _tabular(levels: pd.DataFrame, texts: pd.DataFrame) -> str:
    """Return the LaTeX code of one table.

    `levels` are the index columns, `texts` the entries. An index entry that repeats the one above
    is left blank.
    """
    same = levels.eq(levels.shift()).cumprod(axis=1).astype(bool)
    same.iloc[:, -1] = False
    numbers = [texts.iloc[:, i].str.contains(r"\d").any() for i in range(texts.shape[1])]
    aligned = "l" * levels.shape[1] + "".join("r" if is_number else "l" for is_number in numbers)
    table = pd.concat([levels.mask(same, "").reset_index(drop=True), texts.reset_index(drop=True)],
                      axis=1)  # fmt: skip
    table = table.map(_tex).set_axis([_tex(column) for column in table], axis=1)
    return TABULAR.replace("%s", table.to_latex(index=False, column_format=aligned))


def _tex(text: str) -> str:
    """Escape a text for LaTeX. Mathematics between dollar signs, as in `$L_1$`, is kept."""
    parts = re.split(r"(\$(?=[^\s$])[^$%#&]*(?<=[^\s\\$])\$(?!\d))", " ".join(text.split()))
    tex = "".join(
        "".join(_mathematics(c) or c for c in part) if i % 2 else _plain(part)
        for i, part in enumerate(parts)
    )
    # LaTeX would read [ or * after a line break as an option of the line break.
    return f"{{{tex[0]}}}{tex[1:]}" if tex.startswith(("[", "*")) else tex


def _plain(text: str) -> str:
    """Escape a text that contains no mathematics for LaTeX."""
    text = re.sub(r"(?<![\w-])-(?=\d)", "−", text)
    text = text.replace("--", "-\u2011")  # two hyphens would become a dash
    return "".join(_character(c) for c in text)


def _character(c: str) -> str:
    """Return a character as LaTeX code. Characters beyond Latin become their code point."""
    if c in TEXT:
        return TEXT[c]
    if mathematics := _mathematics(c):
        return f"${mathematics.strip()}$"
    return c if ord(c) < 0x250 else f"(U+{ord(c):04X})"


def _mathematics(c: str) -> str:
    """Return the LaTeX command of a mathematical symbol or Greek letter, else ""."""
    kind, _, name = unicodedata.name(c, "").partition(" LETTER ")
    command = name.lower().replace("lamda", "lambda")
    if kind == "GREEK SMALL" and name.isalpha():
        return f"\\{command} "
    if kind == "GREEK CAPITAL" and name in CAPITALS:
        return f"\\{command.capitalize()} "
    return MATHEMATICS.get(c, "")
