"""Result tables: the long summary (CSV, Parquet) and the wide one with the paper's labels (LaTeX, HTML)."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from pathlib import Path

from harness.report.evaluation import are_of, evaluate
from harness.runs.records import whole_file
from harness.runs.settings import as_list

BOUNDS = {"upper": "≤ ", "lower": "≥ "}
DASH = "–"
ROUNDING = 1e-12  # a smaller spread is that of equal numbers
OWN_RANDOMNESS = "spread over the estimator's own randomness"  # the same rows again are no replication
SUBSETS = "spread over random subsets of the rows"  # nor are subsets that share rows


def label(config, group: str, name: str) -> str:
    """The paper's label of a problem or estimator, else its id."""
    return (config["labels"].get(group) or {}).get(name, name)


def shown_estimands(records, config) -> list[str]:
    """The estimands of the wide table: those of the configuration's `estimand` that were estimated; where it is null that of the
    figure."""
    have = set(records.loc[records["status"].eq("ok"), "estimand"])
    chosen = list(dict.fromkeys(str(name) for name in as_list(config.get("estimand"))))
    return [name for name in chosen if name in have] or chosen[:1] or _of_figure(records, config)


def figure_estimands(records, config) -> list[str]:
    """The estimands of the figure: those of `figure.estimand` that were estimated, where it is null those of the wide table."""
    wanted = as_list(config["figure"]["estimand"])
    chosen = [str(name) for name in as_list(config.get("estimand"))]
    if not wanted or (chosen and not set(wanted) & set(chosen)):
        return shown_estimands(records, config)
    return _of_figure(records, config)


def _of_figure(records, config):
    have = records.loc[records["status"].eq("ok"), "estimand"]
    wanted = [str(name) for name in as_list(config["figure"]["estimand"])] or ["l1"]
    return [name for name in wanted if (have == name).any()] or (wanted[:1] if len(have) == 0 else [have.value_counts().index[0]])


def estimators(records, config) -> list[str]:
    """The estimators of a table in their order: those configured, and those of the records that bear another name."""
    seen = list(dict.fromkeys(records["estimator"]))
    strange = [e for e in seen if e not in config["estimator"]]  # those of a sweep are named with their values
    return [e for e in config["estimator"] if e in seen or not strange] + strange


def summary(records, config):
    """evaluate(records) with the labels beside the ids."""
    frame = evaluate(records, config.get("files", ()))
    for group in ("estimator", "problem"):
        frame.insert(0, f"{group}_label", [label(config, group, name) for name in frame[group]])
    return frame


def wide(records, config, apart=()):
    """Rows (columns `apart` of the records, problem, notion if several, estimand if several, n), one column per estimator, and
    the truth.

    A point is 'mean ± se', with the means of its ends where it has an interval ('0.0713 [0.0612, 0.0809]') or one bound
    ('0.0713 (≥ 0.0300)'); a bound is '≤ 0.2100' or '≥ 0.0300', an interval '[0.0612, 0.0809]', a cell that has no number its
    status, and what is not estimated a dash. On rows of a file (config["files"], pairs of problem and n) replications are no
    samples: there is no standard error, and the spread is the estimator's own or (config["subsets"]) of subsets of the rows. The
    name of the columns says which of these there are.
    """
    import pandas as pd

    shown = shown_estimands(records, config)
    files = set(map(tuple, config.get("files", ())))
    frame = evaluate(records, files, apart)
    levels = [*apart, *_levels(frame, shown)]
    rows: dict[tuple, dict] = {}
    for key, estimator, r in _entries(frame, shown, levels, config):
        entry = rows.setdefault(key, {})
        if r is not None and r["status"] == "ok":
            entry[label(config, "estimator", estimator)] = _entry(r, (r["problem"], r["n"]) in files)
            if r["truth"] == r["truth"]:
                entry["truth"] = f"{r['truth']:.4f}"
        elif r is not None:
            entry.setdefault(label(config, "estimator", estimator), r["status"])
    columns = ["truth", *(label(config, "estimator", e) for e in estimators(records, config))]
    index = pd.MultiIndex.from_arrays([list(part) for part in zip(*rows)] or [[]] * len(levels), names=levels)
    table = pd.DataFrame([[entry.get(c, DASH) for c in columns] for entry in rows.values()], index, columns, dtype=object)
    if (table["truth"] == DASH).all():
        table = table.drop(columns="truth")
    problems = dict.fromkeys([*config["problem"], *records["problem"]])
    ranks = {
        "problem": {label(config, "problem", p): i for i, p in enumerate(problems)},
        "estimand": {name: i for i, name in enumerate(shown)},
    }
    table = table.sort_index(
        level=list(range(len(levels))), key=lambda level: level.map(ranks[level.name]) if level.name in ranks else level
    )
    of = frame[frame["status"].eq("ok") & frame["estimand"].isin(shown)]
    name = ("" if len(shown) > 1 else f"{shown[0]}: ") + _entries_are(of, files, config.get("subsets", ()))
    table.columns.name = name.replace("[interval]", f"[{_level(records, shown)}interval]")
    return table


