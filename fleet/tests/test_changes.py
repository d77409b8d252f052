"""Rollouts and incidents."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fathom_fleet as ff
from fathom_fleet.simulator.world import FIRST_MINUTE, World
from fathom_fleet.statistics.differences import difference

HOSTS = 24
MINUTES = 600
DEPLOY = 300


def fleet_of(effect: float, treated: int, common: float = 0.0, facts: pd.DataFrame | None = None) -> ff.Fleet:
    """Hosts of one role; `treated` of them change by `effect`, and all of them by `common` at the same time."""
    random = np.random.default_rng(4)
    logs = random.normal(0, 0.1, (HOSTS, MINUTES)) + random.normal(0, 0.1, (HOSTS, 1))
    logs[:, DEPLOY:] += math.log1p(common)
    logs[:treated, DEPLOY:] += math.log1p(effect)
    minutes = pd.DataFrame({
        "time_ns": np.tile((FIRST_MINUTE + np.arange(MINUTES)) * 60_000_000_000, HOSTS),
        "host": np.repeat([f"h{host}" for host in range(HOSTS)], MINUTES), "service": "shop", "cpu_cores": np.exp(logs).ravel(),
    })  # fmt: skip
    engine = ff.connect()
    table = engine.connection.create_table("minutes", pa.Table.from_pandas(minutes, preserve_index=False))
    known = (
        None
        if facts is None
        else engine.connection.create_table("facts", pa.Table.from_pandas(facts, preserve_index=False))
    )
    return ff.of_tables(engine, table, known)


def deploy(hosts: int) -> pd.DataFrame:
    """A fact that changes on some hosts."""
    at = [(FIRST_MINUTE, "1"), (FIRST_MINUTE + DEPLOY, "2")]
    rows = [
        (f"h{host}", "label:version", value, minute)
        for host in range(HOSTS)
        for minute, value in at[: 2 if host < hosts else 1]
    ]
    frame = pd.DataFrame(rows, columns=["host", "fact", "value", "minute"])
    return frame.assign(time_ns=frame["minute"] * 60_000_000_000).drop(columns="minute")


def test_a_deploy_is_told_from_what_all_hosts_did() -> None:
    fleet = fleet_of(0.2, 8, common=0.5, facts=deploy(8))
    row = ff.rollout(fleet, fact="label:version").rows.iloc[0]
    assert row["treated"] == 8 and row["control"] == 16
    assert row["low"] < math.log(1.2) < row["high"]
    assert row["q"] < 0.001
    nothing = ff.rollout(fleet_of(0.0, 8, common=0.5, facts=deploy(8)), fact="label:version")
    assert nothing.verdict == "nothing"
    assert "would have been seen" in " ".join(nothing.says)


def test_a_canary_is_compared_with_the_spread_of_its_peers() -> None:
    at = FIRST_MINUTE + DEPLOY
    assert ff.rollout(fleet_of(0.3, 1), hosts=["h0"], at=at).verdict == "found"
    healthy = fleet_of(0.0, 1)
    alarms = [ff.rollout(healthy, hosts=[f"h{host}"], at=at).verdict == "found" for host in range(HOSTS)]
    assert sum(alarms) <= 3, "nominal: one of 20"
    level = ff.rollout(fleet_of(3.0, 1), hosts=["h0"])
    assert any("time before" in line for line in level.unseen)


def test_without_untouched_hosts_nothing_is_said() -> None:
    answer = ff.rollout(fleet_of(0.2, HOSTS, facts=deploy(HOSTS)), fact="label:version")
    assert answer.verdict == "cannot_tell"
    for bad in ({"hosts": ["moon"], "at": 1}, {"fact": "moon=1"}, {}):
        with pytest.raises(ff.FleetError):
            ff.rollout(fleet_of(0.2, 3), **bad)


def test_a_week_has_no_control_and_says_so() -> None:
    answer = ff.week_against_week(fleet_of(0.2, HOSTS), span=DEPLOY)
    assert answer.verdict == "found"
    assert answer.rows.iloc[0]["effect"] == pytest.approx(math.log(1.2), abs=0.03)
    assert any("traffic" in line for line in answer.unseen)


def test_differences_are_honest() -> None:
    random = np.random.default_rng(9)
    wrong = {hosts: 0 for hosts in (1, 2, 5)}
    for _ in range(300):
        for hosts in wrong:
            found = difference(random.normal(size=hosts), random.normal(size=12))
            wrong[hosts] += found is not None and found.p < 0.05
    assert all(4 <= count <= 30 for count in wrong.values()), wrong
    assert difference(np.array([1.0]), np.array([1.0, 2.0])) is None


@pytest.fixture
def incidents() -> ff.Fleet:
    """Ten days; every night at two, and once at noon, hosts with a flag are recorded."""
    world = World(hosts=20, days=10, roles=1, facts=200)
    rows = [
        {"time_ns": int(minute) * 60_000_000_000, "host": host, "service": "shop", "cpu_cores": 1.0}
        for host in world.names for minute in world.minutes[::60]
    ]  # fmt: skip
    for row in rows:
        minute = row["time_ns"] // 60_000_000_000 - FIRST_MINUTE
        host = int(row["host"][-2:])
        if minute % 1440 == 120 and host < 6:
            row |= {"incident": f"r{minute}-{host}", "verdict": "slow", "cause": "explicit_gc", "cause_share": 0.8}
        if minute == 720 and host == 15:
            row |= {"incident": "noon", "verdict": "nothing was slow", "cause": ""}
    facts = [
        {"host": host, "fact": "flag:X", "value": "true" if int(host[-2:]) < 6 else "false"} for host in world.names
    ]
    engine = ff.connect()
    minutes = engine.connection.create_table("minutes", pa.Table.from_pylist(rows, schema=schema()))
    return ff.of_tables(engine, minutes, engine.connection.create_table("facts", pa.Table.from_pylist(facts)))


def schema() -> pa.Schema:
    texts = [(name, pa.string()) for name in ("host", "service", "incident", "verdict", "cause")]
    return pa.schema([("time_ns", pa.int64()), ("cpu_cores", pa.float64()), ("cause_share", pa.float64()), *texts])


def test_causes_have_their_facts(incidents: ff.Fleet) -> None:
    rows = ff.causes(incidents).rows
    assert rows["cause"].tolist() == ["explicit_gc", "(none found)"]
    assert rows["incidents"].tolist() == [60, 1]
    assert rows["facts"].tolist() == [["flag:X=true"], []]


def test_what_comes_each_night_is_recurring(incidents: ff.Fleet) -> None:
    answer = ff.recurring(incidents)
    row = answer.rows.iloc[0]
    assert len(answer.rows) == 1
    assert (row["incidents"], row["hosts"], row["days"], row["together"]) == (60, 6, 10, 6)
    assert row["gap_hours"] == 24 and row["hour_of_day"] == pytest.approx(2) and row["hour_p"] < 1e-3
    assert "around 02:00 UTC" in answer.says[0] or "around 01:59 UTC" in answer.says[0]
