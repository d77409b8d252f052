"""What the labs with real servers print about an answer."""

from pathlib import Path


def accused(answer: dict) -> list[dict]:
    """Causes with a tenth of the lost time or more, the largest first."""
    causes = [cause for cause in answer["causes"] if cause["verdict"] in ("shown", "likely") and cause["share"] >= 0.1]
    return sorted(causes, key=lambda cause: -cause["share"])


def is_right(jdk: Path, variant: dict, answer: dict, felt: str) -> bool:
    """Prints a row of the table. Returns whether the truth comes first, or, for a healthy server, whether no cause is named."""
    causes = accused(answer)
    first = causes[0]["id"] if causes else None
    right = first in variant["truth"] if variant["truth"] else first is None
    says = ", ".join(f"{cause['id']} {cause['share']:.0%}" for cause in causes[:3]) or "no cause named"
    truth = ", ".join(variant["truth"]) or "nothing"
    print(f"{'ok   ' if right else 'WRONG'} {jdk.name:28} {variant['name']:20} truth: {truth:26} {says}; p99 {felt}", flush=True)
    return right


def latencies(file: Path) -> list[tuple[float, float, float]]:
    """When requests were due (s since the epoch), and how long they took from then and from when they were sent, in ms."""
    rows = [line.split(",") for line in file.read_text().splitlines()[1:] if line.count(",") == 2]
    return [(float(start_ms) / 1000, float(took_ms), float(asked_ms)) for start_ms, took_ms, asked_ms in rows]


def p99(file: Path, since_s: float, well_s: float) -> str:
    """The clients' latency before and after. It is not given to Fathom."""
    sides: tuple[list[float], list[float]] = ([], [])
    for at_s, took_ms, _ in latencies(file):
        if at_s >= since_s - well_s:
            sides[at_s >= since_s].append(took_ms)
    of = lambda side: f"{sorted(side)[int(len(side) * 0.99)]:.0f} ms" if side else "none"
    return f"{of(sides[0])} > {of(sides[1])}"
