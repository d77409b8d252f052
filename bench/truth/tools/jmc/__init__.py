"""The rules of JDK Mission Control, run without its user interface: a warning is `shown`, a note is `likely`."""

from collections.abc import Iterator
from pathlib import Path

from truth.answers import Answer, Said
from truth.cases import Question
from truth.tools import java
from truth.tools.jmc.table import DOUBTFUL, RULES

HERE = Path(__file__).resolve().parent
NAME = "JMC rules"
READS = ("jfr",)
VERDICTS = {"WARNING": "shown", "INFO": "likely"}
# If a rule gives no score: the start of the range of its severity.
LEAST_SCORES = {"WARNING": 75.0, "INFO": 25.0}


def version() -> str:
    return java.version(HERE)


def answers(asked: list[tuple[Question, list[Path]]]) -> Iterator[Answer]:
    return java.answers(HERE, "JmcRules", asked, answer)


def answer(case: str, given: str, line: dict) -> Answer:
    """JMC does not say when it was slow, and a rule that finds nothing excludes no cause."""
    if "refused" in line:
        return Answer(case, given, refused=line["refused"])
    found = [(score(rule), rule) for rule in line["rules"] if rule["severity"] in VERDICTS and causes(rule["id"])]
    ranks = sorted((at for at, _ in found), reverse=True)
    return Answer(case, given, causes=[named(rule, ranks.index(at) + 1) for at, rule in sorted(found, key=lambda one: -one[0])])


def score(rule: dict) -> float:
    return rule.get("score", LEAST_SCORES.get(rule["severity"], 0.0))


def causes(rule: str) -> list[str]:
    return (RULES.get(rule) or DOUBTFUL.get(rule) or ([],))[0]


def named(rule: dict, rank: int) -> Said:
    own = f"{rule['id']} {score(rule):.0f}"
    return Said(causes(rule["id"]), VERDICTS[rule["severity"]], rank, own=own, doubtful=rule["id"] in DOUBTFUL)
