"""An access log as a shop might have it: few paths are asked for most of the time, and requests come in bursts."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate

BEGINS = datetime(2026, 11, 20, 6, 30, tzinfo=UTC)
# Requests of an ordinary second; every so many seconds there are more, for some seconds.
PER_SECOND = 200
BURST_EVERY_S, BURST_S, BURST_FACTOR = 50, 4, 3
# How many of a hundred requests ask for which route.
ROUTES = {"/": 35, "/items/{item}": 40, "/search?q={word}": 9, "/pictures/{picture}": 15, "/report": 1}
# The item in place n is asked for in proportion to 1 / n.
ITEMS = 5_000
PICTURES = 50
WORDS = ["shoe", "a1", "blue", "xyz", "q7"]


def lines(count: int, seed: int) -> Iterator[str]:
    """So many lines in the common format, with whole seconds. The same seed gives the same lines."""
    rng = random.Random(seed)
    path = paths(rng)
    left, second = count, 0
    while left:
        now = min(left, arrivals(second, rng))
        stamp = f"{BEGINS + timedelta(seconds=second):%d/%b/%Y:%H:%M:%S %z}"
        yield from (f'10.0.{rng.randrange(256)}.{rng.randrange(256)} - - [{stamp}] "GET {next(path)} HTTP/1.1" 200 512\n' for _ in range(now))
        left, second = left - now, second + 1


def arrivals(second: int, rng: random.Random) -> int:
    """How many requests come in a second of the log."""
    in_burst = second % BURST_EVERY_S >= BURST_EVERY_S - BURST_S
    mean = PER_SECOND * (BURST_FACTOR if in_burst else 1)
    # Of many independent users: their number spreads by its root.
    return max(0, round(rng.gauss(mean, mean**0.5)))


def paths(rng: random.Random) -> Iterator[str]:
    routes, parts = list(ROUTES), list(accumulate(ROUTES.values()))
    items, weights = range(1, ITEMS + 1), list(accumulate(1 / place for place in range(1, ITEMS + 1)))
    while True:
        route = rng.choices(routes, cum_weights=parts)[0]
        yield route.format(item=rng.choices(items, cum_weights=weights)[0], word=rng.choice(WORDS), picture=rng.randrange(PICTURES))
