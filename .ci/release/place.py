"""Builds a release at the same paths on every machine and in every folder.

Debug information has a checksum of each source. Sources written by build scripts contain the path of their folder. And
with thin LTO, symbol names contain a checksum of all that. Path mapping does not affect these checksums. So the checkout,
`target` and Cargo's folder are mounted at fixed paths, in a mount namespace that ends with the build.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import REPO

# Every Linux has this folder, and a build needs nothing in it. Its content is only hidden during the build.
ROOM = Path("/mnt")
CHECKOUT, TARGET, CARGO_HOME = ROOM / "fathom", ROOM / "target", ROOM / "cargo"
# Folders are named by descriptors: the room may hide them.
ENTER = f"""set -eu
exec 3<"$1" 4<"$2" 5<"$3"
mount -t tmpfs none {ROOM}
mkdir {CHECKOUT} {TARGET} {CARGO_HOME}
mount --bind /proc/self/fd/3 {CHECKOUT}
mount --bind /proc/self/fd/4 {TARGET}
mount --bind /proc/self/fd/5 {CARGO_HOME}
cd {CHECKOUT}
shift 3
exec "$@"
"""


def enter() -> None:
    """Runs this program again at the fixed paths, unless it is already there or the machine refuses."""
    if REPO == CHECKOUT:
        return
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve()
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")).resolve()
    target.mkdir(parents=True, exist_ok=True)
    inside = [*namespace(), "bash", "-c", ENTER, "place", REPO, target, cargo_home]
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], check=False, capture_output=True).returncode:
        print("dist: no mount namespace on this machine: what is built in another folder will have other bytes", file=sys.stderr)
        return
    again = [sys.executable, CHECKOUT / ".ci/dist", *sys.argv[1:]]
    os.environ |= {"CARGO_TARGET_DIR": str(TARGET), "CARGO_HOME": str(CARGO_HOME)}
    os.execvp(inside[0], [str(word) for word in [*inside, *again]])


def namespace() -> list[str]:
    return ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
