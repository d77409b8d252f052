"""Tests of judging one answer, and many."""

import unittest

from truth import counts
from truth.answers import NAMES, Answer, Said
from truth.cases import Case
from truth.judge import judged

ILL = Case("set/ill", {}, [], "ill", first=["a", "b"], also=["c"], keep=["a"], slow=[(10.0, 20.0)], known=[(0.0, 30.0)], observed_s=30.0)
HEALTHY = Case("set/healthy", {}, [], "healthy", also=["c"], observed_s=3600.0)
OPEN = Case("set/open", {}, [], "open", keep=["a"])


def said(*ids: str, verdict: str = "shown", rank: int = 1, **more: object) -> Said:
    return Said(list(ids), verdict, rank, **more)


def of(case: Case, *causes: Said, names: tuple[str, ...] = NAMES, **more: object):
    return judged(case, Answer(case.id, "jfr", causes=list(causes), **more), names)


class Marks(unittest.TestCase):
    def test_each_answer_has_its_marks(self):
        table = [
            (ILL, [said("a")], {}, ["right"]),
            (ILL, [said("b", verdict="likely"), said("c", rank=2)], {}, ["right"]),
            (ILL, [said("a", "z")], {}, ["right"]),
            (ILL, [], {}, ["open"]),
            (ILL, [said("a", verdict="possible")], {}, ["open"]),
            (ILL, [said("a", share=0.02)], {}, ["open"]),
            (ILL, [said("c")], {}, ["wrong"]),
            (ILL, [said("a"), said("z", rank=2)], {}, ["wrong"]),
            (ILL, [said("c"), said("a", rank=2)], {}, ["wrong"]),
            (ILL, [said("a", "x", verdict="ruled_out")], {}, ["acquitted"]),
            (ILL, [said("b", verdict="ruled_out")], {}, ["open"]),
            (ILL, [said("z"), said("a", "b", verdict="ruled_out", rank=2)], {"all_clear": True}, ["wrong", "acquitted", "all-clear"]),
            (ILL, [said("a")], {"refused": "no"}, ["refused"]),
            (HEALTHY, [], {"all_clear": True}, ["right"]),
            (HEALTHY, [said("c")], {}, ["right"]),
            (HEALTHY, [said("a")], {}, ["wrong"]),
            (OPEN, [], {}, ["right"]),
            (OPEN, [said("a", verdict="ruled_out")], {}, ["acquitted"]),
            (OPEN, [], {"all_clear": True}, ["all-clear"]),
        ]
        for case, causes, more, marks in table:
            with self.subTest(case=case.id, causes=causes, more=more):
                self.assertEqual(of(case, *causes, **more).marks, marks)

    def test_of_causes_that_share_the_first_rank_one_has_to_be_true(self):
        self.assertTrue(of(ILL, said("c"), said("a")).is_first_right)
        self.assertFalse(of(ILL, said("c"), said("a", rank=2)).is_first_right)

    def test_a_doubtful_cause_counts_only_where_it_is_right(self):
        self.assertEqual(of(ILL, said("z", doubtful=True), said("a", rank=2)).marks, ["right"])
        self.assertEqual(of(ILL, said("z", doubtful=True)).marks, ["open"])
        self.assertEqual(of(ILL, said("a", doubtful=True)).marks, ["right"])
        self.assertEqual(of(HEALTHY, said("z", doubtful=True)).inventions(), 0)

    def test_what_is_only_likely_can_be_left_out(self):
        self.assertEqual(of(ILL, said("z"), said("a", verdict="likely"), names=("shown",)).marks, ["wrong"])
        self.assertEqual(of(ILL, said("z", verdict="likely"), names=("shown",)).marks, ["open"])


class Steps(unittest.TestCase):
    def test_each_step_is_a_cause_or_one_behind_it(self):
        one = of(ILL, said("a", chain=["c", "z"]))
        self.assertEqual((one.steps, one.true_steps, one.every_step), (3, 2, False))
        self.assertTrue(of(ILL, said("a", chain=["c"])).every_step)
        self.assertFalse(of(ILL).every_step)

    def test_a_chain_that_is_known_must_be_whole(self):
        case = Case("set/chain", {}, [], "ill", first=["a"], chain=["b", "c"])
        self.assertTrue(of(case, said("a", chain=["b", "c"])).every_step)
        self.assertFalse(of(case, said("a", chain=["b"])).every_step)
        self.assertFalse(of(case, said("b", chain=["c"])).every_step)


class Times(unittest.TestCase):
    def test_the_error_is_the_part_on_which_answer_and_truth_differ(self):
        for slow, error in [([(10.0, 20.0)], 0.0), ([], 1.0), ([(15.0, 25.0)], 2 / 3), ([(10.0, 15.0), (15.0, 20.0), (31.0, 40.0)], 0.0)]:
            with self.subTest(slow=slow):
                self.assertAlmostEqual(of(ILL, said("a"), slow=slow).time_error, error)

    def test_who_says_no_time_is_not_judged_by_it(self):
        self.assertIsNone(of(ILL, said("a")).time_error)
        self.assertIsNone(of(HEALTHY, slow=[(1.0, 2.0)]).time_error)


class Counts(unittest.TestCase):
    def test_the_interval_of_a_rate_is_the_exact_one(self):
        # From tables of the Poisson distribution.
        for count, low, high in [(0, 0.0, 3.689), (1, 0.025, 5.572), (5, 1.623, 11.668), (100, 81.36, 121.63)]:
            with self.subTest(count=count):
                found = counts.interval(count)
                self.assertAlmostEqual(found[0], low, delta=0.01)
                self.assertAlmostEqual(found[1], high, delta=0.01)

    def test_inventions_are_counted_in_healthy_hours(self):
        healthy = [of(HEALTHY), of(HEALTHY, said("x"), said("y", rank=2)), of(HEALTHY, refused="no"), of(ILL, said("z"))]
        self.assertEqual(counts.inventions(healthy), "100.0, 12.1 to 361.2 (2 in 2.00 h)")
        self.assertEqual(counts.inventions([of(ILL, said("z"))]), "")

    def test_a_row_has_a_figure_for_each_title(self):
        rows = counts.table([("set", "jfr", "tool", [of(ILL, said("a"), slow=[(10.0, 20.0)]), of(ILL)])]).splitlines()
        self.assertEqual(len({line.count("|") for line in rows}), 1)
        self.assertIn("| set | jfr | tool | 2 | 2 | 1 | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 0.00 | 1 of 1 |", rows[-1])


if __name__ == "__main__":
    unittest.main()
