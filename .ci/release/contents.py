"""Third-party parts of the program: crates, packages of the page, C libraries, async-profiler."""

import json
import re
import runpy
from dataclasses import dataclass, field
from pathlib import Path

from tools import REPO, TOOLS, told

TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "COPYRIGHT*", "NOTICE*", "UNLICENSE*", "license*")
PROFILER = runpy.run_path(str(REPO / ".ci/async-profiler"))


@dataclass
class Part:
    """A third-party part of the program. `purl` is its package URL, `sha256` the checksum of its package."""

    name: str
    version: str
    terms: str
    purl: str
    where: str
    sha256: str = ""
    texts: list[Path] = field(default_factory=list)


def parts(triple: str) -> list[Part]:
    return [*map(crate_part, used_crates(triple)), *page_parts(), *linked_parts(), profiler_part()]


def used_crates(triple: str) -> list[dict]:
    """The third-party crates in the program, by name."""
    metadata = json.loads(told(["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", triple]))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [id for id, package in packages.items() if package["name"] == "fathom"]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    own = set(metadata["workspace_members"])
    return sorted((packages[id] for id in seen - own), key=lambda crate: (crate["name"], crate["version"]))


def crate_part(crate: dict) -> Part:
    name, version = crate["name"], crate["version"]
    # The old `/` means OR.
    terms = crate["license"].replace("/", " OR ")
    return Part(name, version, terms, f"pkg:cargo/{name}@{version}", crate["repository"] or "no address",
                checksum(name, version), texts_in(Path(crate["manifest_path"]).parent))


def checksum(name: str, version: str) -> str:
    lock = (REPO / "Cargo.lock").read_text()
    found = re.search(rf'name = "{re.escape(name)}"\nversion = "{re.escape(version)}"\n.*\nchecksum = "(\w+)"', lock)
    return found[1]


def page_parts() -> list[Part]:
    return [page_part(name) for name in json.loads((REPO / "ui/package.json").read_text())["dependencies"]]


def page_part(name: str) -> Part:
    folder = REPO / "ui/node_modules" / name
    package = json.loads((folder / "package.json").read_text())
    return Part(name, package["version"], package["license"], f"pkg:npm/{name.replace('@', '%40')}@{package['version']}",
                "in the page", texts=texts_in(folder))


def linked_parts() -> list[Part]:
    """The C code that is linked statically."""
    bundled = bundled_sources()
    elfutils, zlib = bundled / "elfutils", bundled / "zlib"
    elf_version = re.search(r"AC_INIT\(\[elfutils\],\[([\d.]+)\]", (elfutils / "configure.ac").read_text())[1]
    zlib_version = re.search(r'ZLIB_VERSION "([\d.]+)"', (zlib / "zlib.h").read_text())[1]
    rust = told(["rustc", "--version"]).split()[1]
    musl = next(TOOLS.glob("lib/python*/site-packages/ziglang/lib/libc/musl/COPYRIGHT"))
    return [
        Part("libelf", elf_version, "LGPL-3.0-or-later OR GPL-2.0-or-later", f"pkg:generic/elfutils@{elf_version}",
             "linked statically, from the sources in the crate libbpf-sys", texts=texts_in(elfutils)),
        Part("zlib", zlib_version, "Zlib", f"pkg:generic/zlib@{zlib_version}",
             "linked statically, from the sources in the crate libbpf-sys", texts=texts_in(zlib)),
        Part("musl", f"rust-{rust}", "MIT", f"pkg:generic/musl@rust-{rust}", f"linked statically, as Rust {rust} has it", texts=[musl]),
        Part("rust-std", rust, "MIT OR Apache-2.0", f"pkg:generic/rust-std@{rust}", "Rust's standard library"),
    ]


def bundled_sources() -> Path:
    """The crate libbpf-sys, which includes the sources of libelf and zlib."""
    metadata = json.loads(told(["cargo", "metadata", "--format-version", "1", "--locked"]))
    return next(Path(package["manifest_path"]).parent for package in metadata["packages"] if package["name"] == "libbpf-sys")


def profiler_part() -> Part:
    version = PROFILER["VERSION"]
    return Part("async-profiler", version, "Apache-2.0", f"pkg:maven/tools.profiler/async-profiler@{version}",
                "built in as a library; terms as Fathom's own", PROFILER["SHA256"])


def texts_in(folder: Path) -> list[Path]:
    found = {path for pattern in TEXTS for place in ("", "libbpf/") for path in folder.glob(place + pattern) if path.is_file()}
    return sorted(found)
