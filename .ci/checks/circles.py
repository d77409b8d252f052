"""Finds the dependencies between the modules of a crate from the text of its sources, and the circles among them.

A module is a file with the folder below it. From outside these are one module, so circles are searched among
siblings. An item that a parent only re-exports (`pub use`) is not a dependency of the parent: its users depend on the
module that defines it. Test code is exempt, as between crates.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# A folder scanned by a build script: each of its folders with a `mod.rs` is a module of the file that includes the list.
INCLUDED = re.compile(r'include!\(concat!\(env!\("OUT_DIR"\), "/(?:catalog|collectors|readers)\.rs"\)\)')
SCANNED = ["../catalog", "."]

# Comments, strings and characters; lifetimes stay.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|\bb?r(?P<hashes>#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"' r"|b?'(?:\\(?:u\{\w+\}|x\w\w|.)|[^'\\])'",
    re.DOTALL,
)
MODULE = re.compile(r"(?:^|[;}\]])\s*(?:pub(?:\([\w: ]+\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
USE = re.compile(r"(?P<public>pub(?:\([\w: ]+\))?\s+)?\buse\s+(?P<tree>[^;]+);")
PATH = re.compile(r"(?<![\w:])((?:crate|self|super|\w+)(?:::\w+)+)")

Path_ = tuple[str, ...]


@dataclass
class Module:
    """One file of a crate."""

    path: Path_
    file: Path
    children: set[str] = field(default_factory=set)
    # Name → the path that it is re-exported from.
    handed_on: dict[str, Path_] = field(default_factory=dict)
    needs: set[Path_] = field(default_factory=set)
    code: str = ""


def circles(root: Path) -> list[list[str]]:
    """The circles of the crate with this root file, each as the sorted names of its modules."""
    graph: dict[Path_, set[Path_]] = {}
    for module in Crate(root).modules.values():
        for need in module.needs:
            one, other = side_by_side(module.path, need)
            if one and other:
                graph.setdefault(one, set()).add(other)
                graph.setdefault(other, set())
    found = (part for part in strong_components(graph) if len(part) > 1)
    return sorted(sorted("::".join(path) for path in part) for part in found)


def side_by_side(one: Path_, other: Path_) -> tuple[Path_, Path_]:
    """The siblings that contain two paths; nothing if one path is below the other."""
    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    return (one[: common + 1], other[: common + 1]) if common < min(len(one), len(other)) else ((), ())


class Crate:
    """The modules of a crate and their dependencies."""

    def __init__(self, root: Path) -> None:
        self.modules: dict[Path_, Module] = {}
        self._read((), root)
        uses = {path: list(used(module.code)) for path, module in self.modules.items()}
        for path, module in self.modules.items():
            rest = USE.sub("", module.code)
            for is_public, name, target in uses[path]:
                if is_public:
                    module.handed_on[name] = absolute(target, module)
                # An item that is re-exported and also used here is a dependency here.
                if not is_public or re.search(rf"(?<!\.)\b{re.escape(name)}\b", rest):
                    module.needs.add(absolute(target, module))
            module.needs |= {absolute(found, module) for found in paths(rest, module)}
        for module in self.modules.values():
            module.needs = {self._home(need) for need in module.needs if need is not None} - {None, module.path}

    def _read(self, path: Path_, file: Path) -> None:
        code = without_tests(NO_CODE.sub(blank, file.read_text()))
        module = self.modules[path] = Module(path, file, code=code)
        folder = file.parent if not path or file.name == "mod.rs" else file.with_suffix("")
        for name in MODULE.findall(code):
            self._read_child(module, name, folder)
        if INCLUDED.search(file.read_text()):
            for scanned in SCANNED:
                for found in sorted((folder / scanned).glob("*/mod.rs")):
                    name = found.parent.name
                    module.children.add(name)
                    module.needs.add((*path, name))
                    self._read((*path, name), found)

    def _read_child(self, module: Module, name: str, folder: Path) -> None:
        places = [folder / f"{name}.rs", folder / name / "mod.rs"]
        file = next((place for place in places if place.is_file()), None)
        if file is not None:
            module.children.add(name)
            self._read((*module.path, name), file)

    def _home(self, path: Path_, left: int = 16) -> Path_ | None:
        """The module that defines the item of a path, following re-exports."""
        here: Path_ = ()
        for at, name in enumerate(path):
            module = self.modules[here]
            if name in module.children:
                here = (*here, name)
                continue
            handed = module.handed_on.get(name)
            if handed is not None and left:
                return self._home((*handed, *path[at + 1 :]), left - 1)
            globs = (self._home((*target, name), left - 1) for key, target in module.handed_on.items() if key.startswith("*"))
            return next((found for found in globs if left and found), here) if not self._has(here, name) else here
        return here

    def _has(self, path: Path_, name: str) -> bool:
        item = rf"\b(?:fn|struct|enum|trait|type|const|static|macro_rules!|union|mod)\s+{re.escape(name)}\b"
        return re.search(item, self.modules[path].code) is not None


def used(code: str) -> Iterator[tuple[bool, str, Path_]]:
    """The imports of `use`: whether re-exported, the local name, the path."""
    for found in USE.finditer(code):
        for name, path in leaves(re.sub(r"\s+", " ", found["tree"]).strip(), ()):
            yield found["public"] is not None, name if name != "*" else "*" + "::".join(path), path


def leaves(tree: str, before: Path_) -> Iterator[tuple[str, Path_]]:
    """The names of a tree like `a::{b, c::D as E, self}` with their paths."""
    head, brace, rest = tree.partition("{")
    parts = tuple(part for part in head.strip().split("::") if part.strip())
    if brace:
        for branch in branches(rest[: rest.rindex("}")]):
            yield from leaves(branch, before + parts)
        return
    *stem, last = parts
    last, _, alias = last.partition(" as ")
    if last == "*":
        yield "*", before + tuple(stem)
    elif last == "self" and (before or stem):
        path = before + tuple(stem)
        yield alias.strip() or path[-1], path
    else:
        yield alias.strip() or last.strip(), (*before, *stem, last.strip())


def branches(text: str) -> Iterator[str]:
    """Splits at commas outside of braces."""
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def paths(code: str, module: Module) -> Iterator[Path_]:
    """Paths in the code that start in this crate."""
    for found in PATH.findall(code):
        path = tuple(found.split("::"))
        if path[0] in {"crate", "self", "super"} or path[0] in module.children:
            yield path


def absolute(path: Path_, module: Module) -> Path_ | None:
    """A path from the root of the crate; `None` for one of another crate."""
    base = list(module.path)
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return (*base, *path[1:])
    if path[0] == "super":
        while path and path[0] == "super":
            base, path = base[:-1], path[1:]
        return (*base, *path)
    return (*base, *path) if path[0] in module.children else None


def blank(found: re.Match[str]) -> str:
    """Removes the names in `include!` from the code, and keeps the lines."""
    return '""' if '"' in found[0] else " " + "\n" * found[0].count("\n")


def without_tests(code: str) -> str:
    """The code without test-only parts."""
    kept, at = [], 0
    for found in re.finditer(r"#\[cfg\((?:test|all\(test\b[^]]*)\)\]", code):
        if found.start() < at:
            continue
        kept.append(code[at : found.start()])
        at = end_of_item(code, found.end())
    return "".join([*kept, code[at:]])


def end_of_item(code: str, start: int) -> int:
    """The end of the item that starts here: its semicolon, or the brace that closes its first one."""
    depth = 0
    for at in range(start, len(code)):
        sign = code[at]
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0 and sign in ";}":
            return at + 1
    return len(code)


def strong_components(graph: dict[Path_, set[Path_]]) -> Iterator[list[Path_]]:
    """Tarjan's algorithm. Recursion is no problem, because there are few modules."""
    index: dict[Path_, int] = {}
    low: dict[Path_, int] = {}
    stack: list[Path_] = []
    found: list[list[Path_]] = []

    def visit(node: Path_) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(stack[at:])
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return iter(found)
