"""A thread-safe log of the requests that a fake received."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Condition
from typing import Any, Self

from tests.fakes.wire import FakeRequest, body_digest


class TrafficLog:
    """Requests in order of arrival, and how many were in flight at once."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._requests: list[FakeRequest] = []
        self._attempts: Counter[str] = Counter()
        self._in_flight = 0
        self._peak = 0

    @property
    def requests(self) -> list[FakeRequest]:
        """A copy of the log as it stands."""
        with self._changed:
            return list(self._requests)

    @property
    def in_flight(self) -> int:
        """Requests received and not yet answered or given up."""
        with self._changed:
            return self._in_flight

    @property
    def peak_in_flight(self) -> int:
        """The most requests ever in flight at once."""
        with self._changed:
            return self._peak

    def counts(self) -> Counter[int | None]:
        """Return the number of requests by status sent; ``None`` counts those without one."""
        with self._changed:
            return Counter(request.status for request in self._requests)

    def clear(self) -> None:
        """Forget all past requests: indices and attempts start at 0 again."""
        with self._changed:
            self._requests.clear()
            self._attempts.clear()
            self._peak = self._in_flight

    def wait_until(self, met: Callable[[Self], bool], timeout: float = 10.0) -> None:
        """Block until ``met`` holds of the log, or raise ``TimeoutError``."""
        with self._changed:
            if not self._changed.wait_for(lambda: met(self), timeout):
                raise TimeoutError(f"not met in {timeout} s; statuses so far: {dict(self.counts())}")

    def _enter(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> FakeRequest:
        digest = body_digest(body)
        with self._changed:
            index, attempt = len(self._requests), self._attempts[digest]
            request = FakeRequest(body, headers, index, attempt, time.monotonic())
            self._attempts[digest] += 1
            self._requests.append(request)
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)
            self._changed.notify_all()
        return request

    def _mark(self, request: FakeRequest, status: int) -> None:
        with self._changed:
            request.status = status
            self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            self._in_flight -= 1
            self._changed.notify_all()
