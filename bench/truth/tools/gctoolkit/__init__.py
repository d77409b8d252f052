"""GCToolKit's parsers, and the simplest rule that turns their events into an answer: GCToolKit itself gives figures, but no verdict.

Pauses of the same causes are named if one of them takes as long as G1's default goal, or if together they take a twentieth of a log
of ten seconds or more. They are sorted by their time. Stops without a collection are doubtful: in some logs the parsers mistake the stamp of
the line for the length of the stop.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from truth.answers import Answer, Said
from truth.cases import Question
from truth.tools import java
from truth.tools.gctoolkit.table import CAUSES, KINDS, OTHER, STOPPED

HERE = Path(__file__).resolve().parent
NAME = "GCToolKit parsers"
READS = ("gc_log",)
# `MaxGCPauseMillis` of G1.
LONG_S = 0.2
# The GC overhead above which handbooks call a heap badly sized, and the minimum length of a log for a share.
PART, LOG_S = 0.05, 10.0


def version() -> str:
    return java.version(HERE)


def answers(asked: list[tuple[Question, list[Path]]]) -> Iterator[Answer]:
    return java.answers(HERE, "GcToolKitPauses", asked, answer)


def answer(case: str, given: str, line: dict) -> Answer:
    events = line.get("events", [])
    if not events:
        return Answer(case, given, refused=line.get("refused", "no event was found"))
    log_s = max(event["at"] + event["seconds"] for event in events) - min(event["at"] for event in events)
    groups = defaultdict(list)
    for event in events:
        if event.get("stops") or event.get("of_gc") is False:
            groups[tuple(causes(event))].append(event)
    large = sorted((group for group in groups.values() if is_slow(group, log_s)), key=total_s, reverse=True)
    return Answer(case, given, causes=[named(group, rank) for rank, group in enumerate(large, 1)])


def causes(event: dict) -> list[str]:
    if "cause" not in event:
        return STOPPED[0]
    return (CAUSES.get(event["cause"]) or KINDS.get(event["is"]) or OTHER)[0]


def is_slow(pauses: list[dict], log_s: float) -> bool:
    return any(event["seconds"] >= LONG_S for event in pauses) or (log_s >= LOG_S and total_s(pauses) >= PART * log_s)


def total_s(pauses: list[dict]) -> float:
    return sum(event["seconds"] for event in pauses)


def named(pauses: list[dict], rank: int) -> Said:
    own = f"{pauses[0].get('cause') or pauses[0]['is']} {total_s(pauses):.1f} s"
    return Said(causes(pauses[0]), "likely", rank, own=own, doubtful="cause" not in pauses[0])
