"""Tests of how the output of tools becomes answers."""

import unittest
from pathlib import Path

from kit.places import REPO
from truth.tools import fathom, gctoolkit, jmc
from truth.tools.gctoolkit import table as of_collections
from truth.tools.jmc import table as of_rules

CATALOG = {folder.name for folder in (REPO / "crates" / "causes" / "catalog").iterdir() if folder.is_dir()}


class Tables(unittest.TestCase):
    def test_all_names_are_causes_of_the_catalogue(self):
        tables = [of_rules.RULES, of_rules.DOUBTFUL, of_collections.CAUSES, of_collections.KINDS]
        rows = [*(row for table in tables for row in table.values()), of_collections.OTHER, of_collections.STOPPED]
        self.assertEqual({id for ids, _ in rows for id in ids} - CATALOG, set())

    def test_each_row_has_a_reason_and_no_rule_is_in_both_tables(self):
        self.assertEqual(of_rules.RULES.keys() & of_rules.DOUBTFUL.keys(), set())
        self.assertTrue(all(why for _, why in [*of_rules.RULES.values(), *of_rules.DOUBTFUL.values()]))


class Fathom(unittest.TestCase):
    def test_verdicts_times_and_chains_are_taken_over(self):
        said = {
            "headline": {"kind": "slow", "but": []},
            "slow": [{"from_ns": 1_000_000_000, "to_ns": 2_500_000_000}],
            "causes": [
                {"id": "a", "verdict": "shown", "share": 0.75, "chain": ["b"]},
                {"id": "c", "verdict": "ruled_out", "share": 0.0, "chain": []},
                {"id": "d", "verdict": "not_enough", "share": 0.0, "chain": []},
                {"id": "e", "verdict": "ruled_out", "share": 0.0, "chain": []},
            ],
        }
        answer = fathom.answer("set/x", "jfr", said)
        self.assertEqual(answer.slow, [(1.0, 2.5)])
        self.assertEqual([(one.ids, one.share, one.chain) for one in answer.named()], [(["a"], 0.75, ["b"])])
        self.assertEqual(answer.ruled_out(), {"c", "e"})
        self.assertFalse(answer.all_clear)

    def test_all_jvms_of_a_file_have_to_be_well(self):
        well = {"headline": {"kind": "nothing_slow", "but": []}, "slow": [], "causes": []}
        unknown = {"headline": {"kind": "no_sign", "but": ["no latency"]}, "slow": [], "causes": []}
        self.assertTrue(fathom.answer("x", "jfr", well).all_clear)
        self.assertFalse(fathom.answer("x", "jfr", {"explanations": [well, unknown]}).all_clear)


    def test_a_refusal_does_not_name_the_machine(self):
        said = "a line\nfathom: /somewhere/x.log: not a format\n"
        self.assertEqual(fathom.refusal(said, [Path("/somewhere/x.log")]), "fathom: x.log: not a format")
        self.assertEqual(fathom.refusal("", []), "ended without a word")


class Jmc(unittest.TestCase):
    def rules(self, *rules: tuple[str, str, float | None]) -> list:
        rows = [{"id": id, "severity": severity} | ({} if score is None else {"score": score}) for id, severity, score in rules]
        return jmc.answer("set/x", "jfr", {"rules": rows}).named()

    def test_rules_that_found_something_are_named_by_their_score(self):
        named = self.rules(("SystemGc", "INFO", 30.0), ("JavaBlocking", "WARNING", 80.0), ("FullGc", "OK", 0.0), ("Options", "WARNING", None))
        self.assertEqual([(one.own, one.verdict, one.rank) for one in named], [("JavaBlocking 80", "shown", 1), ("SystemGc 30", "likely", 2)])

    def test_equal_scores_share_their_rank(self):
        named = self.rules(("SystemGc", "WARNING", None), ("FullGc", "WARNING", 75.0), ("LongGcPause", "INFO", 40.0))
        self.assertEqual([one.rank for one in named], [1, 1, 3])

    def test_what_describes_the_machine_is_doubtful(self):
        self.assertEqual([one.doubtful for one in self.rules(("CompareCpu", "WARNING", 99.0), ("SystemGc", "INFO", 25.0))], [True, False])

    def test_a_file_that_is_not_read_is_refused(self):
        self.assertEqual(jmc.answer("set/x", "jfr", {"refused": "why"}).refused, "why")


class GcToolKit(unittest.TestCase):
    def answer(self, *events: dict):
        return gctoolkit.answer("set/x", "gc_log", {"events": list(events)})

    def pause(self, at: float, seconds: float, cause: str = "G1_EVACUATION_PAUSE", kind: str = "G1Young") -> dict:
        return {"at": at, "seconds": seconds, "is": kind, "type": kind, "cause": cause, "stops": True}

    def test_short_and_rare_pauses_are_no_trouble(self):
        self.assertEqual(self.answer(self.pause(0, 0.1), self.pause(20, 0.1)).named(), [])
        self.assertEqual(self.answer(self.pause(0, 0.15)).named(), [])

    def test_causes_are_named_in_order_of_their_time(self):
        named = self.answer(self.pause(0, 0.3), self.pause(9, 2, "JAVA_LANG_SYSTEM"), self.pause(15, 0.1, kind="FullGC")).named()
        self.assertEqual([one.ids for one in named], [["explicit_gc"], of_collections.YOUNG])

    def test_many_short_pauses_are_slow_if_they_take_much_of_the_log(self):
        named = self.answer(*(self.pause(at, 0.1) for at in range(20)), self.pause(20, 0.1, "JAVA_LANG_SYSTEM")).named()
        self.assertEqual([one.own for one in named], ["G1_EVACUATION_PAUSE 2.0 s"])

    def test_a_stop_without_a_collection_is_doubtful(self):
        stop = {"at": 1.0, "seconds": 0.5, "is": "ApplicationStoppedTime", "until_stopped": 0.4, "of_gc": False}
        self.assertEqual([(one.ids, one.doubtful) for one in self.answer(stop).named()], [(["long_time_to_safepoint", "vm_operations"], True)])

    def test_a_log_of_which_nothing_is_read_is_refused(self):
        self.assertEqual(self.answer().refused, "no event was found")


if __name__ == "__main__":
    unittest.main()
