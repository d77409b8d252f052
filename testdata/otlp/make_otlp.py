"""Samples a program's threads and writes them as OpenTelemetry's own classes do (PyPI opentelemetry-proto 1.45.2).

There is no released tool that writes such files: profilers send them to a collector.
"""

import os
import random
import sys
import threading
import time

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.profiles.v1development import profiles_pb2

PERIOD_NS = 20_000_000


def sort(until):
    while time.monotonic() < until:
        sorted(random.random() for _ in range(2_000))


def join(until):
    while time.monotonic() < until:
        "".join(str(value) for value in range(2_000))


class Table:
    """Entries of the dictionary, the first of which is empty."""

    def __init__(self, entries, empty):
        self.entries, self.known = entries, {}
        entries.append(empty)

    def place(self, key, make):
        if key not in self.known:
            entry = make()
            self.known[key] = len(self.entries)
            self.entries.append(entry)
        return self.known[key]


def main():
    data = profiles_pb2.ProfilesData()
    words = data.dictionary
    words.link_table.add(), words.mapping_table.add()
    strings = Table(words.string_table, "")
    functions = Table(words.function_table, profiles_pb2.Function())
    locations = Table(words.location_table, profiles_pb2.Location())
    stacks = Table(words.stack_table, profiles_pb2.Stack())
    attributes = Table(words.attribute_table, profiles_pb2.KeyValueAndUnit())

    def text(value):
        return strings.place(value, lambda: value)

    def attribute(key, value):
        of = AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
        return attributes.place((key, value), lambda: profiles_pb2.KeyValueAndUnit(key_strindex=text(key), value=of))

    def location(code, line):
        name, file = code.co_qualname, os.path.basename(code.co_filename)
        make = lambda: profiles_pb2.Function(name_strindex=text(name), filename_strindex=text(file))
        function = functions.place((name, file), make)
        of_line = profiles_pb2.Line(function_index=function, line=line)
        kind = attribute("profile.frame.type", "cpython")
        return locations.place(
            (function, line), lambda: profiles_pb2.Location(lines=[of_line], attribute_indices=[kind])
        )

    resource = data.resource_profiles.add()
    resource.resource.attributes.append(KeyValue(key="process.pid", value=AnyValue(int_value=os.getpid())))
    profile = resource.scope_profiles.add().profiles.add()
    profile.sample_type.CopyFrom(profiles_pb2.ValueType(type_strindex=text("samples"), unit_strindex=text("count")))
    profile.period_type.CopyFrom(profiles_pb2.ValueType(type_strindex=text("cpu"), unit_strindex=text("nanoseconds")))
    profile.period, profile.time_unix_nano = PERIOD_NS, time.time_ns()
    until = time.monotonic() + 2
    threads = [threading.Thread(target=of, args=(until,), name=of.__name__) for of in (sort, join)]
    for thread in threads:
        thread.start()
    samples = {}
    while time.monotonic() < until:
        time.sleep(PERIOD_NS / 1e9)
        now = time.time_ns()
        for thread in threads:
            frame, places = sys._current_frames().get(thread.ident), []
            while frame:
                places.append(location(frame.f_code, frame.f_lineno))
                frame = frame.f_back
            key = (thread.native_id, tuple(places))
            if key not in samples:
                stack = stacks.place(key[1], lambda: profiles_pb2.Stack(location_indices=places))
                of = [attribute("thread.id", thread.native_id), attribute("thread.name", thread.name)]
                samples[key] = profile.samples.add(stack_index=stack, attribute_indices=of)
            samples[key].values.append(1)
            samples[key].timestamps_unix_nano.append(now)
    profile.duration_nano = time.time_ns() - profile.time_unix_nano
    with open(sys.argv[1], "wb") as file:
        file.write(data.SerializeToString())
    print(len(profile.samples), sum(len(sample.values) for sample in profile.samples))


main()
