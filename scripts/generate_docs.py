"""Write the tables of docs/ that follow from the code: settings, metrics, profiles, faults. `--check` only compares.

A table stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; everything around it is written by hand.
"""

import argparse
import ast
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from mockgitea.core import faults, profiles
from mockgitea.core.profiles import DEFAULT_PROFILE, PROFILES, Profile
from mockgitea.observe.metrics import METRICS
from mockgitea.settings import Spec, env_name, flag_name, table

FEW = 6
"""Vocabularies of up to so many words stand in the table."""
DOCS = Path(__file__).resolve().parents[1] / "docs"


def settings_rows() -> Iterator[str]:
    """One row a setting."""
    yield "| setting | flag | variable | value | default | meaning |"
    yield "|---|---|---|---|---|---|"
    for name, (field, spec) in table().items():
        default = _default(field.default)
        yield f"| `{name}` | `{flag_name(name)}` | `{env_name(name)}` | {_values(spec)} | {default} | {spec.help} |"


def metrics_rows() -> Iterator[str]:
    """One row a metric."""
    yield "| metric | kind | labels | meaning |"
    yield "|---|---|---|---|"
    for spec in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in spec.labels) or "none"
        yield f"| `{spec.name}` | {spec.kind} | {labels} | {spec.help} |"


def profiles_rows() -> Iterator[str]:
    """One row a flag, with its value in the default profile and where it differs."""
    meanings = flag_meanings()
    yield f"| flag | `{DEFAULT_PROFILE}` | elsewhere | meaning |"
    yield "|---|---|---|---|"
    base = PROFILES[DEFAULT_PROFILE]
    for field in fields(Profile):
        value = getattr(base, field.name)
        others: dict[str, list[str]] = {}
        for name, profile in PROFILES.items():
            if (other := getattr(profile, field.name)) != value:
                others.setdefault(_shown(other), []).append(f"`{name}`")
        elsewhere = "; ".join(f"{other}: {', '.join(names)}" for other, names in others.items()) or "the same"
        yield f"| `{field.name}` | {_shown(value)} | {elsewhere} | {meanings[field.name]} |"


def fault_kinds_rows() -> Iterator[str]:
    """One row a kind of fault."""
    yield "| kind | what the peer sees | what is stored | stage | method | gRPC |"
    yield "|---|---|---|---|---|---|"
    for kind, facts in faults.KINDS.items():
        stages = ", ".join(f"`{stage}`" for stage in facts.stages)
        methods = ", ".join(f"`{method}`" for method in sorted(facts.methods)) or "all"
        yield f"| `{kind}` | {facts.peer} | {facts.stored} | {stages} | {methods} | {_shown(facts.on_grpc)} |"


def fault_fields_rows() -> Iterator[str]:
    """One row a field of a fault rule."""
    yield "| field | kinds | meaning |"
    yield "|---|---|---|"
    for name, (_, param) in faults.table().items():
        kinds = ", ".join(f"`{kind}`" for kind in param.kinds) or "all"
        is_short = 0 < len(param.choices) <= FEW
        choices = ": one of " + ", ".join(f"`{choice}`" for choice in param.choices) if is_short else ""
        default = "" if param.default is None else f"; default {_shown(param.default)}"
        yield f"| `{name}` | {kinds} | {param.help}{choices}{default} |"


def flag_meanings() -> dict[str, str]:
    """Return the text under each field of `Profile` in the source, on one line."""
    tree = ast.parse(inspect.getsource(profiles))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Profile").body
    meanings: dict[str, str] = {
        "name": "What `--profile` takes.",
        "family": "Gitea or Forgejo.",
        "dialect": "How refusals travel, see Errors.",
    }
    for field, text in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            assert isinstance(text.value, ast.Constant)
            meanings[field.target.id] = re.sub(r"\s+", " ", str(text.value.value)).strip()
    return meanings


TABLES = {
    "settings": ("settings.md", settings_rows),
    "metrics": ("metrics.md", metrics_rows),
    "profiles": ("protocol.md", profiles_rows),
    "fault-kinds": ("faults.md", fault_kinds_rows),
    "fault-fields": ("faults.md", fault_fields_rows),
}


def stale() -> dict[Path, str]:
    """Return the files whose tables do not follow from the code, with the text they should have."""
    found: dict[Path, str] = {}
    for name, (file, rows) in TABLES.items():
        path = DOCS / file
        text = found.get(path) or path.read_text(encoding="utf-8")
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        assert pattern.search(text), f"{file}: no place for the table {name}"
        lines = "\n".join(rows())
        wanted = pattern.sub(lambda match: f"{match[1]}{lines}\n{match[2]}", text)  # noqa: B023 - used at once
        if wanted != text:
            found[path] = wanted
    return found


def _default(value: Any) -> str:
    if value is None:
        return "absent"
    return "empty" if value == "" else _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(f"`{one}`" for one in value) or "none"
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{value}`" if value != "" else "empty"


def _values(spec: Spec) -> str:
    if spec.choices:
        return "one of " + ", ".join(f"`{choice}`" for choice in spec.choices)
    limits = "" if spec.minimum is None else f", {spec.minimum:g} to {spec.maximum:g}"
    return spec.kind.value + limits


def main() -> int:
    """Write or compare; 1 when `--check` found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a table is out of date")
    options = parser.parse_args()
    found = stale()
    for path, text in found.items():
        if not options.check:
            path.write_text(text, encoding="utf-8")
        print(f"{'stale' if options.check else 'written'}: docs/{path.name}")
    if found and options.check:
        print("run: python scripts/generate_docs.py", file=sys.stderr)
    return int(bool(found) and options.check)


if __name__ == "__main__":
    raise SystemExit(main())
