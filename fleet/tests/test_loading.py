"""What folders may hold, and what is told of it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fathom_fleet as ff

MINUTE_NS = 60_000_000_000
START_NS = 29_865_600 * MINUTE_NS


def put(rows: list[dict], file: Path, schema: str | None = None) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    if schema:
        table = table.replace_schema_metadata({"fathom.schema": schema})
    pq.write_table(table, file)


def row(minute: int, host: str = "a", **more) -> dict:
    return {"time_ns": START_NS + minute * MINUTE_NS, "host": host, "service": "shop", **more}


def kinds(fleet: ff.Fleet) -> list[str]:
    return sorted(problem.kind for problem in fleet.problems)


def test_bad_files_are_told_and_the_others_are_used(small: Path) -> None:
    good = next((small / "minutes").rglob("*.parquet"))
    (good.parent / "half.parquet").write_bytes(good.read_bytes()[:5000])
    (good.parent / "empty.parquet").write_bytes(b"")
    shutil.copytree(
        small / "minutes", small / "copied-twice" / "minutes", ignore=shutil.ignore_patterns("half*", "empty*")
    )
    put([{"moon": 1.0}], good.parent / "foreign.parquet")
    put([{"time_ns": "yesterday", "host": 3}], good.parent / "types.parquet")
    (small / "notes.txt").write_text("not a table")
    fleet = ff.load(str(small))
    assert kinds(fleet) == ["duplicate", "foreign", "foreign", "foreign", "unreadable", "unreadable"]
    assert fleet.minutes.count().execute() == 12 * 1440


def test_what_else_watch_keeps_is_no_problem(small: Path) -> None:
    for name in (
        "lock",
        "first_start",
        "rings/7",
        "a-1.txt",
        "a-1.json",
        "a-1.fathom/facts.parquet",
        "a-1.fathom/stacks.arrow",
    ):
        (small / name).parent.mkdir(exist_ok=True)
        (small / name).write_bytes(b"")
    assert not ff.load(str(small)).problems


def test_nothing_usable_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "half.parquet").write_bytes(b"PAR1 and then the disk was full")
    with pytest.raises(ff.FleetError, match=r"no minutes in .*half\.parquet") as error:
        ff.load(str(tmp_path))
    assert "\n" not in str(error.value)
    with pytest.raises(ff.FleetError, match="no minutes"):
        ff.load(str(tmp_path / "missing"))


def test_missing_columns_are_empty_and_newer_ones_are_kept_apart(tmp_path: Path) -> None:
    put([row(0, cpu_cores=1.0)], tmp_path / "old.parquet")
    put(
        [row(1, cpu_cores=2.0, requests_p95_ms=5.0, gc_stopped_ratio=None, moon_phase=0.5, words="x")],
        tmp_path / "new.parquet",
        schema="2",
    )
    fleet = ff.load(str(tmp_path))
    assert kinds(fleet) == ["newer_schema", "no_facts"]
    assert fleet.signals == ["cpu_cores", "requests_p95_ms"]
    assert fleet.unmeasured == ["gc_stopped_ratio"]
    rows = fleet.minutes.order_by("minute").to_pandas()
    assert rows["requests_p95_ms"].isna().tolist() == [True, False]
    assert ff.load(str(tmp_path), signals=["moon_phase"]).signals == ["moon_phase"]
    with pytest.raises(ff.FleetError, match="no signal moon"):
        ff.load(str(tmp_path), signals=["moon"])


def test_a_journal_counts_and_its_last_line_may_be_cut(tmp_path: Path) -> None:
    lines = [
        json.dumps(row(0, pid=7, start_ticks=1, cpu_cores=1)),
        json.dumps(row(0, pid=7, start_ticks=1, cause="gc")),
    ]
    (tmp_path / "minutes").mkdir()
    (tmp_path / "minutes" / "journal.jsonl").write_text("\n".join([*lines, '{"time_ns": 1, "ho']))
    fleet = ff.load(str(tmp_path))
    assert kinds(fleet) == ["damaged_lines", "no_facts"]
    assert fleet.minutes.to_pandas()[["cpu_cores", "cause"]].to_numpy().tolist() == [[1.0, "gc"]]


def test_rows_that_stand_twice_are_one(tmp_path: Path) -> None:
    put(
        [row(0, pid=7, start_ticks=1, cpu_cores=1.0), row(1, pid=7, start_ticks=1, cpu_cores=2.0)],
        tmp_path / "one.parquet",
    )
    put([row(1, pid=7, start_ticks=1, cpu_cores=2.0, cause="gc")], tmp_path / "late.parquet")
    fleet = ff.load(str(tmp_path))
    assert "duplicate_rows" in kinds(fleet)
    rows = fleet.minutes.order_by("minute").to_pandas()
    assert rows["cpu_cores"].tolist() == [1.0, 2.0]
    assert rows["cause"].tolist()[1] == "gc"


def test_times_that_cannot_be_right_are_left_out(tmp_path: Path) -> None:
    rows = [row(minute, f"h{host}", cpu_cores=1.0) for host in range(30) for minute in range(5)]
    wrong = [row(-525_600 * 100, "h1", cpu_cores=1.0), row(2 * 1440, "h2", cpu_cores=1.0)]
    put([*rows, *wrong], tmp_path / "rows.parquet")
    fleet = ff.load(str(tmp_path))
    assert kinds(fleet) == ["no_facts", "out_of_time"]
    assert fleet.last - fleet.first == 4
    assert fleet.minutes.count().execute() == 150
    assert "rows of 2 hosts" in " ".join(map(str, fleet.problems))


def test_a_few_hosts_that_go_on_are_no_wrong_clock(tmp_path: Path) -> None:
    rows = [row(minute, f"h{host}", cpu_cores=1.0) for host in range(10) for minute in range(5 + 3000 * (host == 3))]
    put(rows, tmp_path / "rows.parquet")
    assert ff.load(str(tmp_path)).last - ff.load(str(tmp_path)).first == 3004


def test_who_is_compared(tmp_path: Path) -> None:
    rows = [
        row(minute, "restarted", pid=1 + minute // 5, start_ticks=minute // 5, cpu_cores=1.0) for minute in range(10)
    ]
    rows += [row(minute, "two", pid=pid, start_ticks=1, cpu_cores=1.0) for minute in range(10) for pid in (8, 9)]
    rows += [
        row(minute, "mixed", cpu_cores=1.0) | {"service": name} for minute in range(10) for name in ("shop", "cart")
    ]
    put(rows, tmp_path / "rows.parquet")
    fleet = ff.load(str(tmp_path))
    assert sorted(fleet.subjects["subject"]) == ["mixed/cart", "mixed/shop", "restarted", "two#8", "two#9"]
    assert set(fleet.subjects["role"]) == {"cart", "shop"}
    assert fleet.minutes.count().execute() == 50


def test_facts_of_hosts_and_of_jvms_and_their_changes(tmp_path: Path) -> None:
    put(
        [row(minute, "a", pid=pid, start_ticks=5, cpu_cores=1.0) for minute in range(3) for pid in (1, 2)],
        tmp_path / "m.parquet",
    )
    jvm = {"host": "a", "pid": 1, "start_ticks": 5, "fact": "flag:UseZGC"}
    facts = [
        jvm | {"time_ns": START_NS, "value": "true"},
        jvm | {"time_ns": START_NS + 2 * MINUTE_NS, "value": "false"},
        {"time_ns": START_NS, "host": "a", "pid": None, "start_ticks": None, "fact": "cpu_model", "value": "x"},
    ]
    put(facts, tmp_path / "facts.parquet")
    fleet = ff.load(str(tmp_path))
    assert fleet.facts.to_numpy().tolist() == [
        ["a#1", "cpu_model", "x"],
        ["a#1", "flag:UseZGC", "false"],
        ["a#2", "cpu_model", "x"],
    ]
    assert fleet.changes[["subject", "was", "value"]].to_numpy().tolist() == [["a#1", "true", "false"]]


def test_jvms_of_one_host_and_a_few_minutes_are_enough_for_a_flag(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    lines, facts = [], []
    for pid in range(1, 21):
        flags = [name for name in ("UseSerialGC", "AlwaysPreTouch", "UseStringDeduplication") if random.random() < 0.4]
        flags += ["-Xint"] if pid <= 7 else []
        facts += [
            {"time_ns": START_NS, "host": "a", "pid": pid, "start_ticks": 5, "fact": f"flag:{name}", "value": "true"}
            for name in [*flags, "-Xmx"]
        ]
        cores = 0.04 if pid <= 7 else 0.004
        lines += [
            json.dumps(row(minute, pid=pid, start_ticks=5, cpu_cores=cores * random.uniform(0.8, 1.2)))
            for minute in range(5)
        ]
    (tmp_path / "minutes").mkdir()
    (tmp_path / "minutes" / "journal.jsonl").write_text("\n".join(lines))
    put(facts, tmp_path / "facts" / "facts.parquet")
    answer = ff.shared(ff.load(str(tmp_path)))
    assert answer.rows["facts"].tolist() == [["flag:-Xint=true"]]
    assert answer.rows["hosts"].tolist() == [7]
