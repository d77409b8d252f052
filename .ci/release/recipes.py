"""The data about a release that package managers need."""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
TARBALL = re.compile(r"fathom-(?P<version>[^/]+)-linux-(?P<machine>x86_64|aarch64)\.tar\.gz$")
OF_ONE_MACHINE = {"x86_64": "intel", "aarch64": "arm"}


def formula(releases: str, sums: dict[str, str]) -> str:
    """Homebrew's formula, for the machines that have a tarball among the files with checksums."""
    text = (REPO / "packages/fathom.rb").read_text()
    text = text[text.index("class "):]
    tarballs = {found["machine"]: (found["version"], sum) for name, sum in sums.items() if (found := TARBALL.match(name))}
    for machine, called in OF_ONE_MACHINE.items():
        if machine not in tarballs:
            text = re.sub(rf"  on_{called} do\n.*?\n  end\n\n", "", text, flags=re.DOTALL)
    values = {"version": next(iter(tarballs.values()))[0], "releases": releases.rstrip("/")}
    values |= {machine: sum for machine, (_, sum) in tarballs.items()}
    return re.sub(r"@(\w+)@", lambda place: values[place[1]], text)
