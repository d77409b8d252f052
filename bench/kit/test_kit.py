"""Tests of the benchmarks' handling of files and figures, with small ones."""

import hashlib
import os
import tempfile
import time
import unittest
from pathlib import Path

from kit import cuts, fetch, figures, places, table
from kit.measure import Result, Run, failure_of
from kit.process import TICKS_PER_SECOND, busy_s, cpu_s
from kit.rounded import is_rounded
from kit.tools import Tool


def chunk(content: bytes, start_ns: int = 0) -> bytes:
    """A chunk that lasts 1 000 ns."""
    size = cuts.CHUNK_HEADER.size + len(content)
    return cuts.CHUNK_HEADER.pack(b"FLR\0", 2, 0, size, 0, 0, start_ns, 1_000) + content


class Cuts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.cut = Path(folder.name) / "source", Path(folder.name) / "cut"

    def test_jfr_is_cut_at_chunks_and_goes_round_and_on_in_time(self):
        first, second = b"a" * 700_000, b"b" * 600_000
        self.source.write_bytes(chunk(first, 5_000) + chunk(second, 6_000))
        for size_mb, expected in [
            (1, chunk(first, 5_000) + chunk(second, 6_000)),
            (2, chunk(first, 5_000) + chunk(second, 6_000) + chunk(first, 7_000)),
            (3, chunk(first, 5_000) + chunk(second, 6_000) + chunk(first, 7_000) + chunk(second, 8_000) + chunk(first, 9_000)),
        ]:
            self.assertEqual(cuts.jfr_of_size(self.source, size_mb, self.cut).read_bytes(), expected)

    def test_what_is_no_chunk_is_said_with_its_place(self):
        whole = chunk(b"a")
        for damaged, says in [
            (b"", "no JFR chunk at byte 0$"),
            (b"no chunk here" * 9, "no JFR chunk at byte 0$"),
            (whole + b"no chunk here" * 9, f"no JFR chunk at byte {len(whole)}$"),
            (whole + whole[:20], f"no JFR chunk at byte {len(whole)}$"),
            (b"FLR\0" + bytes(64), "a JFR chunk of 0 bytes at byte 0$"),
        ]:
            self.source.write_bytes(damaged)
            with self.assertRaisesRegex(ValueError, says):
                cuts.chunks_of(self.source)

    def test_a_log_is_cut_after_a_line(self):
        line = b"x" * 99 + b"\n"
        self.source.write_bytes(line * 30_000)
        self.assertEqual(cuts.log_of_size(self.source, 1, self.cut).read_bytes(), line * 10_001)
        self.assertEqual(cuts.log_of_size(self.source, 2, self.cut).read_bytes(), line * 20_001)


class Tables(unittest.TestCase):
    def result(self, name: str, seconds: float, failure: str = "", **about) -> Result:
        run = Run(wall_s=seconds + 1, cpu_s=seconds, peak_bytes=5_000_000, passes_s=[seconds], events=2_000_000)
        return Result(Tool(name, "1", [], **about), Path("f"), [run], [seconds], run.events, failure)

    def test_fastest_first_failures_last_and_the_ratio_to_the_fastest_peer(self):
        ours = self.result("ours", 0.5, ours=True, environment={"RAYON_NUM_THREADS": "1"})
        rows = table.of([self.result("slow", 5.0), self.result("broken", 0.1, "exit 1: no"), self.result("quick", 2.0), ours], 10_000_000)
        names = [line.split(" | ")[0].strip("| ") for line in rows.splitlines() if line.startswith("| ")]
        self.assertEqual(names, ["tool", "ours", "quick", "slow", "broken"])
        self.assertIn("4.0 times as fast as the fastest peer, quick", rows)
        self.assertIn("| ours | 1 | 0.500 | 0.500 | 20.0 | 2,000,000 | 4,000 | 1.50 | 0.50 | 5 | 1.0 |", rows)

    def test_every_row_has_as_many_cells_as_the_header(self):
        ours = self.result("ours", 0.5, ours=True, environment={"RAYON_NUM_THREADS": "1"})
        for line in table.of([ours, self.result("broken", 1, "stopped after 300 s")], 1_000_000).splitlines():
            if line.startswith("|"):
                self.assertEqual(line.count("|"), table.HEADER.count("|"), line)


    def test_growth_says_who_leaves_out_events(self):
        small, large = self.result("all", 1.0), self.result("all", 9.0)
        large.events = 20_000_000
        grown = table.growth([(1_000_000, [small, small]), (10_000_000, [large, self.result("some", 2.0)])])
        self.assertEqual(
            grown.splitlines()[2:], ["| all | 2.00 | 5 | 10.00 | 5 |", "| all | 2.00 | 5 | 3.00, only 2,000,000 events | 5 |"]
        )


