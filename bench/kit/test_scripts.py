"""Tests that each script with arguments finds its imports."""

import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from kit.places import REPO

FOLDERS = ("bench", "labs", "trials", "experiments")
PATIENCE_S = 60


class Scripts(unittest.TestCase):
    def test_each_says_how_it_is_called(self) -> None:
        found = [path for folder in FOLDERS for path in (REPO / folder).rglob("*") if takes_arguments(path)]
        self.assertGreater(len(found), 20)
        with ThreadPoolExecutor(2) as threads:
            for path, why in zip(found, threads.map(complaint, found)):
                self.assertEqual(why, "", path)


def takes_arguments(path) -> bool:
    if path.suffix or not path.is_file() or not path.stat().st_mode & 0o100:
        return False
    text = path.read_bytes()
    return text.startswith(b"#!/usr/bin/env python3") and b"argparse" in text


def complaint(path) -> str:
    """The error; empty if there is none."""
    ended = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return "" if ended.returncode == 0 else ended.stderr[-300:]
