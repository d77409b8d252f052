"""Figures as in tables: a mean with its error, a median with its confidence interval, and the rows of those tables."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import comb

# Two-sided quantiles of Student's t for 95 %, by degrees of freedom (the number of values less one).
T_95 = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
]  # fmt: skip
# The range of five values has a confidence of 94 %: no interval by rank has more.
MEDIAN_CHANCE_MIN = 0.93


def mean_with_error(values: Sequence[float], form: str = ".2f") -> str:
    """The mean with the half width of its 95 % confidence interval (Student's t)."""
    half = T_95[len(values) - 2] * statistics.stdev(values) / len(values) ** 0.5
    return f"{statistics.mean(values):{form}} ± {half:{form}}"


def median_with_interval(values: Iterable[float], written: Callable[[float], str]) -> str:
    """The median and the narrowest interval between two of the values that has a confidence of 93 % or more."""
    ordered = sorted(values)
    rank = rank_of_interval(len(ordered))
    return f"{written(statistics.median(ordered))} ({written(ordered[rank])} to {written(ordered[-1 - rank])})"


def rank_of_interval(count: int) -> int:
    """How many values the interval of the median leaves out on each side."""
    chances = accumulate(comb(count, rank) / 2**count for rank in range(count // 2))
    return max((rank for rank, outside in enumerate(chances) if 1 - 2 * outside >= MEDIAN_CHANCE_MIN), default=0)


def row(cells: Iterable[object]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def head(titles: Sequence[str], words: int = 1) -> str:
    """The head of a Markdown table. The first `words` columns are text, the others are figures."""
    return f"{row(titles)}\n|{'---|' * words}{'--:|' * (len(titles) - words)}"
