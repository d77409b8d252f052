"""CSV and Prometheus answers."""

import json
from pathlib import Path

import numpy as np
import pytest

import fathom_fleet as ff

START = 29_865_600 * 60


def series(name: str | None, host: str, values: list[float], **labels: str) -> dict:
    metric = {"instance": f"{host}:9090", "job": "shop", **labels} | ({"__name__": name} if name else {})
    return {"metric": metric, "values": [[START + 60 * at, str(value)] for at, value in enumerate(values)]}


def answer(*all_series: dict) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": list(all_series)}})


def rows(fleet: ff.Fleet, signal: str, host: str) -> list[float]:
    frame = fleet.minutes.filter(fleet.minutes.subject == host).order_by("minute").to_pandas()
    return [round(value, 6) for value in frame[signal].dropna()]


def test_names_of_exporters_become_signals(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    file.write_text(
        answer(
            series("process_cpu_seconds_total", "a", [0, 60, 180, 5, 35], zone="x"),
            series("http_server_requests_seconds_sum", "a", [0, 6, 6], uri="/one"),
            series("http_server_requests_seconds_count", "a", [0, 60, 60], uri="/one"),
            series("http_server_requests_seconds_sum", "a", [0, 6, 6], uri="/two"),
            series("http_server_requests_seconds_count", "a", [0, 60, 60], uri="/two"),
            series("jvm_gc_pause_seconds_max", "a", [0.25], gc="G1"),
            series("node_load1", "a", [4.0, float("nan")]),
            series("moon_phase", "a", [1.0]),
        )
    )
    fleet = ff.load(str(file))
    assert rows(fleet, "cpu_cores", "a") == [1.0, 2.0, 0.5], "a restart is no rise"
    assert rows(fleet, "stops_longest_ms", "a") == [250.0]
    assert rows(fleet, "host_load", "a") == [4.0]
    assert any("moon_phase" in str(problem) for problem in fleet.problems)
    assert fleet.facts[["fact", "value"]].to_numpy().tolist() == [["label:zone", "x"]]
    assert rows(fleet, "requests_mean_ms", "a") == [100.0], "without requests there is no latency"


def test_a_query_without_a_name_is_named_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "gc_stopped_ratio.json"
    file.write_text(answer(series(None, "a", [0.1, 0.2])))
    assert rows(ff.load(str(file)), "gc_stopped_ratio", "a") == [0.1, 0.2]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"data": 1}', '{"data": {"resultType": "vector", "result": []}}', "\x00"]
)
def test_what_is_no_answer_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(ff.FleetError, match=r"bad\.json"):
        ff.load(str(file))


@pytest.mark.parametrize("unit", [1, 1_000, 1_000_000_000])
def test_csv_with_any_unit_of_time(tmp_path: Path, unit: int) -> None:
    file = tmp_path / "load.csv"
    lines = [f"{(START + 20 * at) * unit},{host},shop,{at}" for at in range(6) for host in "ab"]
    file.write_text("\n".join(["timestamp,hostname,app,host_load", *lines]))
    fleet = ff.load(str(file))
    assert rows(fleet, "host_load", "a") == [1.0, 4.0], "the mean of a minute"
    assert set(fleet.subjects["role"]) == {"shop"}


def test_csv_with_texts_as_times_and_facts_beside_it(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text(
        "time,host,host_load\n2026-10-14T00:00Z,a,1\nnever,a,2\n2026-10-14T00:01:00+00:00,a,\n"
    )
    (tmp_path / "facts.csv").write_text("host,fact,value\na,kernel,6.1\na,cpus,4\n")
    fleet = ff.load(str(tmp_path / "load.csv"), str(tmp_path / "facts.csv"))
    assert rows(fleet, "host_load", "a") == [1.0]
    assert fleet.facts["value"].tolist() == ["4", "6.1"]
    assert [problem.kind for problem in fleet.problems] == ["damaged_lines"]
    (tmp_path / "moon.csv").write_text("moon,phase\n1,2\n")
    with pytest.raises(ff.FleetError, match="no column with a time"):
        ff.load(str(tmp_path / "moon.csv"))


def test_a_canary_in_prometheus_is_found(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    all_series = []
    for host in range(30):
        load = 5 * np.exp(random.normal(0, 0.05, 1440))
        if host == 7:
            load[700:] *= 4
        all_series.append(series("node_load1", f"h{host}", load.tolist()))
    (tmp_path / "load.json").write_text(answer(*all_series))
    fleet = ff.load(str(tmp_path / "load.json"))
    onset = ff.onset(fleet).rows
    assert onset["subject"].tolist() == ["h7"]
    assert onset["onset"].tolist() == ["2026-10-14T11:40Z"]
