"""Builds the program for a release: one file that needs no library of the machine it runs on.

It is linked with musl, libelf and zlib statically. The C compiler for that is Zig's, which brings the headers of musl and of the
kernel for every machine; the linker is Rust's. The sources of libelf and zlib come with libbpf-sys; `Cargo.lock` has
its checksum. The program contains no path of this machine.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from contents import bundled_sources
from tools import REPO, TOOLS, told

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve()
CARGO_HOME = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")).resolve()
# By default Zig checks undefined behaviour, which needs a runtime library.
C_FLAGS = ["-O2", "-g", "-fPIC", "-fno-sanitize=all"]
# The results of libelf's configure script for musl, and its choices.
LIBELF_CONFIG = """\
#define CHECK_UNDEFINED 0
#define DEFAULT_AR_DETERMINISTIC false
#define HAVE_DECL_MEMPCPY 1
#define HAVE_DECL_MEMRCHR 1
#define HAVE_DECL_POWEROF2 0
#define HAVE_DECL_RAWMEMCHR 0
#define HAVE_DECL_REALLOCARRAY 1
#define HAVE_ERR_H 1
#define HAVE_FALLTHROUGH 1
#define HAVE_STDATOMIC_H 1
#define HAVE_VISIBILITY 1
#include <eu-config.h>
"""


def build(machine: str) -> Path:
    """The program for a machine (`x86_64`, `aarch64`), with its debug information."""
    triple = f"{machine}-unknown-linux-musl"
    have_standard_library(triple)
    place = TARGET / "static" / machine
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    compiler = write_compiler(machine, place)
    build_libraries(compiler, place)
    cargo = ["cargo", "build", "--profile", "shipped", "--locked", "--package", "fathom", "--target", triple]
    subprocess.run(cargo, cwd=REPO, check=True, env=environment(triple, compiler, place))
    return TARGET / triple / "shipped/fathom"


def have_standard_library(triple: str) -> None:
    sysroot = Path(told(["rustc", "--print", "sysroot"]))
    if not (sysroot / "lib/rustlib" / triple).is_dir():
        subprocess.run(["rustup", "target", "add", triple], check=True)


def write_compiler(machine: str, place: Path) -> Path:
    """A command that compiles C for a machine. Cargo's build scripts add a name of the machine that Zig does not know."""
    compiler = place / "cc"
    zig = shlex.join([str(TOOLS / "bin/python"), "-m", "ziglang"])
    compiler.write_text(f"""#!/bin/bash
export ZIG_GLOBAL_CACHE_DIR={shlex.quote(str(place / "cache"))} ZIG_LOCAL_CACHE_DIR={shlex.quote(str(place / "cache"))}
for argument; do
    shift
    [[ $argument == --target=* ]] || set -- "$@" "$argument"
done
exec {zig} cc -target {machine}-linux-musl {shlex.join([*C_FLAGS, *prefix_maps()])} "$@" -isystem {shlex.quote(str(place / "include"))}
""")
    compiler.chmod(0o755)
    archiver = place / "ar"
    archiver.write_text(f'#!/bin/bash\nexec {zig} ar "$@"\n')
    archiver.chmod(0o755)
    return compiler


def prefix_maps() -> list[str]:
    return [f"-ffile-prefix-map={path}={name}" for path, name in places()]


def places() -> list[tuple[Path, str]]:
    """Folders of this machine, and their names in the program. The last match wins, for rustc and C compilers."""
    return [(REPO, "fathom"), (CARGO_HOME, "cargo"), (TARGET, "target")]


def build_libraries(compiler: Path, place: Path) -> None:
    bundled = bundled_sources()
    zlib, elfutils = bundled / "zlib", bundled / "elfutils"
    archive(compiler, sorted(zlib.glob("*.c")), ["-D_LARGEFILE64_SOURCE=1", "-DHAVE_HIDDEN", "-DHAVE_UNISTD_H"], place / "libz.a")
    (place / "config.h").write_text(LIBELF_CONFIG)
    makefile = (elfutils / "libelf/Makefile.am").read_text()
    named = re.search(r"^libelf_a_SOURCES = ((?:.*\\\n)*.*)", makefile, re.MULTILINE)
    sources = [elfutils / "libelf" / name for name in re.findall(r"[\w.]+\.c\b", named[1])]
    include = [f"-I{folder}" for folder in (place, elfutils / "lib", elfutils / "libelf", zlib)]
    archive(compiler, sources, ["-std=gnu11", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H", *include], place / "libelf.a")
    (place / "include").mkdir()
    for header in (zlib / "zlib.h", zlib / "zconf.h", elfutils / "libelf/libelf.h", elfutils / "libelf/gelf.h"):
        shutil.copy(header, place / "include")


def archive(compiler: Path, sources: list[Path], flags: list[str], library: Path) -> None:
    objects = library.with_suffix("")
    objects.mkdir()
    subprocess.run([compiler, "-c", "-w", "-Werror=implicit-function-declaration", *flags, *sources], cwd=objects, check=True)
    subprocess.run([compiler.with_name("ar"), "rcsD", library, *sorted(objects.iterdir())], check=True)


def environment(triple: str, compiler: Path, place: Path) -> dict[str, str]:
    name = triple.replace("-", "_")
    remap = [f"--remap-path-prefix={path}={to}" for path, to in places()]
    return os.environ | {
        f"CC_{name}": str(compiler),
        f"AR_{name}": str(compiler.with_name("ar")),
        f"LIBBPF_SYS_LIBRARY_PATH_{name}": str(place),
        f"CARGO_TARGET_{name.upper()}_LINKER": "rust-lld",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(["-Clink-self-contained=yes", "-Clink-arg=--icf=all", "-Clink-arg=--pack-dyn-relocs=relr", *remap]),
        "PKG_CONFIG_ALLOW_CROSS": "1",
        "SOURCE_DATE_EPOCH": commit_time(),
    }


def commit_time() -> str:
    return told(["git", "log", "-1", "--format=%ct"])
