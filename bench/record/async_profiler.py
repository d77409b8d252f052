"""Profiles a JVM with async-profiler alone: loads the agent, waits, stops it."""

import subprocess
import sys
import time


def main(jcmd: str, library: str, pid: str, seconds: str, file: str) -> None:
    tell(jcmd, pid, library, f"start,event=cpu,interval=10ms,jfr,file={file}")
    time.sleep(float(seconds))
    tell(jcmd, pid, library, f"stop,file={file}")


def tell(jcmd: str, pid: str, library: str, command: str) -> None:
    subprocess.run([jcmd, pid, "JVMTI.agent_load", library, command], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*sys.argv[1:])
