#!/usr/bin/env python3
"""Writes a flight recording of a few hundred bytes with each kind of part: `fuzz/seeds/make_jfr.py > fuzz/seeds/jfr/small`.

Recordings of a JVM have hundreds of types, so a fuzzer would spend its time on their descriptions. This one has those that samples,
collections and settings need, strings in each of their forms, and two checkpoints. Takes no time and needs nothing.
"""

import struct
import sys

START_TICKS, TICKS_PER_S = 1_000_000, 1_000_000_000
START_NS, LENGTH_NS = 1_700_000_000_000_000_000, 200_000_000
HEADER = struct.Struct(">4sHHQQQQQQQI")
# Types by number: a name, and fields as name, type, and whether the value is a pool index or an array.
TYPES = {
    4: ("boolean", []), 8: ("byte", []), 10: ("int", []), 11: ("long", []), 20: ("java.lang.String", []),
    21: ("java.lang.Class", [("name", 30, "pool"), ("modifiers", 10, "")]),
    22: ("java.lang.Thread", [("osName", 20, ""), ("osThreadId", 11, ""), ("javaName", 20, ""), ("javaThreadId", 11, "")]),
    28: ("jdk.types.Method", [("type", 21, "pool"), ("name", 30, "pool"), ("descriptor", 30, "pool"), ("modifiers", 10, ""), ("hidden", 4, "")]),
    29: ("jdk.types.StackTrace", [("truncated", 4, ""), ("frames", 31, "array")]),
    30: ("jdk.types.Symbol", [("string", 20, "")]),
    31: ("jdk.types.StackFrame", [("method", 28, "pool"), ("lineNumber", 10, ""), ("bytecodeIndex", 10, ""), ("type", 32, "pool")]),
    32: ("jdk.types.FrameType", [("description", 20, "")]),
    33: ("jdk.types.ThreadState", [("name", 20, "")]),
    34: ("jdk.types.GCName", [("gcName", 20, "")]),
    35: ("jdk.types.GCCause", [("cause", 20, "")]),
    101: ("jdk.ExecutionSample", [("startTime", 11, ""), ("sampledThread", 22, "pool"), ("stackTrace", 29, "pool"), ("state", 33, "pool")]),
    102: ("jdk.GarbageCollection", [("startTime", 11, ""), ("duration", 11, ""), ("gcId", 10, ""), ("name", 34, "pool"), ("cause", 35, "pool"), ("sumOfPauses", 11, ""), ("longestPause", 11, "")]),
    103: ("jdk.ActiveSetting", [("startTime", 11, ""), ("duration", 11, ""), ("eventThread", 22, "pool"), ("id", 11, ""), ("name", 20, ""), ("value", 20, "")]),
    104: ("jdk.GCPhasePause", [("startTime", 11, ""), ("duration", 11, ""), ("eventThread", 22, "pool"), ("gcId", 10, ""), ("name", 20, "")]),
    105: ("jdk.JVMInformation", [("startTime", 11, ""), ("jvmName", 20, ""), ("jvmVersion", 20, ""), ("pid", 11, "")]),
    106: ("jdk.JavaMonitorEnter", [("startTime", 11, ""), ("duration", 11, ""), ("eventThread", 22, "pool"), ("stackTrace", 29, "pool"), ("monitorClass", 21, "pool"), ("previousOwner", 22, "pool"), ("address", 11, "")]),
}


