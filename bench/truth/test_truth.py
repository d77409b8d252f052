"""Tests of the benchmark's files: the truth can be read, and the tables of results match the answers."""

import contextlib
import io
import tempfile
import unittest
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from unittest.mock import patch

from kit.places import REPO
from truth import answers, cases, labs

CATALOG = REPO / "crates" / "causes" / "catalog"
RESULTS = cases.HERE / "results"


def catalog() -> set[str]:
    return {folder.name for folder in CATALOG.iterdir() if folder.is_dir()}


def printed(*words: str) -> str:
    """The output of `bench/truth/score`."""
    loader = SourceFileLoader("score", str(cases.HERE / "score"))
    module = module_from_spec(spec_from_loader("score", loader))
    loader.exec_module(module)
    out = io.StringIO()
    with patch("sys.argv", ["score", *words]), contextlib.redirect_stdout(out):
        module.main()
    return out.getvalue()


class Truth(unittest.TestCase):
    def setUp(self):
        self.cases = cases.load()

    def test_each_case_is_there_once(self):
        ids = [case.id for case in self.cases]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({case.set() for case in self.cases}, {"corpus", "fresh", "fresh_dumps", "fresh_gc", "fresh_gc2", "fresh_jfr", "labs", "public"})

    def test_all_names_are_causes_of_the_catalogue(self):
        named = {id for case in self.cases for id in [*case.allowed(), *case.keep]}
        self.assertEqual(named - catalog(), set())

    def test_each_case_says_what_it_is_and_whose(self):
        self.assertEqual([case.id for case in self.cases if not (case.says and case.source and case.licence)], [])

    def test_recordings_of_the_repository_are_there(self):
        files = [REPO / file for case in self.cases if case.root == "repository" for file in case.files.values()]
        self.assertEqual([file for file in files if not file.is_file()], [])

    def test_the_truth_of_labs_is_what_they_declare(self):
        self.assertEqual((cases.FOLDER / "labs.json").read_text(), labs.text(), "bench/truth/make_cases writes it")

    def test_what_is_not_as_described_is_refused(self):
        ill = next(case for case in self.cases if case.state == "ill")
        for broken in [replace(ill, state="sick"), replace(ill, first=[]), replace(ill, questions=[["video"]])]:
            with self.assertRaises(cases.Broken):
                cases.check(Path("x.json"), broken)

    def test_a_tool_is_asked_only_what_it_can_read(self):
        given = {question.given for question in cases.questions(self.cases, ["gc_log"])}
        self.assertEqual(given, {("gc_log",)})


class Results(unittest.TestCase):
    def test_answers_survive_being_written(self):
        said = answers.Said(["a"], "shown", 1, 0.5, ["b"], "own words", doubtful=True)
        some = [answers.Answer("set/x", "jfr", slow=[], causes=[said]), answers.Answer("set/y", "jfr", refused="no")]
        whole = answers.Answers("Tool", "1", "2026-01-01", some)
        for name in ["x.json", "x.json.gz"]:
            with tempfile.TemporaryDirectory() as scratch:
                answers.write(Path(scratch) / name, whole)
                self.assertEqual(answers.load(Path(scratch) / name), whole)

    def test_answers_are_to_cases_that_are_there(self):
        known = {case.id for case in cases.load()}
        given = [answer.case for file in RESULTS.glob("*.json.gz") for answer in answers.load(file).answers]
        self.assertTrue(given)
        self.assertEqual(set(given) - known, set())

    def test_the_tables_are_those_of_the_answers(self):
        text = (cases.HERE / "README.md").read_text()
        self.assertIn(printed(), text)
        self.assertIn(printed("--sure"), text)


if __name__ == "__main__":
    unittest.main()
