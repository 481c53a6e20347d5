"""Tables for LaTeX."""

from __future__ import annotations

import re
import textwrap
import unicodedata

TEXT_WIDTH = 345.0  # points, of LaTeX's article on one column: what blocks of columns are cut for; TeX itself sees to the rest
MIN_SCALE = (
    0.7  # a table that is wider is cut into blocks of columns rather than shrunk beyond that
)
ROWS_OF_A_PAGE = 45  # rows of a block; more do not fit on a page
CHARACTER, GAP = 4.3, 8.0  # points: a character in \footnotesize, and between two columns


def latex(frame) -> str:
    """Booktabs tabulars for \\input, no wider than the text: columns that do not fit go into blocks one below the other, as do
    rows that do not fit on a page, and what is still too wide is scaled by TeX, which alone knows. A comment names the packages.
    A frame without rows is a comment that says so."""
    name = " ".join(str(frame.columns.name or "").split())
    if not len(frame):
        return f"% {name}\n% no rows\n"
    levels = [str(level or "") for level in frame.index.names]
    index = [
        [str(part) for part in (row if isinstance(row, tuple) else (row,))] for row in frame.index
    ]
    heads = [str(column) for column in frame.columns]
    cells = [[str(value) for value in row] for row in frame.to_numpy()]
    widths = [_width(head, [row[j] for row in cells]) for j, head in enumerate(heads)]
    stub = sum(_width(level, [row[i] for row in index]) for i, level in enumerate(levels))
    tabulars = []
    for block in _blocks(widths, TEXT_WIDTH / MIN_SCALE - stub):
        for start in range(0, len(cells), ROWS_OF_A_PAGE):
            rows = range(start, min(start + ROWS_OF_A_PAGE, len(cells)))
            chosen = [[cells[i][j] for j in block] for i in rows]
            tabulars.append(
                _tabular(levels, [heads[j] for j in block], [index[i] for i in rows], chosen)
            )
    head = f"% {name}\n% needs \\usepackage{{booktabs,graphicx}}\n"
    return head + "\\par\\medskip\n".join(tabulars)


def _blocks(widths, room):
    """Indices of the columns, cut where their widths would exceed the room."""
    blocks, left = [[]], room
    for j, width in enumerate(widths):
        if blocks[-1] and width > left:
            blocks.append([])
            left = room
        blocks[-1].append(j)
        left -= width
    return blocks


def _width(head, entries):
    """Points of a column: of its longest entry or line of its head."""
    return GAP + CHARACTER * max(len(text) for text in [*_head_lines(head, entries), *entries])


def _head_lines(head, entries):
    """The head of a column, broken at spaces where it is longer than what stands below."""
    width = max(10, *(len(text) for text in entries))
    return (
        [head]
        if "$" in head
        else textwrap.wrap(head, width, break_long_words=False, break_on_hyphens=False) or [""]
    )


def _tabular(levels, heads, index, cells):
    """One tabular, scaled to the line if it is wider. An index entry that repeats the one above is left out."""
    columns = [*zip(*index), *zip(*cells)]
    aligned = ["l"] * len(levels) + [
        "r" if any(c.isdigit() for c in "".join(e)) else "l" for e in columns[len(levels) :]
    ]
    top = [_tex_head(*column) for column in zip([*levels, *heads], columns, aligned)]
    lines = [
        rf"\begin{{tabular}}{{{''.join(aligned)}}}",
        r"\toprule",
        " & ".join(top) + r" \\",
        r"\midrule",
    ]
    before: list = []
    for own, row in zip(index, cells):
        same = next((i for i, part in enumerate(own) if before[i : i + 1] != [part]), len(own))
        if before and same == 0 and len(own) > 1:
            lines.append(r"\addlinespace")
        shown = ["" if i < same and i < len(own) - 1 else _tex(part) for i, part in enumerate(own)]
        lines.append(" & ".join([*shown, *(_tex(text) for text in row)]) + r" \\")
        before = own
    body = "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
    return (
        "{\\noindent\\footnotesize\\setlength{\\tabcolsep}{4pt}%\n\\sbox0{%\n" + body + "}%\n"
        "\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\\par}\n"
    )


