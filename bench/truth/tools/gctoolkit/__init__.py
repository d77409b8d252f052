"""GCToolKit's parsers, and the simplest rule that turns what they find into an answer: GCToolKit itself gives figures and no verdict.

A log is slow if a pause takes as long as G1's default goal, or if pauses take a twentieth of a log of ten seconds or more. Then
the causes of the pauses are named in order of their time, from a tenth of it on.
"""

from collections import Counter
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
# The overhead of collections from which handbooks call a heap badly sized, and a log long enough for a share.
PART, LOG_S = 0.05, 10.0
NAMED_FROM = 0.1


def version() -> str:
    return java.version(HERE)


def answers(asked: list[tuple[Question, list[Path]]]) -> Iterator[Answer]:
    said = java.lines(HERE, "GcToolKitPauses", [file for _, [file] in asked])
    for (question, _), line in zip(asked, said, strict=True):
        yield answer(*question.key(), line)


def answer(case: str, given: str, line: dict) -> Answer:
    events = line.get("events", [])
    pauses = [event for event in events if event.get("stops") or event.get("of_gc") is False]
    if not events:
        return Answer(case, given, refused=line.get("refused", "no event was found"))
    return Answer(case, given, causes=named(pauses) if is_slow(events, pauses) else [])


def is_slow(events: list[dict], pauses: list[dict]) -> bool:
    log_s = max(event["at"] + event["seconds"] for event in events) - min(event["at"] for event in events)
    total_s = sum(event["seconds"] for event in pauses)
    return any(event["seconds"] >= LONG_S for event in pauses) or (log_s >= LOG_S and total_s >= PART * log_s)


def named(pauses: list[dict]) -> list[Said]:
    by_causes: Counter[tuple[str, ...]] = Counter()
    own: dict[tuple[str, ...], str] = {}
    for event in pauses:
        ids = tuple(causes(event))
        by_causes[ids] += event["seconds"]
        own.setdefault(ids, event.get("cause") or event["is"])
    total_s = by_causes.total()
    large = [(ids, seconds / total_s) for ids, seconds in by_causes.most_common() if seconds >= NAMED_FROM * total_s]
    return [Said(list(ids), "likely", rank, round(share, 4), own=own[ids]) for rank, (ids, share) in enumerate(large, 1)]


def causes(event: dict) -> list[str]:
    if "cause" not in event:
        return STOPPED[0]
    return (CAUSES.get(event["cause"]) or KINDS.get(event["is"]) or OTHER)[0]
