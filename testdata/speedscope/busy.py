"""Sorts and waits, for py-spy."""

import random
import threading
import time


def sort(until):
    while time.monotonic() < until:
        sorted(random.random() for _ in range(2_000))


def wait(until):
    while time.monotonic() < until:
        time.sleep(0.01)


until = time.monotonic() + 3
threads = [threading.Thread(target=of, args=(until,), name=of.__name__) for of in (sort, wait)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
