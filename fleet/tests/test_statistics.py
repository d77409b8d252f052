"""The statistics, against what they promise."""

import numpy as np
import pytest
from scipy import stats

from fathom_fleet.statistics.levels import p_of
from fathom_fleet.statistics.separation import separate, spread, z_of
from fathom_fleet.statistics.standing import normal_scores, robust_z
from fathom_fleet.statistics.step import step
from fathom_fleet.statistics.tables import hosts_needed, two_by_two
from fathom_fleet.statistics.tails import chance
from fathom_fleet.statistics.turns import scan, turns


def noise(hosts: int, slots: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    drift = random.standard_t(3, (hosts, 1))
    return random.normal(0, 1, (hosts, slots)) + drift + np.linspace(0, 1, slots) * random.normal(0, 1, (hosts, 1))


def test_a_turn_is_found_with_its_begin_and_size() -> None:
    matrix = noise(300, 24, 1)
    matrix[7, 10:] += 15
    found = turns(matrix)
    assert np.argmin(found.p) == 7
    assert found.p[7] < 1e-6
    assert (found.begin[7], found.end[7]) == (10, 24)
    assert found.effect[7] == pytest.approx(15, abs=3)


def test_healthy_hosts_get_honest_chances() -> None:
    p = np.concatenate([turns(noise(300, 24, seed)).p for seed in range(5)])
    assert 0.02 < np.mean(p < 0.05) < 0.09


def test_what_is_not_measured_is_no_turn() -> None:
    matrix = noise(50, 24, 1)
    matrix[0], matrix[1, 4:], matrix[2, ::2] = np.nan, np.nan, np.nan
    score, effect, begin, _ = scan(matrix)
    assert np.isnan(score[:2]).all() and np.isnan(effect[:2]).all() and begin[0] == -1
    assert not np.isnan(score[2])
    assert np.isnan(turns(matrix[:10]).p).all(), "ten hosts are no null distribution"


def test_spread_is_that_of_shuffling() -> None:
    random = np.random.default_rng(1)
    roles = np.repeat(["a", "b", "c"], [50, 30, 5])
    scores = normal_scores(random.normal(size=(85, 1)), roles)
    held = random.random((85, 4)) < 0.3
    sums = []
    for _ in range(4000):
        order = np.concatenate([random.permutation(np.flatnonzero(roles == role)) for role in "abc"])
        sums.append(held.T @ scores[order, 0])
    assert spread(held, scores, roles)[:, 0] == pytest.approx(np.std(sums, axis=0), rel=0.05)


def test_a_fact_that_follows_the_role_says_nothing() -> None:
    roles = np.repeat(["a", "b"], 20)
    scores = np.where(roles == "a", 5.0, 0.0)[:, None] + np.random.default_rng(1).normal(size=(40, 1))
    held = (roles == "a")[:, None]
    assert separate(held, scores, roles, 0.05).q[0, 0] == 1.0
    assert z_of(held, normal_scores(scores, roles), roles)[0, 0] == 0.0


def test_tried_facts_are_paid_for() -> None:
    random = np.random.default_rng(3)
    alarms = 0
    for _ in range(20):
        held = random.random((200, 150)) < random.random(150) ** 2
        alarms += bool((separate(held, random.standard_t(3, (200, 2)), np.repeat("a", 200), 0.05).q <= 0.05).any())
    assert alarms <= 4, "nominal: one of 20"


def test_exact_intervals() -> None:
    table = two_by_two(8, 2, 1, 9)
    fisher = stats.fisher_exact([[8, 2], [1, 9]], alternative="two-sided")
    assert (table.odds_low > 1) == (fisher.pvalue < 0.05)
    assert table.odds_low < table.odds_ratio < table.odds_high
    assert table.risk_ratio == pytest.approx(8)
    assert table.risk_low < 8 < table.risk_high
    none = two_by_two(0, 5, 0, 5)
    assert none.risk_low == 0 and none.risk_high == float("inf")


def test_the_interval_of_the_risk_ratio_holds_it() -> None:
    random = np.random.default_rng(5)
    inside = 0
    for _ in range(300):
        a, b = random.binomial(12, 0.5), random.binomial(40, 0.2)
        table = two_by_two(a, 12 - a, b, 40 - b)
        inside += table.risk_low <= 2.5 <= table.risk_high
    assert inside >= 285


def test_one_host_among_2000_facts_is_not_enough() -> None:
    assert hosts_needed(1000, 2000, 0.05) == 2
    assert hosts_needed(1000, 1, 0.05) == 1


def test_a_step_has_an_interval() -> None:
    random = np.random.default_rng(2)
    held = 0
    for _ in range(100):
        values = np.zeros(360)
        for at in range(1, 360):
            values[at] = 0.8 * values[at - 1] + random.normal(0, 0.06)
        values[200:] += 0.4
        found = step(np.arange(360), values)
        assert found is not None
        held += found.earliest <= 200 <= found.latest
    assert held >= 85
    assert step(np.arange(15), np.zeros(15)) is None


def test_spreads_of_small_roles_are_drawn_to_those_of_all() -> None:
    random = np.random.default_rng(4)
    alike = np.repeat([f"r{at}" for at in range(40)], 8)
    z = robust_z(random.normal(size=320), alike)
    assert np.abs(z).max() < 5, "no role looks calm by chance"
    different = np.repeat(["calm", "wild", "wilder"], 100)
    scale = np.repeat([1.0, 10.0, 100.0], 100)
    found = robust_z(random.normal(size=300) * scale, different)
    assert [found[at : at + 100].std() for at in (0, 100, 200)] == pytest.approx([1, 1, 1], rel=0.3)
    assert np.isnan(robust_z(np.zeros(20), np.repeat("a", 20))).all()


def test_tails_reach_beyond_what_was_seen() -> None:
    random = np.random.default_rng(8)
    null = random.gumbel(size=1000)
    p = chance(np.array([0.0, 4.0, 9.0, 12.0, np.nan]), null)
    assert p[:2] == pytest.approx(stats.gumbel_r.sf([0.0, 4.0]), rel=0.3)
    assert 1e-5 < p[2] < 1e-3 and 1e-7 < p[3] < 1e-4 and np.isnan(p[4])
    few = chance(np.array([9.0]), null[:20])
    assert few[0] > p[2], "few hosts are less sure"
    assert chance(np.array([5.0]), np.array([0.0] * 30)) == pytest.approx(1 / 31), (
        "nothing was seen that could be extrapolated"
    )


def test_tails_are_learned_from_the_better_half() -> None:
    random = np.random.default_rng(6)
    z = random.normal(size=1000)
    z[:5] = 7.0
    assert (p_of(z)[:5] < 1e-5).all(), "the sick ones do not make the tails heavy"
    heavy = random.standard_t(3, 1000)
    assert p_of(heavy).min() > 1e-5
    assert p_of(z[:50])[0] == pytest.approx(stats.t.sf(7, 5)), "too few hosts to learn from"
    assert np.isnan(p_of(np.array([np.nan]))).all()
