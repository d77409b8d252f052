"""The results of `fathom watch` for the illnesses: rows of a table."""

from statistics import median

from kit.figures import head, row

from .illnesses import Planted

TITLES = ["illness", "service, JDK", "clients' median, ms", "noticed", "named first", "right"]
# A trigger looks at blocks of up to some minutes. An incident that begins later than this after an illness is unrelated.
LATE_S = 20
BEFORE_S = 60


class Told:
    """One incident: its first message, and the verdict."""

    def __init__(self, bodies: list[dict]) -> None:
        self.bodies = bodies
        self.first = bodies[0]
        self.verdict = next((body for body in bodies if body.get("stage") == "verdict"), None)

    @property
    def at_s(self) -> float:
        trigger = self.first["trigger"]
        return trigger["at_ns"] / 1e9 if trigger else 0.0

    @property
    def is_part(self) -> bool:
        return bool(self.verdict and self.verdict.get("part_of"))

    def is_of(self, one: Planted) -> bool:
        jvm = self.first["jvm"]
        is_its_jvm = not one.pids or (jvm is not None and jvm["pid"] in one.pids)
        return is_its_jvm and one.from_s <= self.at_s <= one.to_s + LATE_S

    def causes(self) -> list[dict]:
        return ((self.verdict or {}).get("verdict") or {}).get("causes", [])

    def says(self) -> str:
        if not self.verdict:
            return "no verdict"
        named = ", ".join(f"`{cause['id']}` {cause['verdict']} {cause['share']:.0%}" for cause in self.causes()[:3])
        why = " (rows only)" if self.verdict.get("not_recorded") else ""
        return (named or (self.verdict["verdict"] or {}).get("says") or "; ".join(self.verdict["errors"])) + why


def incidents(bodies: list[dict]) -> list[Told]:
    """The incidents by id, sorted by time."""
    by_id: dict[str, list[dict]] = {}
    for body in bodies:
        by_id.setdefault(body["id"], []).append(body)
    return sorted(map(Told, by_id.values()), key=lambda told: told.at_s)


def table(illnesses: list[Planted], told: list[Told]) -> str:
    return "\n".join([head(TITLES, words=len(TITLES)), *(row_of(one, [each for each in told if each.is_of(one)]) for one in illnesses)])


def row_of(one: Planted, told: list[Told]) -> str:
    service = f"{one.service.name}, {one.service.about['jdk']}" if one.service else "all"
    noticed = "; ".join(f"`{each.first['trigger']['kind']}` after {each.at_s - one.from_s:.1f} s" for each in told if not each.is_part)
    named = "; ".join(each.says() for each in told if not each.is_part)
    return row([one.about["name"], service, felt(one), noticed or "no", named, "yes" if is_right(one, told) else "**no**"])


def is_right(one: Planted, told: list[Told]) -> bool:
    """Quiet illnesses must have no incident; the others one whose reason or first cause is the truth."""
    own = [each for each in told if not each.is_part]
    if one.about.get("quiet"):
        return not told
    if one.about["what"] == "neighbours" and len(own) != 1:
        return False
    return any(names(one, each) for each in own[:1])


def names(one: Planted, told: Told) -> bool:
    if told.first["trigger"]["kind"] in one.about["reasons"]:
        return True
    causes = [cause["id"] for cause in told.causes() if cause["verdict"] != "possible"] or [cause["id"] for cause in told.causes()]
    return bool(causes) and causes[0] in one.about["first"]


def felt(one: Planted) -> str:
    """The clients' medians before and during it."""
    if one.service is None:
        return ""
    sides: tuple[list[float], list[float]] = ([], [])
    failed = 0
    for line in (one.service.folder / "requests.csv").read_text().splitlines():
        due_ms, _, took_us = line.partition(",")
        at_s = float(due_ms) / 1e3
        if one.from_s - BEFORE_S <= at_s < one.to_s:
            failed += not took_us
            sides[at_s >= one.from_s].extend([float(took_us) / 1e3] if took_us else [])
    medians = " → ".join(f"{median(side):.1f}" if side else "none" for side in sides)
    return medians + (f", {failed} failed" if failed else "")


def extra(illnesses: list[Planted], told: list[Told]) -> list[str]:
    """Incidents that no illness explains."""
    unexplained = [each for each in told if not any(each.is_of(one) for one in illnesses)]
    return [f"{each.first['trigger']['says'] if each.first['trigger'] else 'after a crash'} ({main_of(each)}): {each.says()}" for each in unexplained]


def main_of(told: Told) -> str:
    return told.first["jvm"]["main"] if told.first["jvm"] else "a JVM"
