"""The same answers on DuckDB and on Spark: `make fleet-spark`. Starting Spark and its first queries take half a minute."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fathom_fleet as ff
from fathom_fleet import incidents, peers, simulator
from fathom_fleet.simulator import Illness, World

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")

LARGEST_DIFFERENCE = 1e-9
"""Sums in another order differ in the last digits."""

SIGNAL = "requests_p95_ms"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[ff.Fleet, ff.Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    world = World(hosts=100, days=2, roles=4, facts=300, illness=Illness(0.6, 12, confounded=(("kernel", "sick"),)))
    simulator.write(world, folder)
    spoil(folder)
    return ff.load(str(folder)), ff.load(str(folder), engine="spark:local[2]")


def spoil(folder: Path) -> None:
    """What engines differ in: NaN, infinity, NULL, zero, rows that are missing or stand twice, a column that one file lacks."""
    file = sorted((folder / "minutes").rglob("*.parquet"))[0]
    frame = pd.read_parquet(file)
    for at, value in enumerate([np.nan, np.inf, -np.inf, 0.0, -1.0, None]):
        frame.loc[frame.index % 101 == at, SIGNAL] = value
    frame = frame[frame.index % 97 != 0]
    frame = pd.concat([frame, frame.head(50)]).assign(cpu_cores=1.5, newer="column")
    frame.to_parquet(file, index=False)
    (file.parent / "half.parquet").write_bytes(b"PAR1")


def same(one: pd.DataFrame, other: pd.DataFrame, keys: list[str]) -> None:
    one = one.sort_values(keys, ignore_index=True)
    other = other[one.columns].sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(one, other, check_dtype=False, atol=LARGEST_DIFFERENCE, rtol=LARGEST_DIFFERENCE)


def test_fleets_are_the_same(both: tuple[ff.Fleet, ff.Fleet]) -> None:
    duckdb, spark = both
    same(duckdb.subjects, spark.subjects, ["subject"])
    same(duckdb.facts, spark.facts, ["subject", "fact"])
    assert [str(problem) for problem in duckdb.problems] == [str(problem) for problem in spark.problems]
    assert duckdb.minutes.count().execute() == spark.minutes.count().execute()


def test_distances_are_the_same(both: tuple[ff.Fleet, ff.Fleet]) -> None:
    frames = []
    for fleet in both:
        signal = peers.with_floor(fleet, SIGNAL)
        frames.append(peers.in_slots(peers.from_peers(fleet, signal), 60).to_pandas())
    assert len(frames[0]) > 4000
    same(frames[0], frames[1], ["subject", "slot"])


@pytest.mark.parametrize("ask", [ff.outliers, ff.onset, ff.shared])
def test_answers_are_the_same(both: tuple[ff.Fleet, ff.Fleet], ask) -> None:
    one, other = (ask(fleet, [SIGNAL]) for fleet in both)
    assert one.verdict == "found"
    assert (one.verdict, one.says, one.unseen) == (other.verdict, other.says, other.unseen)
    assert len(one.rows)
    same(one.rows, other.rows, ["subject"] if "subject" in one.rows.columns else ["rank"])


def test_changes_and_incidents_are_the_same(both: tuple[ff.Fleet, ff.Fleet]) -> None:
    at = both[0].last - 700
    one, other = (
        ff.rollout(fleet, [SIGNAL], hosts=["host-00001", "host-00002", "host-00003"], at=at) for fleet in both
    )
    same(one.rows, other.rows, ["signal"])
    frames = [incidents.incidents_of(fleet) for fleet in both]
    assert len(frames[0]) == len(frames[1]) == 0
