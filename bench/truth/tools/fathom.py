"""Fathom, from `fathom explain --json`."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kit.places import program
from truth.answers import Answer, Said
from truth.cases import Question

NAME = "Fathom"
READS = ("jfr", "gc_log", "latency", "thread_dump")
TIMEOUT_S = 120
NS = 1e9


def version() -> str:
    said = subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout
    return said.strip().removeprefix("fathom ")


def answers(asked: list[tuple[Question, list[Path]]]) -> Iterator[Answer]:
    for question, files in asked:
        case, given = question.key()
        done = subprocess.run([program(), "explain", "--json", *files], capture_output=True, text=True, timeout=TIMEOUT_S)
        if done.returncode:
            yield Answer(case, given, refused=refusal(done.stderr, files))
        else:
            yield answer(case, given, json.loads(done.stdout))


def refusal(said: str, files: list[Path]) -> str:
    """Its last line, without the paths of files, which differ between machines."""
    last = (said.strip().splitlines() or ["ended without a word"])[-1]
    for file in files:
        last = last.replace(str(file), file.name)
    return last


def answer(case: str, given: str, said: dict) -> Answer:
    """Of several JVMs all are judged together."""
    each = said.get("explanations", [said])
    slow = [(one["from_ns"] / NS, one["to_ns"] / NS) for jvm in each for one in jvm["slow"]]
    causes = [cause for jvm in each for cause in jvm["causes"]]
    return Answer(case, given, all_clear=all(map(is_all_clear, each)), slow=slow, causes=[*named(causes), *ruled_out(causes)])


def is_all_clear(said: dict) -> bool:
    headline = said["headline"]
    return headline["kind"] == "nothing_slow" and not headline["but"] and not said["slow"]


def named(causes: list[dict]) -> Iterator[Said]:
    seen = [cause for cause in causes if cause["verdict"] in ("shown", "likely", "possible")]
    for rank, cause in enumerate(seen, 1):
        yield Said([cause["id"]], cause["verdict"], rank, round(cause["share"], 4), cause["chain"])


def ruled_out(causes: list[dict]) -> list[Said]:
    ids = [cause["id"] for cause in causes if cause["verdict"] == "ruled_out"]
    return [Said(ids, "ruled_out", len(causes) + 1)] if ids else []
