"""House rules as tests: import directions, sizes, banned words and calls, mirrored test files."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "mockgitea": ROOT / "server" / "mockgitea",
    "actionsrunner": ROOT / "runner" / "actionsrunner",
    "actionswire": ROOT / "shared" / "python" / "actionswire",
}
MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
PUBLIC_PARAMETERS_MAX = 12

BANNED_IN_CORE = {
    "asyncio", "threading", "time", "os", "sqlite3", "logging", "structlog", "fastapi", "sqlalchemy", "httpx",
    "socket", "subprocess", "secrets",
}  # fmt: skip
"""`core/` decides; it never waits, reads a clock, writes a log or touches the world."""

LAYERS = {
    "mockgitea": ["core", "storage", "service", "transport", "ui", "app", "cli"],
}
FORBIDDEN_EDGES = [
    (
        "mockgitea.core",
        ("mockgitea.storage", "mockgitea.service", "mockgitea.transport", "mockgitea.ui", "mockgitea.app"),
    ),
    ("mockgitea.storage", ("mockgitea.service", "mockgitea.transport", "mockgitea.ui", "mockgitea.app")),
    ("mockgitea.service", ("mockgitea.transport", "mockgitea.ui", "mockgitea.app", "mockgitea.cli")),
    ("mockgitea", ("actionsrunner",)),
    ("actionsrunner", ("mockgitea",)),
    ("actionswire", ("mockgitea", "actionsrunner")),
    ("actionsrunner.core", ("actionsrunner.edge", "actionsrunner.loops", "actionsrunner.engine", "actionsrunner.app")),
    ("actionsrunner.engine", ("actionsrunner.edge", "actionsrunner.loops", "actionsrunner.app", "actionsrunner.cli")),
]


def modules() -> Iterator[tuple[str, Path]]:
    for name, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            if "gen" in path.relative_to(folder).parts:
                continue
            dotted = ".".join([name, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
            yield dotted, path


MODULES = dict(modules())


def imports_of(module: str, path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import in line {node.lineno}; name the package"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    names = imports_of(module, MODULES[module])
    offending = [
        f"{module} -> {name}"
        for source, targets in FORBIDDEN_EDGES
        if inside(module, source) and not inside(module, "mockgitea.lab")
        for name in names
        if any(inside(name, target) for target in targets)
    ]
    assert not offending


@pytest.mark.parametrize("module", [name for name in MODULES if ".core" in name or name.startswith("actionswire")])
def test_core_modules_import_no_world(module: str) -> None:
    roots = {name.split(".")[0] for name in imports_of(module, MODULES[module])}
    assert not roots & BANNED_IN_CORE
    source = MODULES[module].read_text()
    assert not re.search(r"\b(datetime\.now|time\.time|utcnow)\b", source)
    assert not re.search(r"\brandom\.(random|choice|randint|uniform|shuffle)\(", source), "take a random.Random instead"
    assert "actionswire.gen" not in source


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith(("mockgitea", "actionsrunner"))])
def test_only_the_clock_modules_read_the_wall_clock(module: str) -> None:
    if module in {"mockgitea.clock", "actionsrunner.edge.clock"}:
        return
    source = MODULES[module].read_text()
    assert not re.search(r"\btime\.time(_ns)?\(|datetime\.now\(|datetime\.utcnow\(", source)


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_stay_small(module: str) -> None:
    text = MODULES[module].read_text()
    assert len(text.splitlines()) <= MODULE_LINES_MAX
    long = [
        f"{node.name}: {length} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := body_lines(node)) > FUNCTION_LINES_MAX
    ]
    assert not long


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = node.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_owns(module: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[module].read_text())), "module docstring missing"


@pytest.mark.parametrize("module", MODULES)
def test_exceptions_are_never_swallowed_whole(module: str) -> None:
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"bare except in line {node.lineno}"


def test_no_module_has_a_grab_bag_name() -> None:
    grab_bags = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert not [name for name in MODULES if name.rsplit(".", 1)[-1] in grab_bags]


def test_unit_tests_mirror_the_packages() -> None:
    unit = ROOT / "tests" / "unit"
    stray = []
    for package, source in PACKAGES.items():
        for path in (unit / package).rglob("*"):
            if path.is_dir() and "__pycache__" not in path.parts:
                folder = source / path.relative_to(unit / package)
                if not folder.is_dir():
                    stray.append(str(path.relative_to(ROOT)))
    assert not stray


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    return [ROOT / name for name in listed.split("\0") if name]


SLEEPS_ALLOWED = ("# poll interval", "# latency of a played server")
"""What a line with a sleep must say: a bounded loop looks again, or a server under our control takes its time."""
VIRTUAL_LOOP_TEST = "tests/unit/mockgitea/lab/test_virtual_loop.py"
"""Its sleeps run on the loop under test, whose clock jumps; real ones (`time.sleep`) are banned there too."""


def test_tests_never_sleep_a_fixed_time() -> None:
    offending = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path.name != Path(__file__).name
        for sleep in [r"\btime\.sleep\(" if path == ROOT / VIRTUAL_LOOP_TEST else r"\b(time|asyncio)\.sleep\((?!0\))"]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(sleep, line) and not any(reason in line for reason in SLEEPS_ALLOWED)
    ]
    assert not offending, f"wait on a condition; a sleep that is none of a test's own waits says so: {SLEEPS_ALLOWED}"


def test_texts_name_no_machine_path() -> None:
    pattern = re.compile(r"/work/|/root/|/tmp/bash_jobs")
    offending = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked_files()
        if path.suffix in {".py", ".md", ".toml", ".yml", ".yaml", ".sh", ".json", ".txt"}
        and path.exists()
        and path.name not in {Path(__file__).name}
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not offending
