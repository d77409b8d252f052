"""The answers of tools, in the format in which they are judged. README.md describes it."""

import gzip
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path

from truth.cases import Broken, Interval

NAMES = ("shown", "likely")
VERDICTS = (*NAMES, "possible", "not_enough", "ruled_out")

# An observed cause with a smaller share of the lost time is described, not accused (as in crates/fathom/tests/truth/score.rs).
# A share of 0 is harm other than lost time.
ACCUSED_FROM = 0.03


@dataclass(frozen=True)
class Said:
    """A tool's verdict on one cause. `ids` has several if its term covers several of ours, or if it excludes them all.

    A `doubtful` one counts if it is right and is ignored if it is wrong: it is unknown whether the tool means it as a cause.
    """

    ids: list[str]
    verdict: str
    rank: int
    share: float | None = None
    chain: list[str] = field(default_factory=list)
    own: str = ""
    doubtful: bool = False

    def is_named(self, names: Collection[str]) -> bool:
        return self.verdict in names and (not self.share or self.share >= ACCUSED_FROM)


@dataclass(frozen=True)
class Answer:
    case: str
    given: str
    refused: str | None = None
    all_clear: bool = False
    slow: list[Interval] | None = None
    causes: list[Said] = field(default_factory=list)

    def named(self, names: Collection[str] = NAMES) -> list[Said]:
        """The causes that count as named, the most important first."""
        return sorted((said for said in self.causes if said.is_named(names)), key=lambda said: said.rank)

    def ruled_out(self) -> set[str]:
        return {id for said in self.causes if said.verdict == "ruled_out" for id in said.ids}


@dataclass(frozen=True)
class Answers:
    tool: str
    version: str
    date: str
    answers: list[Answer]


def load(file: Path) -> Answers:
    data = file.read_bytes()
    content = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)
    if content.get("schema") != 1:
        raise Broken(f"{file}: not of schema 1")
    return Answers(content["tool"], content["version"], content["date"], [answer(file, row) for row in content["answers"]])


def answer(file: Path, row: dict) -> Answer:
    causes = [Said(**{"rank": place, **said}) for place, said in enumerate(row.get("causes", []), 1)]
    if unknown := {said.verdict for said in causes} - set(VERDICTS):
        raise Broken(f"{file}: {row['case']} has the verdict {', '.join(sorted(unknown))}, not one of {', '.join(VERDICTS)}")
    return Answer(**{**row, "causes": causes})


def write(file: Path, answers: Answers) -> None:
    """One answer per line, so that the difference of two runs is readable. Compressed if the file's name ends accordingly."""
    head = json.dumps({"schema": 1, "tool": answers.tool, "version": answers.version, "date": answers.date})
    rows = ",\n".join(json.dumps(bare(asdict(answer))) for answer in answers.answers)
    data = f'{head[:-1]}, "answers": [\n{rows}\n]}}\n'.encode()
    file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)


def bare(row: dict) -> dict:
    """Leaves out empty entries. An empty list of slow times means that nothing was slow."""
    kept = {name: value for name, value in row.items() if (name == "slow" and value is not None) or value}
    if "causes" in kept:
        kept["causes"] = [bare(said) for said in kept["causes"]]
    return kept
