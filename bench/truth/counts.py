"""Counts of many judged answers, as rows of a table, and the confidence interval of a rate of rare events."""

from collections.abc import Callable
from math import exp

from kit.figures import head, row
from truth.judge import Judged

MARKS = ["right", "open", "wrong", "acquitted", "all-clear", "refused"]
TITLES = ["set", "given", "tool", "files", "ill", "first right", "every step true", *MARKS, "time error", "steps true", "inventions per 100 healthy h"]
HOUR_S = 3600
# The probability outside the interval of a rate, on each side.
OUTSIDE = 0.025


def table(rows: list[tuple[str, str, str, list[Judged]]]) -> str:
    """Each row is a set, the given files, a tool, and its judged answers."""
    return "\n".join([head(TITLES, 3), *(row([*words, *figures(judged)]) for *words, judged in rows)])


def figures(judged: list[Judged]) -> list[object]:
    ill = [one for one in judged if one.case.state == "ill"]
    counts = [sum(mark in one.marks for one in judged) for mark in MARKS]
    errors = [one.time_error for one in ill if one.time_error is not None]
    error = f"{sum(errors) / len(errors):.2f}" if errors else ""
    first, every = sum(one.is_first_right for one in ill), sum(one.every_step for one in ill)
    steps, true_steps = sum(one.steps for one in judged), sum(one.true_steps for one in judged)
    return [len(judged), len(ill), first, every, *counts, error, f"{true_steps} of {steps}" if steps else "", inventions(judged)]


def inventions(judged: list[Judged]) -> str:
    """The rate with its 95 % interval if it is per hours, else only the count."""
    count, hours = sum(one.inventions() for one in judged), sum(one.healthy_s() for one in judged) / HOUR_S
    counted = f"{count} in {hours:.2f} h"
    if hours < 1:
        return counted if hours else ""
    low, high = (bound / hours * 100 for bound in interval(count))
    return f"{count / hours * 100:.1f}, {low:.1f} to {high:.1f} ({counted})"


def interval(count: int) -> tuple[float, float]:
    """The exact 95 % interval of the mean of a Poisson distribution, given one value."""
    low = solved(lambda mean: 1 - below_or_at(count - 1, mean), OUTSIDE) if count else 0.0
    return low, solved(lambda mean: -below_or_at(count, mean), -OUTSIDE)


def below_or_at(count: int, mean: float) -> float:
    term = total = exp(-mean)
    for number in range(1, count + 1):
        term *= mean / number
        total += term
    return total if count >= 0 else 0.0


def solved(rising: Callable[[float], float], value: float) -> float:
    """The argument at which a rising function has this value, between 0 and a mean larger than any benchmark's count."""
    low, high = 0.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return low
