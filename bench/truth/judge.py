"""Compares one answer with the truth. README.md says what each count means."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from truth.answers import NAMES, Answer, Said
from truth.cases import Case, Interval


@dataclass(frozen=True)
class Judged:
    case: Case
    answer: Answer
    named: list[Said]
    # `right`, or what is wrong: several may apply.
    marks: list[str]
    is_first_right: bool
    every_step: bool
    steps: int
    true_steps: int
    time_error: float | None
    wrongs: list[str] = field(default_factory=list)

    def inventions(self) -> int:
        return len(self.wrongs) if self.case.state == "healthy" else 0

    def healthy_s(self) -> float:
        return (self.case.observed_s or 0.0) if self.case.state == "healthy" and self.answer.refused is None else 0.0


def judged(case: Case, answer: Answer, names: Collection[str] = NAMES) -> Judged:
    """Judges by causes with these verdicts; others do not count as named."""
    allowed = case.allowed()
    named = [said for said in answer.named(names) if not said.doubtful or allowed.intersection(said.ids)]
    first_right = is_first_right(case, named)
    wrongs = ["/".join(said.ids) for said in named if not allowed.intersection(said.ids)]
    steps = [[said.ids, *([id] for id in said.chain)] for said in named]
    flat = [ids for one in steps for ids in one]
    true_steps = sum(bool(allowed.intersection(ids)) for ids in flat)
    every_step = first_right and true_steps == len(flat) and has_chain(case, named)
    marks = marks_of(case, answer, named, wrongs)
    error = time_error(case, answer) if case.state == "ill" else None
    return Judged(case, answer, named, marks, first_right, every_step, len(flat), true_steps, error, wrongs)


def marks_of(case: Case, answer: Answer, named: list[Said], wrongs: list[str]) -> list[str]:
    if answer.refused is not None:
        return ["refused"]
    out, marks, is_ill = answer.ruled_out(), [], case.state == "ill"
    if wrongs or (is_ill and named and not is_first_right(case, named)):
        marks.append("wrong")
    if (is_ill and out.issuperset(case.first)) or out.intersection(case.keep):
        marks.append("acquitted")
    if answer.all_clear and case.state != "healthy":
        marks.append("all-clear")
    return marks or ["open" if is_ill and not named else "right"]


def is_first_right(case: Case, named: list[Said]) -> bool:
    """Whether a true cause is named first. If several share the first rank, one of them suffices."""
    return any(set(said.ids).intersection(case.first) for said in named if said.rank == named[0].rank)


def has_chain(case: Case, named: list[Said]) -> bool:
    """Whether a cause that is correctly named first has the chain of the truth."""
    return case.chain is None or any(said.chain == case.chain for said in named if set(said.ids).intersection(case.first))


def time_error(case: Case, answer: Answer) -> float | None:
    """The part of the slow time (reported or true) on which answer and truth differ, within the time of the known truth."""
    if case.slow is None or answer.slow is None:
        return None
    known = case.known or [(float("-inf"), float("inf"))]
    said, true = both(answer.slow, known), both(case.slow, known)
    shared = length(both(said, true))
    either = length(said) + length(true) - shared
    return 1.0 - shared / either if either else 0.0


def both(some: Iterable[Interval], others: Iterable[Interval]) -> list[Interval]:
    others = list(others)
    pairs = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return merged((start, end) for start, end in pairs if start < end)


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    out: list[Interval] = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def length(intervals: Iterable[Interval]) -> float:
    return sum(end - start for start, end in intervals)