def _tex_head(head, entries, align):
    lines = [_tex(line) for line in _head_lines(head, entries)]
    return (
        lines[0]
        if len(lines) == 1
        else rf"\begin{{tabular}}[b]{{@{{}}{align}@{{}}}}" + r" \\ ".join(lines) + r"\end{tabular}"
    )


SYMBOLS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "|": "$|$", "<": "$<$", ">": "$>$", "–": "--", "—": "---",
    "…": r"\ldots{}", "‘": "`", "’": "'", "“": "``", "”": "''", '"': "''", "\u2011": "{-}", "ß": r"\ss{}", "ø": r"\o{}",
    "Ø": r"\O{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
}  # fmt: skip
MATHEMATICS = {
    "±": r"\pm", "≤": r"\leq", "≥": r"\geq", "≈": r"\approx", "≠": r"\neq", "∞": r"\infty", "−": "-", "×": r"\times",
    "·": r"\cdot", "√": r"\surd", "∈": r"\in", "→": r"\to", "←": r"\leftarrow", "°": r"^\circ", "µ": r"\mu", "ℓ": r"\ell",
    "½": r"1/2", **{"⁰¹²³⁴⁵⁶⁷⁸⁹"[i]: f"^{i}" for i in range(10)}, **{"₀₁₂₃₄₅₆₇₈₉"[i]: f"_{i}" for i in range(10)},
}  # fmt: skip
ACCENTS = dict(
    zip("\u0300\u0301\u0302\u0303\u0308\u030c\u030a\u0327\u0304\u0306\u0307\u030b", "`'^~\"vrc=u.H")
)
CAPITALS = "GAMMA DELTA THETA LAMDA XI PI SIGMA UPSILON PHI PSI OMEGA".split()  # TeX has no others


def _tex(value):
    """Text for LaTeX. A passage between dollars, as in `$L_1$`, is mathematics and stays it; all else is what it looks like."""
    parts = re.split(r"(\$(?=[^\s$])[^$]*(?<=[^\s\\$])\$(?!\d))", " ".join(str(value).split()))
    text = "".join(
        "$" + "".join(_mathematics(c) or c for c in part[1:-1]) + "$"
        if i % 2 and _is_mathematics(part)
        else _plain(part)
        for i, part in enumerate(parts)
    )
    return (
        f"{{{text[0]}}}{text[1:]}" if text[:1] in ("[", "*") else text
    )  # the row before would take it for its option


def _is_mathematics(passage):
    """Whether its braces are balanced and nothing in it would end or comment out a cell."""
    depth = [0]
    for c in re.sub(r"\\.", "", passage):
        depth.append(depth[-1] + (c == "{") - (c == "}"))
    return min(depth) == depth[-1] == 0 and not re.search(r"(?<!\\)[%#&]", passage)


def _plain(text):
    text = re.sub(r"(?<![\w-])-(?=\d)", "−", text).replace(
        "--", "-\u2011"
    )  # two hyphens would become a dash
    return "".join(_character(c) for c in text)


def _character(c):
    """One character of a text. What pdfLaTeX has no letter for is named by its code point."""
    if c in SYMBOLS:
        return SYMBOLS[c]
    if mathematics := _mathematics(c):
        return f"${mathematics.rstrip()}$"
    if c.isascii():
        return c
    base, accent = (*unicodedata.normalize("NFD", c), "")[:2]
    return (
        rf"\{ACCENTS[accent]}{{{base}}}"
        if base.isascii() and accent in ACCENTS
        else f"(U+{ord(c):04X})"
    )


def _mathematics(c):
    """The command of a symbol or Greek letter, None for what is neither."""
    if c in MATHEMATICS:
        found = MATHEMATICS[c]
        return found + " " * found[-1].isalpha()
    kind, _, name = unicodedata.name(c, "").partition(" LETTER ")
    if kind == "GREEK SMALL" and name.isalpha() and name != "OMICRON":
        return rf"\{name.lower().replace('lamda', 'lambda')} "
    if kind == "GREEK CAPITAL" and name in CAPITALS:
        return rf"\{name.capitalize().replace('Lamda', 'Lambda')} "
    return None