def _level(records, shown):
    """'95% ' where all intervals of the shown estimands are of that level."""
    both = records["low"].notna() & records["high"].notna() & records["status"].eq("ok") & records["estimand"].isin(shown)
    levels = records.loc[both, "level"].unique() if "level" in records else []
    return f"{100 * levels[0]:g}% " if len(levels) == 1 and levels[0] == levels[0] else ""


def _levels(frame, shown):
    several = frame["notion"].nunique() > 1
    return ["problem", *(["notion"] if several else []), *(["estimand"] if len(shown) > 1 else []), "n"]


def _entries(frame, shown, levels, config):
    """(row of the wide table, estimator, row of `frame` or None) of all that the wide table has a place for: a number where there
    is one, else the reason of a cell as a whole."""
    for r in frame.to_dict("records"):
        problem = label(config, "problem", r["problem"])
        for estimand in [r["estimand"]] if r["estimand"] in shown else shown:
            place = {**r, "problem": problem, "estimand": estimand, "n": int(r["n"])}
            of_it = r["estimand"] in ("", estimand)
            yield tuple(place[level] for level in levels), r["estimator"], r if of_it else None


def _entry(r, of_file):
    """One entry of the wide table."""
    low, high = (f"{r[side]:.4f}" if r[side] == r[side] else "" for side in ("low", "high"))
    spread = ""
    if of_file and r["reps"] > 1 and r["sd"] > ROUNDING:
        spread = f" (spread {r['sd']:.4f})" if r["sd"] >= 5e-5 else f" (spread {r['sd']:.0e})"
    if r["kind"] == "interval":
        return f"[{low or '−∞'}, {high or '∞'}]{spread}"
    text = BOUNDS.get(r["kind"], "") + f"{r['mean']:.4f}" + (f" ± {r['se']:.4f}" if r["se"] == r["se"] else "")
    if r["kind"] == "point":
        both = low and high
        text += f" [{low}, {high}]" if both else f" (≥ {low})" if low else f" (≤ {high})" if high else ""
    return text + spread


def _entries_are(table, files, subsets) -> str:
    """What the entries of the wide table are, composed of what is there."""
    import pandas as pd

    same = pd.Series(are_of(table, files), index=table.index, dtype=bool)
    own, of_file = table[~same], table[same]
    parts = [_means(own)] if len(own) or not len(of_file) else []
    if len(of_file):
        spread = are_of(of_file[(of_file["reps"] > 1) & (of_file["sd"] > ROUNDING)], subsets)
        said = [SUBSETS] * (True in spread) + [OWN_RANDOMNESS] * (False in spread)
        parts.append(("of files: " if parts else "") + ", ".join(["value" + _ends(of_file), *said]))
    return "; ".join(parts)


def _means(table):
    points = table[table["kind"].ne("interval")]
    mean = "mean ± standard error" if points["se"].notna().any() else "mean" if (table["reps"] > 1).any() else "estimate"
    return mean + _ends(table)


def _ends(table):
    point = table["kind"].eq("point")
    low, high = (side.notna() & point for side in (table["low"], table["high"]))
    parts = []
    if (low & high).any() or table["kind"].eq("interval").any():
        parts.append(" [interval]")
    if table["kind"].eq("lower").any() or (low & ~high).any():
        parts.append("≥ lower bound")
    if table["kind"].eq("upper").any() or (high & ~low).any():
        parts.append("≤ upper bound")
    return (parts.pop(0) if parts and parts[0] == " [interval]" else "") + "".join(f", {part}" for part in parts)


def without_number(records) -> list[tuple[str, str, int, str]]:
    """[(status, estimator, cells, reason)] of all cells that gave no number, and of undefined estimates."""
    without = records[~records["status"].eq("ok")]
    if not len(without):
        return []
    grouped = without.assign(short=without["reason"].map(_last_line)).groupby(["status", "estimator", "short"], sort=True)
    return [(status, estimator, int(count), reason) for (status, estimator, reason), count in grouped["key"].nunique().items()]


