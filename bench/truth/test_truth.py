"""The files of the benchmark: that the truth can be read, and that the tables of results are those of the answers."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from kit.places import REPO
from truth import answers, cases, labs

CATALOG = REPO / "crates" / "causes" / "catalog"


def catalog() -> set[str]:
    return {folder.name for folder in CATALOG.iterdir() if folder.is_dir()}


class Truth(unittest.TestCase):
    def setUp(self):
        self.cases = cases.load()

    def test_each_case_is_there_once(self):
        ids = [case.id for case in self.cases]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({case.set() for case in self.cases}, {"corpus", "labs", "public"})

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
        with tempfile.TemporaryDirectory() as scratch:
            answers.write(Path(scratch) / "x.json", whole)
            self.assertEqual(answers.load(Path(scratch) / "x.json"), whole)


if __name__ == "__main__":
    unittest.main()
