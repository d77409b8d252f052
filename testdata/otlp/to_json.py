"""Writes a profile of OpenTelemetry as JSON, by its own classes: to_json.py FILE.pb.gz."""

import gzip
import sys

from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData

data = ProfilesData()
data.ParseFromString(gzip.open(sys.argv[1]).read())
print(MessageToJson(data, indent=None))
