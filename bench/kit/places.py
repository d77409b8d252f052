"""Paths: this folder, generated inputs, the cache of fetched and built files."""

import os
import shutil
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
REPO = BENCH.parent
INPUTS = Path(os.environ.get("FATHOM_BENCH_INPUTS", BENCH / "out"))
CACHE = Path(os.environ.get("FATHOM_BENCH_CACHE", Path.home() / ".cache" / "fathom-bench"))
# Installed by `.ci/jdks`.
RUNTIMES = Path(os.environ.get("FATHOM_JDKS", CACHE / "jdks"))

JVM_FOLDERS = Path("/usr/lib/jvm")


class Refused(SystemExit):
    """Something is missing on this machine. The message says what, and what to do. If uncaught, only the message is printed."""


def need(*tools: str) -> None:
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        raise Refused(f"not installed: {', '.join(missing)}")


def program(named: str | None = None) -> str:
    """The Fathom program: named on the command line or by `FATHOM`, else the one from `make build`."""
    path = Path(named or os.environ.get("FATHOM") or REPO / "target" / "release" / "fathom")
    if not path.is_file():
        raise Refused(f"{path} is not there: make build, or name another by FATHOM")
    return str(path)


def jdk(major: int) -> Path:
    """The newest JDK of this major version that has a compiler: `FATHOM_JDK_<major>`, else a scan."""
    named = os.environ.get(f"FATHOM_JDK_{major}")
    candidates = [Path(named)] if named else sorted(JVM_FOLDERS.glob("*"))
    for home in reversed(candidates):
        if (home / "bin" / "javac").exists() and jdk_version(home).split(".")[0] == str(major):
            return home.resolve()
    raise Refused(f"no JDK {major} under {JVM_FOLDERS}: install one (make deps), or set FATHOM_JDK_{major}")


def jdk_version(home: Path) -> str:
    """`JAVA_VERSION` of the JDK's own `release` file."""
    release = home / "release"
    lines = release.read_text().splitlines() if release.exists() else []
    values = [line.partition("=")[2].strip('"') for line in lines if line.startswith("JAVA_VERSION=")]
    return values[0] if values else "unknown"


def jdk_in_path() -> Path:
    """The JDK of the first `java` in PATH, as reported by itself, because the file in PATH may be a script."""
    need("java")
    settings = subprocess.run(["java", "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=True).stderr
    return Path(next(line.split("=")[1].strip() for line in settings.splitlines() if "java.home" in line))
