"""The tools that only a release needs, fetched once into `target/release-tools`, at the versions of `requirements.txt`."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
TOOLS = REPO / "target/release-tools"
REQUIREMENTS = HERE / "requirements.txt"
PYTHON = TOOLS / "bin/python"


def have() -> None:
    """Runs this program again with the Python that has the tools, unless it already does."""
    if Path(sys.prefix) == TOOLS:
        return
    fetch()
    os.execv(PYTHON, [str(PYTHON), *sys.argv])


def fetch() -> None:
    stamp = TOOLS / "fetched"
    wanted = REQUIREMENTS.read_text()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", TOOLS], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
                        "--require-hashes", "--requirement", REQUIREMENTS], check=True)
    except subprocess.CalledProcessError:
        sys.exit("dist: the tools of a release could not be fetched: .ci/deps dist installs Python's venv; the package index must be reachable")
    stamp.write_text(wanted)


def told(command: list) -> str:
    """The output of a command that runs in the repository."""
    return subprocess.run(command, cwd=REPO, check=True, capture_output=True, text=True).stdout.strip()
