"""The truth about recordings: the files of `cases/`. README.md describes their fields."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "cases"
STATES = ("ill", "healthy", "open")

# From and to, in seconds since the Unix epoch.
Interval = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """A recording and its truth."""

    id: str
    files: dict[str, str]
    questions: list[list[str]]
    state: str
    first: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    chain: list[str] | None = None
    slow: list[Interval] | None = None
    known: list[Interval] | None = None
    observed_s: float | None = None
    dose: dict | None = None
    says: str = ""
    part: str = ""
    sha256: str = ""
    source: str = ""
    licence: str = ""
    root: str = ""

    def allowed(self) -> set[str]:
        """All causes that may be named."""
        return {*self.first, *self.also, *(self.chain or [])}

    def set(self) -> str:
        return self.id.partition("/")[0]


@dataclass(frozen=True)
class Question:
    """A case, and the files of it that a tool gets."""

    case: Case
    given: tuple[str, ...]

    def key(self) -> tuple[str, str]:
        return self.case.id, "+".join(self.given)


class Broken(SystemExit):
    """A file that does not match the description in README.md."""


def load(files: Iterable[Path] = ()) -> list[Case]:
    """The cases of these files, or of all in `cases/`."""
    return [case for file in list(files) or sorted(FOLDER.glob("*.json")) for case in of_file(file)]


def of_file(file: Path) -> Iterator[Case]:
    content = json.loads(file.read_text())
    if content.get("schema") != 1:
        raise Broken(f"{file}: not of schema 1")
    for row in content["cases"]:
        source = row.get("source", content.get("source", ""))
        licence = content["licences"].get(source, "")
        case = Case(**{**row, "source": source, "licence": licence, "root": content["root"]})
        check(file, case)
        yield case


def check(file: Path, case: Case) -> None:
    """Checks that an ill recording names its cause and the others none, and that a question uses only existing files."""
    if case.state not in STATES:
        raise Broken(f"{file}: {case.id} is {case.state}, not one of {', '.join(STATES)}")
    if (case.state == "ill") != bool(case.first):
        raise Broken(f"{file}: {case.id} is {case.state} and names {len(case.first)} first causes")
    if missing := {kind for question in case.questions for kind in question} - set(case.files):
        raise Broken(f"{file}: {case.id} has no {', '.join(sorted(missing))}")


def questions(cases: Iterable[Case], reads: Iterable[str]) -> list[Question]:
    """The questions for a tool that reads these kinds of files."""
    can = set(reads)
    return [Question(case, tuple(given)) for case in cases for given in case.questions if can.issuperset(given)]