def number(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80 and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def text(value: str | None) -> bytes:
    if value is None:
        return b"\0"
    if not value:
        return b"\1"
    encoded = value.encode()
    return b"\3" + number(len(encoded)) + encoded


def sized(body: bytes) -> bytes:
    """An event: its size counts itself, in as many bytes as it needs."""
    for width in range(1, 9):
        size = number(len(body) + width)
        if len(size) == width:
            return size + body
    raise ValueError("too long")


def metadata() -> bytes:
    strings: list[str] = []

    def index(value: str) -> bytes:
        if value not in strings:
            strings.append(value)
        return number(strings.index(value))

    def element(name: str, attributes: dict[str, str], children: list[bytes]) -> bytes:
        pairs = b"".join(index(key) + index(value) for key, value in attributes.items())
        return index(name) + number(len(attributes)) + pairs + number(len(children)) + b"".join(children)

    def field(name: str, of: int, how: str) -> bytes:
        extra = {"pool": {"constantPool": "true"}, "array": {"dimension": "1"}, "": {}}[how]
        return element("field", {"name": name, "class": str(of), **extra}, [])

    def of_type(at: int, name: str, fields: list) -> bytes:
        event = {"superType": "jdk.jfr.Event"} if at > 100 else {}
        return element("class", {"id": str(at), "name": name, **event}, [field(*one) for one in fields])

    classes = [of_type(at, name, fields) for at, (name, fields) in TYPES.items()]
    region = element("region", {"locale": "en", "gmtOffset": "0"}, [])
    root = element("root", {}, [element("metadata", {}, classes), region])
    table = number(len(strings)) + b"".join(text(value) for value in strings)
    return sized(number(0) + number(START_TICKS) + number(0) + number(1) + table + root)


def checkpoint(delta: int, pools: dict[int, list[tuple[int, bytes]]]) -> bytes:
    body = number(1) + number(START_TICKS) + number(0) + number(delta) + b"\1" + number(len(pools))
    for of, entries in pools.items():
        body += number(of) + number(len(entries)) + b"".join(number(key) + value for key, value in entries)
    return sized(body)


def event(of: int, *fields: bytes) -> bytes:
    return sized(number(of) + b"".join(fields))


def at(ms: int) -> bytes:
    return number(START_TICKS + ms * 1_000_000)


def lasting(ms: int) -> bytes:
    return number(ms * 1_000_000)


def methods() -> bytes:
    return checkpoint(0, {
        30: [
            (1, text("shop/Main")), (2, text("run")), (3, b"\4" + number(3) + b"".join(map(number, b"()V"))), (4, text("price")),
            (5, b"\5" + number(4) + b"item"),
        ],
        21: [(1, number(1) + number(1))],
        28: [(1, number(1) + number(4) + number(3) + number(1) + b"\0"), (2, number(1) + number(2) + number(3) + number(1) + b"\0")],
        32: [(1, text("JIT compiled")), (2, text("Interpreted"))],
    })


def threads_and_stacks(before: int) -> bytes:
    frames = b"".join(number(method) + number(line) + number(0) + number(1) for method, line in ((1, 12), (2, 40)))
    return checkpoint(-before, {
        22: [(1, text("main") + number(43) + text("main") + number(1)), (2, text("VM Thread") + number(44) + text(None) + number(0))],
        29: [(1, b"\0" + number(2) + frames)],
        33: [(1, text("STATE_RUNNABLE"))],
        34: [(1, text("G1New"))],
        35: [(1, text("G1 Evacuation Pause"))],
    })


def events() -> bytes:
    out = event(105, at(0), text("OpenJDK 64-Bit Server VM"), text("17.0.1"), number(42))
    out += event(103, at(0), number(0), number(1), number(101), text("period"), text("20 ms"))
    for turn in range(6):
        out += event(101, at(20 * turn), number(1), number(1), number(1))
    out += event(102, at(50), lasting(9), number(3), number(1), number(1), lasting(9), lasting(9))
    out += event(104, at(50), lasting(9), number(2), number(3), text("GC Pause"))
    return out + event(106, at(70), lasting(15), number(1), number(1), number(1), number(2), number(0x7F00))


def chunk() -> bytes:
    content = methods() + events()
    last_at = HEADER.size + len(content)
    content += threads_and_stacks(len(content))
    described_at, described = HEADER.size + len(content), metadata()
    size = described_at + len(described)
    return HEADER.pack(b"FLR\0", 2, 1, size, last_at, described_at, START_NS, LENGTH_NS, START_TICKS, TICKS_PER_S, 1) + content + described


sys.stdout.buffer.write(chunk())