class Figures(unittest.TestCase):
    def test_a_mean_has_the_half_width_of_its_interval(self):
        self.assertEqual(figures.mean_with_error([1, 2, 3], ".3f"), "2.000 ± 2.484")
        self.assertEqual(figures.mean_with_error([2.5] * 15), "2.50 ± 0.00")

    def test_a_median_lies_in_its_interval_with_a_chance_of_93_percent(self):
        for count, rank in [(1, 0), (2, 0), (5, 0), (9, 1), (15, 3), (20, 5)]:
            self.assertEqual(figures.rank_of_interval(count), rank, count)
        self.assertEqual(figures.median_with_interval([9, 1, 2, 8, 3], str), "3 (1 to 9)")

    def test_a_table_has_words_to_the_left_and_figures_to_the_right(self):
        self.assertEqual(figures.head(["a", "b", "c"]), "| a | b | c |\n|---|--:|--:|")
        self.assertEqual(figures.row(["x", 1]), "| x | 1 |")


class Libraries(unittest.TestCase):
    def test_jars_are_those_that_a_folder_pins(self):
        with tempfile.TemporaryDirectory() as scratch:
            jars, lab = Path(scratch) / "jars", Path(scratch) / "lab"
            jars.mkdir()
            lab.mkdir()
            (jars / "a-1.jar").write_bytes(b"jar")
            checksum = hashlib.sha256(b"jar").hexdigest()
            (lab / "jars.sha256").write_text(f"{checksum}  a-1.jar\n")
            self.assertEqual(fetch.libraries(lab, jars), [jars / "a-1.jar"])
            (jars / "a-1.jar").write_bytes(b"another")
            with self.assertRaisesRegex(places.Refused, f"a-1.jar has SHA-256 .*, expected {checksum}"):
                fetch.libraries(lab, jars)


class Places(unittest.TestCase):
    def test_tools_that_are_missing_are_named_together(self):
        places.need("python3")
        with self.assertRaisesRegex(places.Refused, "^not installed: no-such-tool, nor-this$"):
            places.need("no-such-tool", "python3", "nor-this")


class Processes(unittest.TestCase):
    def test_cpu_time_is_that_of_the_process(self):
        before, machine_before, counted_from = cpu_s(os.getpid()), busy_s(), time.process_time()
        while time.process_time() < counted_from + 0.2:
            pass
        used = cpu_s(os.getpid()) - before
        self.assertAlmostEqual(used, time.process_time() - counted_from, delta=3 / TICKS_PER_SECOND)
        self.assertGreater(busy_s() - machine_before, used - 3 / TICKS_PER_SECOND)


class Rounded(unittest.TestCase):
    def test_a_figure_is_right_to_its_digits(self):
        for printed, value, unit, expected in [
            ("2.63 threads", 2.6312, "threads", True),
            ("2.63 threads", 2.6381, "threads", False),
            ("82.8 ms", 82.84e6, "ns", True),
            ("82.8 ms", 82.84e3, "ns", False),
            ("1 min 20 s", 80.2e9, "ns", True),
            ("2 h 5 min", 7_559e9, "ns", True),
            ("2 h 5 min", 7_620e9, "ns", False),
            ("<0.1 %", 0.0004, "ratio", True),
            ("<0.1 %", 0, "ratio", False),
            ("1,213", 1213, "count", True),
            ("1.2e16", 1.2e16, "count", True),
            ("4.77 MB", 5_000_000, "bytes", True),
            ("139 /s", 138.2, "1/s", False),
            ("", None, "ns", True),
            ("0 ns", None, "ns", False),
        ]:
            self.assertIs(is_rounded(printed, value, unit), expected, f"{printed} is {value} {unit}")


class Failures(unittest.TestCase):
    def test_what_counts_as_a_run(self):
        for code, wall_s, printed, expected in [
            (0, 1.0, True, ""),
            (0, 1.0, False, "printed no pass"),
            (1, 1.0, True, "exit 1: out of memory"),
            (-9, 300.5, True, "stopped after 300 s"),
        ]:
            self.assertEqual(failure_of(code, wall_s, ["out of memory"], printed), expected)


if __name__ == "__main__":
    unittest.main()
