"""Results as Markdown, with ratios against Fathom on one thread and the verdict in one line."""

from .measure import Result

HEADER = "| tool | version | best s | median s | MB/s | events | k events/s | cold s | CPU s | peak MB | times Fathom |"
RULE = "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"


# A file of several times the size may have fewer events than its share by this much, since its parts differ.
LEFT_OUT = 0.5


def of(results: list[Result], size_bytes: int) -> str:
    """One table, fastest first, and below it the ratio of Fathom to the fastest peer."""
    good = sorted((result for result in results if not result.failure), key=lambda result: result.best_s)
    base = next((result for result in good if result.tool.ours and result.tool.environment), None)
    lines = [HEADER, RULE, *(row(result, size_bytes, base) for result in good)]
    lines += [f"| {result.tool.name} | {result.tool.version} | {result.failure} |||||||||" for result in results if result.failure]
    return "\n".join([*lines, "", *verdict(good, base), *notes(good)])


def row(result: Result, size_bytes: int, base: Result | None) -> str:
    rate = f"{result.events:,} | {result.events / 1e3 / result.best_s:,.0f}" if result.events else "– | –"
    times = f"{result.best_s / base.best_s:.1f}" if base else "–"
    return (
        f"| {result.tool.name} | {result.tool.version} | {result.best_s:.3f} | {result.median_s:.3f} "
        f"| {size_bytes / 1e6 / result.best_s:.1f} | {rate} | {result.cold_s:.2f} | {result.cpu_s:.2f} "
        f"| {result.peak_bytes / 1e6:.0f} | {times} |"
    )


def verdict(good: list[Result], base: Result | None) -> list[str]:
    """Peers that do the same work: those that deliver events pass by pass."""
    peers = [result for result in good if not result.tool.ours and result.events]
    if not base or not peers:
        return []
    fastest = peers[0]
    ratio = fastest.best_s / base.best_s
    return [f"Fathom on one thread is {ratio:.1f} times as fast as the fastest peer, {fastest.tool.name}."]


def notes(good: list[Result]) -> list[str]:
    return [f"{result.tool.name}: {result.tool.note}." for result in good if result.tool.note]


def growth(by_size: list[tuple[int, list[Result]]]) -> str:
    """One row per tool: time of a cold process and its peak memory, as the file grows."""
    sizes = [f"{size / 1e6:.0f} MB" for size, _ in by_size]
    head = "| tool | " + " | ".join(f"{size}: s | peak MB" for size in sizes) + " |"
    lines = [head, "|---|" + "--:|--:|" * len(sizes)]
    smallest, firsts = by_size[0]
    for index, first in enumerate(firsts):
        cells = " | ".join(growth_cell(results[index], first.events * size / smallest) for size, results in by_size)
        lines.append(f"| {first.tool.name} | {cells} |")
    return "\n".join(lines)


def growth_cell(result: Result, events_expected: float) -> str:
    """A tool that skips a part of its input is not fast."""
    if result.failure:
        return f"{result.failure} |"
    left_out = f", only {result.events:,} events" if result.events < LEFT_OUT * events_expected else ""
    return f"{result.cold_s:.2f}{left_out} | {result.peak_bytes / 1e6:.0f}"