def dashes(records, config) -> list[tuple[str, str, int, str]]:
    """[('–', estimator or 'truth', entries, reason)] of the dashes in the wide table."""
    shown = shown_estimands(records, config)
    frame = evaluate(records)
    levels = ["problem", "notion", "estimand", "n"]
    places: dict[tuple, dict] = {}
    truths: dict[tuple, bool] = {}
    numbers: set[tuple] = set()
    gives: dict[tuple, dict] = {}
    for key, estimator, r in _entries(frame, shown, levels, {"labels": {}}):
        places.setdefault(key, {})[estimator] = places.get(key, {}).get(estimator) or r is not None
        truths[key] = truths.get(key, False) or (r is not None and r["status"] == "ok" and r["truth"] == r["truth"])
        numbers |= {key} if r is not None and r["status"] == "ok" else set()
    for r in frame[frame["status"].eq("ok")].itertuples():
        gives.setdefault((r.problem, r.notion, r.n, r.estimator), {})[r.estimand] = None
    found: dict[tuple, int] = {}
    for (problem, notion, estimand, n), there in places.items():
        for estimator in estimators(records, config):
            if not there.get(estimator):
                others = gives.get((problem, notion, n, estimator))
                reason = f"it gives no {estimand} (but {', '.join(others)})" if others else "no cell of it is recorded yet"
                found[estimator, reason] = found.get((estimator, reason), 0) + 1
        if any(truths.values()) and not truths[problem, notion, estimand, n]:
            of = f"{estimand} of {label(config, 'problem', problem)}"
            known = (problem, notion, estimand, n) in numbers
            reason = f"the true {of} is not known" if known else f"no estimate of the {of} to compare it with"
            found["truth", reason] = found.get(("truth", reason), 0) + 1
    return [(DASH, estimator, count, reason) for (estimator, reason), count in found.items()]


def reasons(records, config, of_table: bool = True) -> list[str]:
    """Why the wide table has no number where it has none: a line per status, or dash, and reason, with the estimators that it is
    the reason of and how often, as in 'skipped oracle: the problem's true posterior is not known (6 cells)'. With of_table false
    of all cells without a number, and not of dashes: the table is another one."""
    import pandas as pd

    if not len(records):
        return []
    shown = records["estimand"].isna() | records["estimand"].isin(["", *shown_estimands(records, config)])
    whole = config["ranking"] or not of_table
    found = without_number(records if whole else records[shown])
    lines: dict[tuple, tuple] = {}
    for status, estimator, count, reason in found + ([] if whole else dashes(records, config)):
        names, total = lines.get((status, reason), ([], 0))
        name = estimator if (status, estimator) == (DASH, "truth") else label(config, "estimator", estimator)
        lines[status, reason] = ([*names, name], total + count)
    said = [_line(status, names, reason, count) for (status, reason), (names, count) in lines.items()]
    on_file = pd.Series(are_of(records, config.get("files", ())), index=records.index, dtype=bool)
    of_files = records[shown & on_file & records["status"].eq("ok")]
    both = of_files[of_files["kind"].eq("point") & of_files["low"].notna() & of_files["high"].notna()]
    beside = both[(both["value"] < both["low"]) | (both["value"] > both["high"])]
    if len(beside):
        names = ", ".join(label(config, "estimator", name) for name in dict.fromkeys(beside["estimator"]))
        said.append(
            f"{names}: a value lies outside its interval, as that is corrected for the bias which smaller samples show "
            f"(`calharness info predictions`)"
        )
    return said


def _line(status, names, reason, count):
    of, one, more = (f"{DASH} of", "entry", "entries") if status == DASH else (status, "cell", "cells")
    return f"{of} {', '.join(names)}: {reason or 'no reason is recorded'} ({count:,} {one if count == 1 else more})"


def _last_line(text):
    lines = str(text).strip().splitlines() if isinstance(text, str) else []
    return lines[-1][:200] if lines else ""


def save(summary_frame, wide_frame, stem: Path) -> list[Path]:
    """<stem>.csv and .parquet hold the summary, <stem>.tex the wide table."""
    paths = [stem.with_name(stem.name + end) for end in (".csv", ".parquet", ".tex")]
    writers = (
        lambda path: summary_frame.to_csv(path, index=False),
        lambda path: summary_frame.to_parquet(path, index=False),
        lambda path: path.write_text(latex(wide_frame)),
    )
    for path, write in zip(paths, writers):
        with whole_file(path) as temporary:
            write(temporary)
    return paths


