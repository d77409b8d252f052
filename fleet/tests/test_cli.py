"""The command line: what it prints, and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fathom_fleet.cli import main


@pytest.mark.parametrize("question", ["outliers", "onset", "shared", "causes", "recurring"])
def test_every_question_answers_in_text_and_json(
    small: Path, question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([question, str(small)]) == 0
    assert "12 hosts" in capsys.readouterr().out
    assert main([question, str(small), "--json", "--signal", "requests_p95_ms", "--last", "12h"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["question"], document["hosts"]) == (1, question, 12)


def test_nothing_is_left_in_temporary_folders(small: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    subprocess.run([sys.executable, "-m", "fathom_fleet", "outliers", str(small)], env=environment, check=True)
    assert list(scratch.iterdir()) == []


def test_rollouts(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["rollout", str(small), "--host", "host-00001", "--at", "2026-10-14T12:00Z", "--span", "2h", "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["rows"][0]["control"] == 11


def test_the_report_is_one_file_that_loads_nothing(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fleet.html"
    assert (
        main(["report", str(small), "-o", str(file), "--recordings", "https://fathom.example/{host}/{incident}"]) == 0
    )
    text = file.read_text()
    assert text.count("<svg") == 2 and "<script" not in text and 'src="' not in text
    assert "default-src 'none'" in text


def test_refusals_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["outliers", str(tmp_path)]) == 1
    assert main(["outliers", str(tmp_path), "--engine", "moon:1"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(line.startswith("fathom-fleet: no ") for line in lines)
    for bad in (
        ["outliers"],
        ["moon", "x"],
        ["outliers", "x", "--from", "soon"],
        ["outliers", "x", "--last", "2 moons"],
    ):
        with pytest.raises(SystemExit) as end:
            main(bad)
        assert end.value.code == 2


def test_a_file_with_a_damaged_page_is_left_out(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = next((small / "minutes").rglob("*.parquet"))
    whole = good.read_bytes()
    for at in (4, pq.ParquetFile(good).metadata.row_group(0).column(3).data_page_offset):
        (good.parent / "damaged.parquet").write_bytes(whole[:at] + b"\xff" * 100 + whole[at + 100 :])
        assert main(["outliers", str(small), "--json"]) == 0
        out, err = capsys.readouterr()
        assert err == "fathom-fleet: a file is damaged; reading all of them to find it\n"
        assert any("damaged.parquet: half-written, damaged" in line for line in json.loads(out)["unseen"])
