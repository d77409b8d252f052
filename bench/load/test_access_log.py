"""Tests of the access log of `bench/load/run`: its mix, its bursts, and that a seed makes it repeatable."""

import re
import unittest
from collections import Counter

from load.access_log import BURST_EVERY_S, BURST_FACTOR, BURST_S, PER_SECOND, ROUTES, lines

LINE = re.compile(r'^10\.0\.\d+\.\d+ - - \[(.*) \+0000\] "GET (\S+) HTTP/1\.1" 200 512\n$')


class AccessLog(unittest.TestCase):
    def setUp(self):
        self.rows = [LINE.fullmatch(line).groups() for line in lines(30_000, 1)]

    def test_there_are_as_many_lines_as_asked_for_and_a_seed_repeats_them(self):
        self.assertEqual(len(self.rows), 30_000)
        self.assertEqual(list(lines(100, 7)), list(lines(100, 7)))
        self.assertNotEqual(list(lines(100, 7)), list(lines(100, 8)))

    def test_few_paths_have_most_requests(self):
        routes = Counter(re.sub(r"[=/]\w+$", "", path) for _, path in self.rows)
        self.assertAlmostEqual(routes["/items"] / 30_000, ROUTES["/items/{item}"] / 100, delta=0.02)
        self.assertAlmostEqual(routes["/search?q"] / 30_000, ROUTES["/search?q={word}"] / 100, delta=0.02)
        items = Counter(path for _, path in self.rows if path.startswith("/items/"))
        self.assertGreater(items["/items/1"], 20 * items["/items/100"])

    def test_requests_come_in_bursts(self):
        seconds = list(Counter(stamp for stamp, _ in self.rows).values())[:BURST_EVERY_S]
        calm, burst = seconds[:-BURST_S], seconds[-BURST_S:]
        self.assertLess(max(calm), 1.5 * PER_SECOND)
        self.assertGreater(min(burst), 0.8 * BURST_FACTOR * PER_SECOND)


if __name__ == "__main__":
    unittest.main()
