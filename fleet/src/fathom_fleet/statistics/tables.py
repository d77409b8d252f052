"""A table of two by two: sick and healthy, with a fact and without it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from scipy import stats
from scipy.stats import contingency

CONFIDENCE = 0.95


@dataclass(frozen=True)
class TwoByTwo:
    """Counts of hosts, and the two ratios with exact intervals."""

    sick_with: int
    healthy_with: int
    sick_without: int
    healthy_without: int
    odds_ratio: float
    odds_low: float
    odds_high: float
    risk_ratio: float
    risk_low: float
    risk_high: float

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def two_by_two(sick_with: int, healthy_with: int, sick_without: int, healthy_without: int) -> TwoByTwo:
    odds = contingency.odds_ratio([[sick_with, healthy_with], [sick_without, healthy_without]])
    odds_interval = odds.confidence_interval(CONFIDENCE)
    risk, low, high = risk_ratio((sick_with, sick_with + healthy_with), (sick_without, sick_without + healthy_without))
    return TwoByTwo(
        sick_with, healthy_with, sick_without, healthy_without,
        float(odds.statistic), float(odds_interval.low), float(odds_interval.high), risk, low, high,
    )  # fmt: skip


def risk_ratio(with_fact: tuple[int, int], without: tuple[int, int]) -> tuple[float, float, float]:
    """The ratio of two shares, with an interval that holds it in at least 95 % of cases, however few the hosts.

    It divides the ends of the two shares' exact (Clopper-Pearson) intervals at 97.5 % each: wider than needed, never too narrow.
    """
    if not with_fact[1] or not without[1]:
        return float("nan"), 0.0, float("inf")
    confidence = 1 - (1 - CONFIDENCE) / 2
    above = stats.binomtest(*with_fact).proportion_ci(confidence)
    below = stats.binomtest(*without).proportion_ci(confidence)
    share_with, share_without = with_fact[0] / with_fact[1], without[0] / without[1]
    ratio = share_with / share_without if share_without else float("inf") if share_with else float("nan")
    return ratio, float(above.low / below.high), float(above.high / below.low) if below.low else float("inf")


def hosts_needed(hosts: int, facts: int, alpha: float) -> int:
    """How many sick hosts have to share a fact that no other host has, before chance among `facts` facts is excluded."""
    for sick in range(1, hosts):
        if stats.hypergeom.sf(sick - 1, hosts, sick, sick) * max(facts, 1) <= alpha:
            return sick
    return hosts
