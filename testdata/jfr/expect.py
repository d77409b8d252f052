#!/usr/bin/env python3
"""Writes what the JDK's own tool says about each recording here, for the reader's tests to compare with.

Usage: expect.py JFR_TOOL [NAME...]     (JFR_TOOL: the `jfr` of JDK 25, which reads all of them)

NAME.expected.json holds the number of events of each type, totals of some of them, and a few events in
full, put into the words of the evidence tables by the functions below.
"""
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from datetime import datetime

HERE = pathlib.Path(__file__).parent
# Recordings whose last chunk the JDK's tool does not read.
UNREADABLE = {"ap_killed", "jdk25_live"}


def run(tool, *arguments):
    return subprocess.run([tool, *arguments], check=True, capture_output=True, text=True).stdout


def counts(summary):
    rows = re.findall(r"^ (\S+)\s+(\d+)\s+\d+ *$", summary, re.M)
    return {name: int(count) for name, count in rows if int(count) and name not in ("jdk.Metadata", "jdk.Checkpoint", "jdk.CheckPoint")}


def time_ns(text):
    match = re.fullmatch(r"(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text)
    seconds = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00")).timestamp()
    return int(seconds) * 10**9 + int((match[2] or "0").ljust(9, "0"))


def span_ns(text):
    match = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?", text)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 10**9 + int((match[4] or "0").ljust(9, "0"))


def method(value):
    return f"{value['type']['name'].replace('/', '.')}.{value['name']}"


def class_name(value):
    return value["name"].replace("/", ".") if value else ""


def thread(value):
    return (value or {}).get("javaName") or (value or {}).get("osName")


def frames(value):
    """Leaf first: method and kind of frame."""
    return [[method(f["method"]), f["type"]] for f in value["stackTrace"]["frames"]] if value.get("stackTrace") else []


def positive(value):
    return value if value and value > 0 else None


# The evidence that one event must give: name of the span and detail.
SPANS = {
    "jdk.Compilation": lambda e: (method(e["method"]), {
        "compile_id": e["compileId"], "compiler": e.get("compiler"), "level": e["compileLevel"], "osr": e["isOsr"],
        "code_bytes": e["codeSize"], "inlined_bytes": e["inlinedBytes"], "succeeded": e["succeded"]}),
    "jdk.Deoptimization": lambda e: (method(e["method"]), {
        "reason": e["reason"], "action": e["action"], "compile_id": e["compileId"]}),
    "jdk.JavaMonitorEnter": lambda e: (class_name(e["monitorClass"]), {
        "previous_owner": (e.get("previousOwner") or {}).get("javaName"), "address": e["address"]}),
    "jdk.JavaMonitorWait": lambda e: (class_name(e["monitorClass"]), {
        "timeout_ns": positive(span_ns(e["timeout"])), "timed_out": e["timedOut"], "address": e["address"]}),
    "jdk.FileWrite": lambda e: (e["path"], {"bytes": e["bytesWritten"]}),
    "jdk.SocketRead": lambda e: (f"{e['host'] or e['address']}:{e['port']}", {
        "bytes": e["bytesRead"], "host": e["host"] or None, "port": e["port"], "timeout_ns": positive(span_ns(e["timeout"]))}),
    "jdk.ExecuteVMOperation": lambda e: (e["operation"], {
        "safepoint": e["safepoint"], "safepoint_id": e.get("safepointId"), "caller": thread(e.get("caller"))}),
    "jdk.CodeCacheFull": lambda e: ("" if e["codeBlobType"] == "Unused" else e["codeBlobType"], {
        "used_bytes": e["reservedTopAddress"] - e["startAddress"] - e["unallocatedCapacity"],
        "reserved_bytes": e["reservedTopAddress"] - e["startAddress"], "full_count": e["fullCount"]}),
    "jdk.SweepCodeCache": lambda e: ("", {
        "swept": e["sweptCount"], "flushed": e["flushedCount"], "zombified": e["zombifiedCount"]}),
    "jdk.ZPageAllocation": lambda e: (e["type"], {"bytes": e["size"]}),
}
SAMPLES = ["jdk.ExecutionSample", "profiler.WallClockSample", "jdk.CPUTimeSample"]
# Events whose durations are added up.
LASTING = ["jdk.GCPhasePause", "jdk.GarbageCollection", "jdk.SafepointBegin", "jdk.ThreadPark", "jdk.ThreadSleep",
           "jdk.ZYoungGarbageCollection", "jdk.SafepointLatency", *SPANS]
GC_FIELDS = {"jdk.GarbageCollection": lambda e: [e["gcId"], e["name"], e["cause"], span_ns(e["sumOfPauses"]), span_ns(e["longestPause"])]}


def without_nothing(detail):
    return {key: value for key, value in detail.items() if value is not None}


def expected(tool, path):
    found = {"counts": counts(run(tool, "summary", path)), "totals": {}, "spans": {}, "samples": {}, "collections": []}
    wanted = [name for name in {*LASTING, *SAMPLES, *GC_FIELDS} if name in found["counts"]]
    text = run(tool, "print", "--json", "--stack-depth", "2048", "--events", ",".join(wanted), path) if wanted else ""
    events = {}
    for event in json.loads(text)["recording"]["events"] if text else []:
        events.setdefault(event["type"], []).append(event["values"])
    for name, values in sorted(events.items()):
        starts = [time_ns(value["startTime"]) for value in values]
        total = sum(span_ns(value.get("duration", "PT0S")) for value in values)
        found["totals"][name] = {"first_ns": min(starts), "last_ns": max(starts), "duration_ns": total}
        at = {start: value for start, value in zip(starts, values) if starts.count(start) == 1}
        some = sorted(at)[:: max(1, len(at) // 3)][:3]
        if name in SPANS:
            rows = [(start, *SPANS[name](at[start])) for start in some]
            found["spans"][name] = [{"time_ns": t, "name": n, "detail": without_nothing(d)} for t, n, d in rows]
        if name in SAMPLES:
            found["samples"][name] = [{"time_ns": t, "frames": frames(at[t])} for t in some]
        if name in GC_FIELDS:
            found["collections"] = [GC_FIELDS[name](value) for value in values]
    return found


def main():
    tool, names = sys.argv[1], sys.argv[2:]
    for path in sorted([*HERE.glob("*.jfr"), *HERE.glob("*.jfr.gz")]):
        name = path.name.split(".")[0]
        if name in UNREADABLE or (names and name not in names):
            continue
        with tempfile.NamedTemporaryFile(suffix=".jfr") as plain:
            plain.write(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
            plain.flush()
            text = json.dumps(expected(tool, plain.name), indent=1, ensure_ascii=False)
        # One line for each innermost list or object.
        text = re.sub(r"\{\s+([^{}\[\]]*?)\s+\}", lambda m: "{" + re.sub(r"\s*\n\s*", " ", m[1]) + "}", text)
        text = re.sub(r"\[\s+([^{}\[\]]*?)\s+\]", lambda m: "[" + re.sub(r"\s*\n\s*", " ", m[1]) + "]", text)
        (HERE / f"{name}.expected.json").write_text(text + "\n")


main()
