"""Packs a tree of files as a tarball, a Debian package and an RPM package.

The same tree gives the same bytes: every time in them is that of the commit, every owner is root, names are sorted.
"""

import gzip
import io
import os
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import rpm_rs

SUMMARY = "finds out why a JVM service was slow when the cause lies below the Java code"
DESCRIPTION = """\
It records a running JVM and the kernel around it, or reads what the JVM wrote down, and says which cause
explains how much of the slow time, what it rules out, and what it could not see."""
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass
class Package:
    """The content of a package: `tree` has `bin` and `share` below it. It needs no libraries, so no package depends on another."""

    tree: Path
    version: str
    machine: str
    time_s: int
    out: Path


def tarball(what: Path, into: Path, time_s: int) -> None:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = time_s
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted([what, *what.rglob("*")]):
            tar.add(path, path.relative_to(what.parent), recursive=False, filter=plain)
    into.write_bytes(gzip.compress(archive.getvalue(), mtime=0))


def packages(package: Package) -> None:
    """The Debian and the RPM package: below /usr, with compressed manual pages, and the licence in the usual place of each."""
    root = package.out / "root"
    shutil.copytree(package.tree, root / "usr")
    for page in (root / "usr/share/man/man1").iterdir():
        page.with_name(page.name + ".gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        os.utime(path, (package.time_s, package.time_s))
    rpm(package, root)
    debian(package, root)
    shutil.rmtree(root)


def rpm(package: Package, root: Path) -> None:
    # A compression that RHEL 8 can read.
    config = rpm_rs.BuildConfig(format=rpm_rs.RpmFormat.V4, compression=rpm_rs.CompressionType.Xz, source_date=package.time_s)
    builder = rpm_rs.PackageBuilder("fathom", package.version, "Apache-2.0", package.machine, SUMMARY)
    builder.using_config(config)
    builder.description(DESCRIPTION)
    builder.release("1")
    builder.build_host("localhost")
    for path in sorted(root.rglob("*")):
        place = "/" + str(path.relative_to(root))
        if path.is_file():
            mode = path.stat().st_mode & 0o777
            builder.with_file(str(path), rpm_rs.FileOptions.new(
                place, user="root", group="root", permissions=mode, doc="/share/doc/" in place, license=path.name == "LICENSE"))
        elif "/share/doc/fathom" in place:
            builder.with_dir_entry(rpm_rs.FileOptions.dir(place, user="root", group="root", permissions=0o755))
    builder.build().write_file(str(package.out / f"fathom-{package.version}-1.{package.machine}.rpm"))


def control(version: str, architecture: str, size_kb: int) -> str:
    """The package's metadata for dpkg."""
    indented = "\n".join(f" {line}" for line in DESCRIPTION.splitlines())
    return f"""Package: fathom
Version: {version}
Architecture: {architecture}
Maintainer: the maintainers of Fathom
Installed-Size: {size_kb}
Section: devel
Priority: optional
Description: {SUMMARY}
{indented}
"""


def debian(package: Package, root: Path) -> None:
    if not shutil.which("dpkg-deb"):
        print("dist: no dpkg-deb here: no Debian package")
        return
    documents = root / "usr/share/doc/fathom"
    (documents / "LICENSE").rename(documents / "copyright")
    architecture = DEBIAN_ARCHITECTURES[package.machine]
    size_kb = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(control(package.version, architecture, size_kb))
    deb = package.out / f"fathom_{package.version}_{architecture}.deb"
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(package.time_s)}
    # A compression that Debian 11 can read.
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, deb]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
