"""Clients of a service under watch."""

import http.client
import threading
import time
from collections.abc import Callable


def ask(port: int, rate: Callable[[], float], stop: threading.Event) -> None:
    """Sends `rate` requests per second on one connection, and reconnects when it breaks."""
    connection, due = None, time.monotonic()
    while not stop.is_set():
        due = max(due + 1 / rate(), time.monotonic() - 1)
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            connection = None
