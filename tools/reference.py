"""Write `docs/cli.md`, `docs/http.md` and `docs/methods.md` from the code: `python tools/reference.py` (or `--check`).

All are the same on every machine: no widths, versions, times or settings enter them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from methods_reference import methods_reference

DOCS = Path(__file__).resolve().parents[1] / "docs"
GENERATED = "<!-- Written by tools/reference.py; change the code and run it again. -->"
GLOBAL = ("data", "workspace", "as_json")


def cli_reference() -> str:
    """The commands as Markdown."""
    from evigraph.cli.main import app

    root = typer.main.get_command(app)
    lines = ["# Command line", "", GENERATED, "", *_paragraphs(root.help), ""]
    lines += ["Options of every command, before or after its name:", "", *_options(root, shared=True), ""]
    for path, command in _commands("evigraph", root):
        lines += [f"## `{path}`", "", *_paragraphs(command.help), ""]
        lines += ["```", _usage(path, command), "```", ""]
        if options := list(_options(command, shared=False)):
            lines += [*options, ""]
    return "\n".join(lines).rstrip() + "\n"


def _commands(path: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in sorted(group.commands.items()):
        yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from _commands(f"{path} {name}", command)


def _usage(path: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    shown = [(p.metavar or p.name.upper()) + ("..." if p.nargs == -1 else "") for p in arguments]
    subcommands = ["[COMMAND]"] if hasattr(command, "commands") else []
    return " ".join([path, "[OPTIONS]", *subcommands, *shown])


def _options(command: Any, *, shared: bool) -> Iterator[str]:
    for parameter in command.params:
        if parameter.name == "help" or (parameter.name in GLOBAL) is not shared:
            continue
        if parameter.param_type_name == "argument":
            yield f"- `{parameter.metavar or parameter.name.upper()}`: {parameter.help}"
            continue
        value = "" if parameter.is_flag else f" {parameter.name.upper()}"
        default = f" Default: {parameter.default}." if parameter.show_default and parameter.default else ""
        yield f"- `{', '.join(parameter.opts)}{value}`: {parameter.help}{default}"


def http_reference() -> str:
    """The endpoints and their schemas as Markdown."""
    from evigraph.config import Settings
    from evigraph.server.app import create_app

    document = create_app(Settings()).openapi()
    lines = ["# HTTP API", "", GENERATED, "", document["info"]["description"], ""]
    lines += [
        "Errors are RFC 9457 problem JSON (`application/problem+json`) with a stable `code` and a `hint`.",
        "",
    ]
    for path, operations in sorted(document["paths"].items()):
        for method, operation in sorted(operations.items()):
            lines += _operation(method, path, operation)
    lines += ["## Schemas", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _schema(name, schema)
    return "\n".join(lines).rstrip() + "\n"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from (f"## `{method.upper()} {path}`", "", *_paragraphs(operation["description"]), "")
    for parameter in operation.get("parameters", ()):
        told = f": {parameter['description']}" if "description" in parameter else ""
        yield f"- {parameter['in']} `{parameter['name']}` ({_type(parameter['schema'])}){told}"
    if "requestBody" in operation:
        for kind, content in operation["requestBody"]["content"].items():
            yield f"- body `{kind}`: {_type(content['schema'])}"
    for status, response in sorted(operation["responses"].items()):
        schemas = [_type(content.get("schema", {})) for content in response.get("content", {}).values()]
        told = response["description"] if status != "200" else ""
        yield f"- {status}: {' '.join(filter(None, [told, *schemas]))}"
    yield ""


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {name}", "")
    if "description" in schema:
        yield from (*_paragraphs(schema["description"]), "")
    required = schema.get("required", [])
    for field, found in schema.get("properties", {}).items():
        notes = [_type(found)]
        notes += ["required"] if field in required else []
        notes += [f"default {json.dumps(found['default'])}"] if found.get("default") not in (None, "") else []
        told = f": {found['description']}" if "description" in found else ""
        yield f"- `{field}` ({', '.join(notes)}){told}"
    for value in schema.get("enum", ()):
        yield f"- `{value}`"
    yield ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " or ".join(_type(part) for part in schema[union])
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    bounds = [str(schema[key]) for key in ("minimum", "maximum") if key in schema]
    return f"{schema.get('type', 'any')}{' ' + '..'.join(bounds) if bounds else ''}"


def _paragraphs(text: str | None) -> list[str]:
    """Lines of one paragraph joined, paragraphs apart."""
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text or "")]
    return "\n\n".join(filter(None, parts)).splitlines()


def main() -> int:
    pages = {"cli.md": cli_reference(), "http.md": http_reference(), "methods.md": methods_reference(GENERATED)}
    stale = [
        name
        for name, text in pages.items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv[1:]:
        print(f"stale: {', '.join(stale)}; run python tools/reference.py" if stale else "current")
        return 1 if stale else 0
    DOCS.mkdir(exist_ok=True)
    for name in stale:
        (DOCS / name).write_text(pages[name], encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
