"""The tools under test. Each is a folder with a `tool.toml` and its driver, found by scanning; nothing else lists them.

A driver takes FILE and PASSES, reads the file that many times in one process, and prints `seconds events` for each pass.
"""

import os
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from . import fetch, recording
from .places import CACHE, REPO, Refused, jdk, jdk_version

JAVA = 25


@dataclass
class Tool:
    """One row of the table."""

    name: str
    version: str
    command: list[str]
    takes_passes: bool = True
    ours: bool = False
    note: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def on(self, file: Path, passes: int) -> list[str]:
        """The command line that reads `file`."""
        words = [word.replace("{file}", str(file)) for word in self.command]
        return [*words, str(file), str(passes)] if self.takes_passes else words


def scan(folder: Path, named: str = "") -> list[Tool]:
    """Builds the tools under `folder` whose name contains `named`. Tools that cannot be built are left out with a message."""
    tools = []
    for description in sorted(folder.glob("*/tool.toml")):
        about = tomllib.loads(description.read_text())
        if named not in about["name"].lower():
            continue
        try:
            tools.append(build(description.parent, about))
        except (Refused, OSError, subprocess.CalledProcessError) as problem:
            print(f"left out {about['name']}: {problem}", flush=True)
    return tools


def build(folder: Path, about: dict) -> Tool:
    """Fetches and compiles one tool."""
    return Tool(
        name=about["name"],
        version=about["version"].format(jdk=jdk_version(jdk(JAVA)), fathom=fathom_version()),
        command=BUILDERS[about["kind"]](folder, about),
        takes_passes=about["kind"] != "command",
        ours=about.get("ours", False),
        note=about.get("note", ""),
        environment=about.get("environment", {}),
    )


def java_driver(folder: Path, about: dict) -> list[str]:
    jars = [fetch.jar(jar["maven"], jar["sha256"]) for jar in about.get("jars", [])]
    classes = recording.compile_java(jdk(JAVA), [*folder.glob("*.java")], CACHE / "classes" / folder.name, jars)
    path = ":".join(str(part) for part in [classes, *jars])
    return [str(jdk(JAVA) / "bin" / "java"), *about.get("options", []), "-cp", path, about["main"]]


def cargo_driver(folder: Path, about: dict) -> list[str]:
    """Our own loader is built like the program itself. A peer's driver is built with its own lock file."""
    manifest = REPO / about["manifest"] if "manifest" in about else folder
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")) if about.get("ours") else CACHE / "cargo"
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(manifest / "Cargo.toml")]
    subprocess.run(command, check=True, cwd=REPO, env=os.environ | {"CARGO_TARGET_DIR": str(target)})
    return [str(target.absolute() / "release" / about["binary"])]


def go_driver(folder: Path, _about: dict) -> list[str]:
    binary = CACHE / "go" / folder.name
    subprocess.run(["go", "build", "-mod=readonly", "-o", str(binary), "."], check=True, cwd=folder)
    return [str(binary)]


def plain_command(_folder: Path, about: dict) -> list[str]:
    return [word.replace("{java_home}", str(jdk(JAVA))) for word in about["command"]]


BUILDERS = {"java": java_driver, "cargo": cargo_driver, "go": go_driver, "command": plain_command}


def fathom_version() -> str:
    """The commit that is measured."""
    described = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=REPO, capture_output=True, text=True)
    return described.stdout.strip() or "unknown"
