"""Compiles servers of a single source file with their libraries, and the agent that makes them ill."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from kit import fetch
from kit.places import CACHE, REPO, RUNTIMES, jdk
from kit.recording import compile_java

HERE = Path(__file__).resolve().parent
LIBRARIES = CACHE / "servers"
BUILT = REPO / "target" / "truth-servers"


def jars_of(source: Path) -> list[Path]:
    """The jars of the coordinates in the first line of a server's source, checked against `jars.sha256` of its folder."""
    coordinates = source.read_text().splitlines()[0].removeprefix("// ").split()
    folder = LIBRARIES / "-".join(name.split(":")[1] + "-" + name.split(":")[2] for name in coordinates)
    if not folder.is_dir():
        wanted = "".join("<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(*name.split(":"))
                         for name in coordinates)
        with tempfile.TemporaryDirectory() as scratch:
            pom = Path(scratch) / "pom.xml"
            pom.write_text("<project><modelVersion>4.0.0</modelVersion><groupId>fathom</groupId><artifactId>server</artifactId>"
                           f"<version>1</version><dependencies>{wanted}</dependencies></project>")
            fetch.maven("-f", pom, f"{fetch.PLUGIN}:copy-dependencies", f"-DoutputDirectory={folder}")
    pinned = dict(reversed(line.split()) for line in (source.parent.parent / "jars.sha256").read_text().splitlines())
    return [fetch.checked(jar, pinned.get(jar.name, "none")) for jar in sorted(folder.glob("*.jar"))]


@cache
def agent_jar() -> Path:
    """The illnesses as an agent, with what the servers share; for JDK 17 and later."""
    home = jdk(17)
    shared = compile_java(home, sorted((HERE / "shared").glob("*.java")), BUILT / "shared")
    manifest = BUILT / "manifest"
    manifest.write_text("Premain-Class: Troubles\n")
    subprocess.run([home / "bin" / "jar", "cfm", BUILT / "troubles.jar", manifest, "-C", shared, "."], check=True)
    return BUILT / "troubles.jar"


def agent() -> str:
    return f"-javaagent:{BUILT / 'troubles.jar'}"


def compiled(source: Path, oldest: int) -> str:
    """The class path of a server, for this JDK and later ones."""
    jars = ":".join(map(str, [agent_jar(), *jars_of(source)]))
    into = BUILT / source.stem
    into.mkdir(parents=True, exist_ok=True)
    command = [jdk(25) / "bin" / "javac", "-g", "--release", str(oldest), "-cp", jars, "-d", into, source]
    subprocess.run(command, check=True)
    return f"{into}:{jars}"


def java_of(major: int) -> Path:
    home = RUNTIMES / str(major)
    return (home if home.is_dir() else jdk(major)) / "bin" / "java"
