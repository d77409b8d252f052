"""Twelve services of one host, their callees, and their clients."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCH = HERE.parent.parent
TRUTH = BENCH / "truth" / "servers"
sys.path[:0] = [str(BENCH), str(TRUTH)]
import built
from kit import fetch
from kit.places import REPO, jdk
from kit.process import free_port
from kit.processes import Processes, wait_until_open
from kit.recording import compile_java

SERVICES = json.loads((HERE / "services.json").read_text())["services"]
MULTIPLEXED = REPO / "labs" / "servers" / "multiplexed"
RARE_FUNCTIONS = REPO / "crates" / "causes" / "catalog" / "lazy_symbol_binding" / "lab" / "rare.c"
# Requests per second, and the callee's latency in ms, for services that do not set their own.
RATE, CALLEE_MS = 15, 8
# The number of functions that are called for the first time; the same as in `FirstCalls`.
FUNCTIONS = 128


class Service(Processes):
    """One service. `callee` is the port of its callee."""

    def __init__(self, about: dict, callee: int, folder: Path) -> None:
        folder.mkdir(parents=True)
        super().__init__(built.java_of(about["jdk"]), class_path(about), folder)
        self.about, self.callee, self.port = about, callee, free_port()
        self.rate = about.get("rate", RATE)
        self.normal_callee = str(about.get("callee_ms", CALLEE_MS))
        (self.folder / "callee-ms").write_text(self.normal_callee)
        self.process: subprocess.Popen

    @property
    def name(self) -> str:
        return self.about["name"]

    @property
    def pid(self) -> int:
        return self.process.pid

    def begin(self, asked: int | None) -> None:
        """`asked` is the port of the service that a batch job calls."""
        jvm = [*self.about["jvm"], f"-Dcallee={self.callee}", built.agent(), *self.native()]
        port = [str(self.port)] if asked is None else [str(asked), str(RATE)]
        self.process = self.java("server", [self.about["server"], *self.about.get("words", []), *port], jvm)
        if asked is None:
            wait_until_open(self.port)

    def deploy(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.begin(None)

    def native(self) -> list[str]:
        if not self.about.get("calls_native"):
            return []
        library, caller = compile_native(self.folder)
        return [f"-Dlibrary={library}", f"-Dcaller={caller}"]


def compile_native(folder: Path) -> tuple[Path, Path]:
    """A library with many symbols, and another that calls its functions. Their addresses are resolved at the first call."""
    library, caller, headers = folder / "librare.so", folder / "libcaller.so", jdk(17) / "include"
    shared = ["cc", "-O1", "-shared", "-fPIC"]
    subprocess.run([*shared, "-Wl,-soname,librare.so", "-o", library, RARE_FUNCTIONS], check=True)
    # Dirty pages would stay in memory.
    os.sync()
    (folder / "caller.c").write_text(caller_source())
    words = [f"-I{headers}", f"-I{headers / 'linux'}", folder / "caller.c", f"-L{folder}", "-lrare", "-Wl,-z,lazy"]
    subprocess.run([*shared, "-o", caller, *words], check=True)
    return library, caller


def caller_source() -> str:
    """A native method that calls functions of the library through the linkage table of this one."""
    names = [f"some_rather_long_name_as_templates_have_them_{number}" for number in range(FUNCTIONS)]
    declared = "".join(f"void {name}(void);\n" for name in names)
    calls = "".join(f"\tcase {number}: {name}(); break;\n" for number, name in enumerate(names))
    method = "JNIEXPORT void JNICALL Java_FirstCalls_call(JNIEnv *env, jclass type, jint number)"
    return f"#include <jni.h>\n{declared}{method}\n{{\n\t(void)env;\n\t(void)type;\n\tswitch (number) {{\n{calls}\t}}\n}}\n"


def class_path(about: dict) -> str:
    if about["server"] in ("Grpc", "BatchJob"):
        return grpc_path()
    places = [HERE / "src", TRUTH / "src"]
    source = next(path for folder in places if (path := folder / f"{about['server']}.java").is_file())
    return built.compiled(source, about["jdk"])


@cache
def grpc_path() -> str:
    """The gRPC service of the labs, and a batch job that calls it."""
    jars = fetch.libraries(MULTIPLEXED)
    sources = [MULTIPLEXED / "src" / "Grpc.java", MULTIPLEXED / "src" / "Load.java", HERE / "src" / "BatchJob.java"]
    classes = compile_java(jdk(17), sources, built.BUILT / "grpc", jars)
    return ":".join(map(str, [classes, *jars]))


class Host(Processes):
    """All services, with their callees and clients."""

    def __init__(self, folder: Path) -> None:
        built.agent_jar()
        super().__init__(Path(sys.executable), "", folder)
        self.services = [Service(about, free_port(), folder / about["name"]) for about in SERVICES]

    def __getitem__(self, name: str) -> Service:
        return next(service for service in self.services if service.name == name)

    def begin(self) -> None:
        callees = [word for service in self.services for word in (str(service.callee), str(service.folder))]
        self.start("callee", [sys.executable, str(HERE / "callee.py"), *callees])
        for service in self.services:
            asks = service.about.get("asks")
            service.begin(self[asks].port if asks else None)
        asked = [service for service in self.services if service.rate and "asks" not in service.about]
        clients = [word for service in asked for word in (str(service.port), str(service.rate), str(service.folder))]
        self.start("clients", [sys.executable, str(HERE / "clients.py"), *clients])

    def end(self) -> None:
        super().end()
        for service in self.services:
            service.end()
