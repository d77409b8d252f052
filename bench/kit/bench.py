"""The common flow of both benchmarks: make missing inputs, build the tools, measure each file, then the growth."""

import argparse
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

from . import cuts, measure, table, tools
from .places import INPUTS, Refused

GROWTH_MB = [10, 100, 1_000]


def main(folder: Path, inputs: list[str], grow: str, resize: Callable[[Path, int, Path], Path], size_mb: int | None) -> None:
    """`inputs` are the files of the tables, `grow` is the file that `resize` cuts. Tables use at most `size_mb` of a file."""
    options = arguments(folder.name, inputs)
    if not all((INPUTS / name).exists() for name in [*inputs, grow]):
        subprocess.run([folder / "make_input"], check=True)
    chosen = tools.scan(folder / "tools", options.tool)
    if not chosen:
        raise Refused(f"no tool to run: none is called like {options.tool!r}, or none could be built")
    print(f"{folder.name}: {machine()}", flush=True)
    for name in options.files or inputs:
        file = INPUTS / name if name in inputs else Path(name)
        if size_mb and file.stat().st_size > size_mb * 1_000_000:
            file = resize(file, size_mb, INPUTS / f"{size_mb}mb_{file.name}")
        size = file.stat().st_size
        print(f"\n### {file.name}, {size / 1e6:.0f} MB\n", flush=True)
        print(table.of(measure.several(chosen, file), size), flush=True)
    if options.growth:
        print_growth(chosen, INPUTS / grow, resize)


def arguments(name: str, inputs: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"bench/{name}/run", description="Compares readers on the same files.")
    parser.add_argument("files", nargs="*", help=f"your own files instead of {', '.join(inputs)}")
    parser.add_argument("--tool", default="", type=str.lower, help="only tools whose name contains this")
    parser.add_argument("--no-growth", dest="growth", action="store_false", help="leave out the 10 MB to 1 GB table")
    return parser.parse_args()


def print_growth(chosen: list[tools.Tool], source: Path, resize: Callable[[Path, int, Path], Path]) -> None:
    if not cuts.enough_space(INPUTS, 2 * sum(GROWTH_MB)):
        print("\nno growth table: less than 2 GB of disk are free")
        return
    by_size = []
    for size_mb in GROWTH_MB:
        file = resize(source, size_mb, INPUTS / f"grow_{size_mb}{source.suffix}")
        results = [measure.Result(tool, file, [run], [], run.events, run.failure) for tool, run in cold_runs(chosen, file)]
        by_size.append((file.stat().st_size, results))
        file.unlink()
    print(f"\n### {source.name}, one cold process each, as the file grows\n")
    print(table.growth(by_size), flush=True)


def cold_runs(chosen: list[tools.Tool], file: Path) -> list[tuple[tools.Tool, measure.Run]]:
    return [(tool, measure.run_once(tool, file, 1)) for tool in chosen]


def machine() -> str:
    """The machine of the measurement, with its load before the start."""
    model = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    busy = os.getloadavg()[0]
    return f"{os.cpu_count()} × {model[0] if model else platform.machine()}, Linux {platform.release()}, load {busy:.1f} at the start"