TEXT_WIDTH = 345.0  # points, of LaTeX's article on one column: what blocks of columns are cut for; TeX itself sees to the rest
LEAST_SCALE = 0.7  # a table that is wider is cut into blocks of columns rather than shrunk beyond that
MOST_ROWS = 45  # of a block; more do not fit on a page
CHARACTER, GAP = 4.3, 8.0  # points: a character in \footnotesize, and between two columns


def latex(frame) -> str:
    """Booktabs tabulars for \\input, no wider than the text: columns that do not fit go into blocks one below the other, as do
    rows that do not fit on a page, and what is still too wide is scaled by TeX, which alone knows. A comment names the packages.
    A frame without rows is a comment that says so."""
    name = " ".join(str(frame.columns.name or "").split())
    if not len(frame):
        return f"% {name}\n% no rows\n"
    levels = [str(level or "") for level in frame.index.names]
    index = [[str(part) for part in (row if isinstance(row, tuple) else (row,))] for row in frame.index]
    heads = [str(column) for column in frame.columns]
    cells = [[str(value) for value in row] for row in frame.to_numpy()]
    widths = [_width(head, [row[j] for row in cells]) for j, head in enumerate(heads)]
    stub = sum(_width(level, [row[i] for row in index]) for i, level in enumerate(levels))
    tabulars = []
    for block in _blocks(widths, TEXT_WIDTH / LEAST_SCALE - stub):
        for start in range(0, len(cells), MOST_ROWS):
            rows = range(start, min(start + MOST_ROWS, len(cells)))
            chosen = [[cells[i][j] for j in block] for i in rows]
            tabulars.append(_tabular(levels, [heads[j] for j in block], [index[i] for i in rows], chosen))
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
    return [head] if "$" in head else textwrap.wrap(head, width, break_long_words=False, break_on_hyphens=False) or [""]


def _tabular(levels, heads, index, cells):
    """One tabular, scaled to the line if it is wider. An index entry that repeats the one above is left out."""
    columns = [*zip(*index), *zip(*cells)]
    aligned = ["l"] * len(levels) + ["r" if any(c.isdigit() for c in "".join(e)) else "l" for e in columns[len(levels) :]]
    top = [_tex_head(*column) for column in zip([*levels, *heads], columns, aligned)]
    lines = [rf"\begin{{tabular}}{{{''.join(aligned)}}}", r"\toprule", " & ".join(top) + r" \\", r"\midrule"]
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
    return lines[0] if len(lines) == 1 else rf"\begin{{tabular}}[b]{{@{{}}{align}@{{}}}}" + r" \\ ".join(lines) + r"\end{tabular}"


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
ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0308\u030c\u030a\u0327\u0304\u0306\u0307\u030b", "`'^~\"vrc=u.H"))
CAPITALS = "GAMMA DELTA THETA LAMDA XI PI SIGMA UPSILON PHI PSI OMEGA".split()  # TeX has no others


def _tex(value):
    """Text for LaTeX. A passage between dollars, as in `$L_1$`, is mathematics and stays it; all else is what it looks like."""
    parts = re.split(r"(\$(?=[^\s$])[^$]*(?<=[^\s\\$])\$(?!\d))", " ".join(str(value).split()))
    text = "".join(
        "$" + "".join(_mathematics(c) or c for c in part[1:-1]) + "$" if i % 2 and _is_mathematics(part) else _plain(part)
        for i, part in enumerate(parts)
    )
    return f"{{{text[0]}}}{text[1:]}" if text[:1] in ("[", "*") else text  # the row before would take it for its option


def _is_mathematics(passage):
    """Whether its braces are balanced and nothing in it would end or comment out a cell."""
    depth = [0]
    for c in re.sub(r"\\.", "", passage):
        depth.append(depth[-1] + (c == "{") - (c == "}"))
    return min(depth) == depth[-1] == 0 and not re.search(r"(?<!\\)[%#&]", passage)


def _plain(text):
    text = re.sub(r"(?<![\w-])-(?=\d)", "−", text).replace("--", "-\u2011")  # two hyphens would become a dash
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
    return rf"\{ACCENTS[accent]}{{{base}}}" if base.isascii() and accent in ACCENTS else f"(U+{ord(c):04X})"


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
