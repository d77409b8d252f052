"""Tables of how often methods are wrong about recorded runs, and how often they find what is there."""

import itertools
import random
from collections import Counter
from pathlib import Path

import numpy as np
from kit.figures import head, row

from . import runs
from .methods import OTHERS, change_points, rates, verdicts
from .runs import Run, Sides
from .services import DELAYED, OUT_FROM, OUT_TO, SERVICES

SEED = 46
# So many A/A comparisons of each service and number of runs; the standard error of a rate of 5 % is 1.5 points then.
COMPARISONS = 200
RUNS = (3, 5, 10)
CHANGES = (0.05, 0.1, 0.2)
MACHINES = ("quiet", "busy")
# Those of the quiet machine beside which nothing else ran.
UNDISTURBED = "quiet, undisturbed"
POWERS = ["fathom: worse", "its interval of p99", *OTHERS]
Pools = dict[tuple[str, str], list[Run]]


def count(program: str, fathom: str, folder: Path) -> None:
    pools = {(machine, service): runs.read(fathom, folder, f"{machine}/{service}") for machine in MACHINES for service in SERVICES}
    pools |= without_disturbed(pools)
    chance = random.Random(SEED)
    print_pools(pools)
    print_equal(program, pools, chance)
    print_blocks(program, pools)
    print_power(program, pools, chance)
    print_delayed(program, pools["quiet", DELAYED], runs.read(fathom, folder, "quiet/delayed"), chance)
    print_series(fathom, folder)


def without_disturbed(pools: Pools) -> Pools:
    """The runs of the quiet machine beside which nothing else ran; none where that are all of them."""
    left = {(UNDISTURBED, service): runs.undisturbed(pools["quiet", service]) for service in SERVICES}
    return left if any(len(pool) < len(pools["quiet", service]) for (_, service), pool in left.items()) else {}


def percent(part: float) -> str:
    return f"{part * 100:.1f} %"


def possible(pool: list[Run]) -> list[int]:
    """Numbers of runs a side for which there are enough."""
    return [number for number in RUNS if 2 * number <= len(pool)]


def print_pools(pools: Pools) -> None:
    print(f"\nThe runs\n\n{head(['machine', 'service', 'runs', 'requests of a run', 'p50', 'p99', 'log p50 varies by', 'CPUs used by others'], 2)}")
    for (machine, service), pool in pools.items():
        middle = lambda name: f"{np.median([run.figures[name] for run in pool]) / 1e6:.2f} ms"  # noqa: B023, E731
        others = [run.others_cpu for run in pool]
        requests = f"{np.median([run.figures['count'] for run in pool]):.0f}"
        used = f"{percent(min(others))} to {percent(max(others))}"
        print(row([machine, service, len(pool), requests, middle("p50_ns"), middle("p99_ns"), percent(runs.deviation(pool)), used]))


def print_equal(program: str, pools: Pools, chance: random.Random) -> None:
    titles = ["machine", "service", "runs a side", "fathom: better or worse", "not comparable", "with `--accept busy`", *OTHERS]
    print(f"\nEqual runs called different\n\n{head(titles, 2)}", flush=True)
    for (machine, service), pool in pools.items():
        for number in possible(pool):
            comparisons = [runs.drawn(pool, number, chance) for _ in range(COMPARISONS)]
            found, refused = of_kinds(program, comparisons)
            accepted, _ = of_kinds(program, comparisons, with_others=False)
            print(row([machine, service, number, *(percent(rate) for rate in [found, refused, accepted, *rates(comparisons).values()])]), flush=True)


def of_kinds(program: str, comparisons: list[Sides], with_others: bool = True) -> tuple[float, float]:
    """Rates of verdicts that say different, and of those that refuse."""
    kinds = Counter(kind for kind, *_ in verdicts(program, comparisons, with_others))
    return (kinds["Better"] + kinds["Worse"]) / len(comparisons), kinds["NotComparable"] / len(comparisons)


def print_blocks(program: str, pools: Pools) -> None:
    titles = ["machine", "runs a side", "comparisons", "fathom: better or worse", "not comparable", *OTHERS]
    print(f"\nEqual runs, all of one side before those of the other\n\n{head(titles)}", flush=True)
    for machine in MACHINES:
        for number in RUNS:
            comparisons = [sides for service in SERVICES for sides in runs.blocks(pools[machine, service], number)]
            found = [*of_kinds(program, comparisons, with_others=False), *rates(comparisons).values()]
            print(row([machine, number, len(comparisons), *(percent(rate) for rate in found)]), flush=True)


def print_power(program: str, pools: Pools, chance: random.Random) -> None:
    """Of all services together; what the others use of the CPUs is accepted."""
    for what, slower in (("All requests slower", Run.slower), ("Only the slowest 2 % slower", Run.slower_tail)):
        print(f"\n{what}: how often it is found\n\n{head(['machine', 'runs a side', 'by', *POWERS])}", flush=True)
        for machine in dict.fromkeys(machine for machine, _ in pools):
            for number, by in itertools.product(possible(min((pools[machine, service] for service in SERVICES), key=len)), CHANGES):
                drawn = [runs.drawn(pools[machine, service], number, chance) for service in SERVICES for _ in range(COMPARISONS)]
                found = power(program, [(a, [slower(run, by) for run in b]) for a, b in drawn])
                print(row([machine, number, f"{by * 100:+.0f} %", *found]), flush=True)


def power(program: str, comparisons: list[Sides]) -> list[str]:
    answers = verdicts(program, comparisons, with_others=False)
    ours = [np.mean([kind == "Worse" for kind, *_ in answers]), np.mean([tail == "different" for _, tail, _ in answers])]
    return [percent(rate) for rate in [*ours, *rates(comparisons).values()]]


def print_delayed(program: str, pool: list[Run], delayed: list[Run], chance: random.Random) -> None:
    """The delay is a real one: each delayed run beside the run of the same round."""
    plain = {run.name: run for run in pool}
    pairs = [(plain[run.name], run) for run in delayed]
    ratios = np.log([slow.p50_ms() / run.p50_ms() for run, slow in pairs])
    print(f"\n{DELAYED}, with a delay in the program: p50 {np.expm1(ratios.mean()) * 100:+.1f} % over {len(pairs)} pairs\n")
    print(head(["runs a side", *POWERS], 0), flush=True)
    for number in RUNS:
        chosen = [sorted(chance.sample(range(len(pairs)), number)) for _ in range(COMPARISONS)]
        comparisons = [tuple([pairs[index][side] for index in indices] for side in (0, 1)) for indices in chosen]
        print(row([number, *power(program, comparisons)]), flush=True)


def print_series(fathom: str, folder: Path) -> None:
    """Where `fathom runs` and otava see a change."""
    print(f"\nMarks in series of runs; of the last, the runs {OUT_FROM + 1} to {OUT_TO} are slower\n")
    print(head(["series", "runs", "fathom runs: from run", "otava: from run"]))
    for place in [*(f"{machine}/{service}" for machine in MACHINES for service in SERVICES), f"series/{DELAYED}"]:
        history = runs.history(fathom, folder / place)
        points = change_points([run["latencies"]["p50_ns"] / 1e6 for run in history["runs"]])
        cells = [[mark["at"] + 1 for mark in history["marks"]], points]
        print(row([place, len(history["runs"]), *(", ".join(map(str, cell)) or "none" for cell in cells)]))
