"""A room of the harness imports only rooms above it: the order is that of the design."""

import ast
import functools
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2] / "harness"
EVERYWHERE = ("common", "errors")
LIBRARY = ("math", "sources", "problems", "calibrators", "estimators")
MACHINE = ("configure", "plan", "records", "execute", "contract")
VIEWS = ("evaluation", "figures", "pages", "judging", "workflow", "comparing", "commands")
ORDER = (*LIBRARY, *MACHINE, *VIEWS)
FOLDERS_OUTSIDE = ("experiments", "tools")  # modules that lend a name to folders beside harness/
# Arrows that run down the list, with their reason. This list may only shrink.
EXCEPTIONS = {
    ("problems/fitted.py", "calibrators"): "the problem is the map of a fitted calibrator",
    ("problems/fitted_maps.py", "calibrators"): "it lists the calibrators of these problems",
}
# Modules of judging that draw, with the rooms that they may import besides the library.
DRAWING = {
    "pictures.py": {"figures"},
    "notebook.py": {"figures"},
    "diagram.py": {"figures"},
    "page.py": {"pages"},
}


def imported_rooms(tree):
    """Return the rooms of the harness that a module imports, inside functions too.

    The package itself is "harness".
    """
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            module = str(node.module)
            of_face = module in ("harness", "calharness")
            names |= {f"{module}.{a.name}" for a in node.names} if of_face else {module}
    split = [name.split(".") for name in names]
    return {(parts + parts)[1] for parts in split if parts[0] in ("harness", "calharness")}


@functools.cache
def modules():
    """Return (path below harness/, room, rooms that it imports) of every module in a room."""
    rows = []
    for path in sorted(HARNESS.rglob("*.py")):
        place = path.relative_to(HARNESS)
        room = place.parts[0].removesuffix(".py")
        if room not in ("__init__", "__main__", *FOLDERS_OUTSIDE):
            others = imported_rooms(ast.parse(path.read_bytes())) - {room}
            rows.append((place.as_posix(), room, others))
    return rows


def may_import(room):
    """Return the rooms that a room may import."""
    if room in EVERYWHERE:
        return set(EVERYWHERE)
    return {*EVERYWHERE, *ORDER[: ORDER.index(room)]}


def test_rooms_import_only_rooms_above_them():
    downwards = {
        (path, other) for path, room, others in modules() for other in others - may_import(room)
    }
    assert downwards == set(EXCEPTIONS)


def test_every_folder_is_a_room_of_the_order():
    rooms = {room for _, room, _ in modules()}
    assert rooms <= {*EVERYWHERE, *ORDER} and {"judging", *EVERYWHERE, *LIBRARY} <= rooms


def test_the_face_of_the_library_imports_no_command():
    assert "commands" not in imported_rooms(ast.parse((HARNESS / "__init__.py").read_bytes()))


def test_judging_imports_the_library_alone():
    for path, room, others in modules():
        if room == "judging":
            allowed = {*EVERYWHERE, *LIBRARY} | DRAWING.get(path.removeprefix("judging/"), set())
            assert others <= allowed, path


def test_no_room_hides_a_function_of_the_face():
    """Importing harness/run/ would replace the function harness.run by the package."""
    face = ast.parse((HARNESS / "__init__.py").read_bytes())
    functions = {node.name for node in face.body if isinstance(node, ast.FunctionDef)}
    rooms = {path.stem for path in HARNESS.iterdir()}
    assert "compare" in functions and not functions & rooms


def test_no_two_files_of_tests_have_the_same_name():
    """pytest imports one of them only, and stops."""
    names = [path.name for path in (HARNESS.parent / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))
