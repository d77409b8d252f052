"""Writes what `perf script` prints as a trace of Perfetto, by Perfetto's own classes (PyPI perfetto 0.59.1).

Perfetto's recorder is in no package registry; this has the packets that its data source linux.perf writes.
Usage: make_perfetto.py PERF_SCRIPT_TEXT OUT, on the machine and since the boot of the recording.
"""

import re
import sys
import time

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

FREQUENCY, SEQUENCE = 49, 3
HEADING = re.compile(r"^(.*?)\s+(\d+)/(\d+)\s+([\d.]+):\s+\d+ cpu-clock")
FRAME = re.compile(r"^\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$")


def snapshot(trace):
    clocks = trace.packet.add(trusted_packet_sequence_id=1).clock_snapshot
    for number, clock in ((1, time.CLOCK_REALTIME), (3, time.CLOCK_MONOTONIC), (6, time.CLOCK_BOOTTIME)):
        clocks.clocks.add(clock_id=number, timestamp=time.clock_gettime_ns(clock))
    clocks.primary_trace_clock = 6


def samples(text):
    heading, frames = None, []
    for line in text.splitlines() + [""]:
        if found := HEADING.match(line):
            heading = found.groups()
        elif found := FRAME.match(line):
            frames.append(found.groups())
        elif heading:
            yield heading, tuple(reversed(frames))
            heading, frames = None, []


def main():
    trace, known = schema.Trace(), {}
    snapshot(trace)
    first = trace.packet.add(trusted_packet_sequence_id=SEQUENCE, sequence_flags=1, first_packet_on_sequence=True)
    first.trace_packet_defaults.timestamp_clock_id = 3
    timebase = first.trace_packet_defaults.perf_sample_defaults.timebase
    timebase.frequency, timebase.counter = FREQUENCY, 1
    threads = {}
    for (name, pid, tid, at), frames in samples(open(sys.argv[1]).read()):
        threads[int(tid)] = (int(pid), name.strip())
        seconds, fraction = at.split(".")
        packet = trace.packet.add(trusted_packet_sequence_id=SEQUENCE, sequence_flags=2)
        packet.timestamp = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
        data = packet.interned_data

        def number(kind, key, add):
            if (kind, key) not in known:
                known[kind, key] = len(known) + 1
                add(known[kind, key])
            return known[kind, key]

        def frame(symbol, path):
            path = "/kernel" if path.startswith("[kernel") else path
            of = number("name", symbol, lambda iid: data.function_names.add(iid=iid, str=symbol.encode()))
            parts = [part for part in path.split("/") if part]
            ids = [number("path", part, lambda iid: data.mapping_paths.add(iid=iid, str=part.encode())) for part in parts]
            mapping = number("mapping", path, lambda iid: data.mappings.add(iid=iid, path_string_ids=ids))
            add = lambda iid: data.frames.add(iid=iid, function_name_id=of, mapping_id=mapping)
            return number("frame", (symbol, path), add)

        ids = [frame(*one) for one in frames]
        stack = number("stack", frames, lambda iid: data.callstacks.add(iid=iid, frame_ids=ids))
        sample = packet.perf_sample
        sample.cpu, sample.pid, sample.tid, sample.callstack_iid = 0, int(pid), int(tid), stack
    tree = trace.packet.add(trusted_packet_sequence_id=2).process_tree
    for tid, (pid, name) in threads.items():
        tree.threads.add(tid=tid, tgid=pid, name=name)
    with open(sys.argv[2], "wb") as file:
        file.write(trace.SerializeToString())


main()
