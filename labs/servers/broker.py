"""A Kafka broker (KRaft, one node) on loopback."""

import subprocess

from recorded import NEIGHBOUR_JVM, Processes, free_port

# The id of a one-node cluster; any name of this form is valid.
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"


def start_broker(around: Processes, port: int, jvm: list[str], more: dict[str, object]) -> subprocess.Popen:
    """A broker that listens on `port`, with `more` settings than it needs."""
    controller = free_port()
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": around.folder / "data",
        "offsets.topic.replication.factor": 1,
    }
    (around.folder / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in (settings | more).items()))
    if around.java("format", ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", "server.properties"], NEIGHBOUR_JVM).wait():
        raise SystemExit(f"no storage: {(around.folder / 'format.log').read_text()[-600:]}")
    return around.java("broker", ["kafka.Kafka", "server.properties"], jvm)
