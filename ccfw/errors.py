"""What can go wrong, one class per boundary crossed."""

from __future__ import annotations

from collections.abc import Iterable


class CcfwError(Exception):
    """A run that could not finish; what was done before stays."""

    exit_code = 1


class RequestError(CcfwError):
    """Mistakes in what was asked for, all of them at once, before anything is paid.

    ``problems`` holds one line each: key, value, and the options or the next step.
    """

    exit_code = 2

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class PromptError(CcfwError):
    """A prompt file is missing, or names a field that its role may not see."""


class StoreError(CcfwError):
    """A file of the workspace cannot be read or written as expected."""


class StoppedError(CcfwError):
    """The job is to begin nothing more; what it has stays."""


class BudgetError(StoppedError):
    """The next call might cost more than what is left of the budget."""


class ProviderError(CcfwError):
    """A call to a model failed.

    ``transient`` says whether another try can help; ``retry_after`` is the provider's own wish in seconds;
    ``overload`` says that there were too many calls; ``maybe_paid`` that the provider may bill for it although no
    reply came through; ``hopeless`` that every call of this model will fail as this one did.
    """

    def __init__(
        self,
        message: str,
        *,
        transient: bool,
        retry_after: float | None = None,
        overload: bool = False,
        maybe_paid: bool = False,
        hopeless: bool = False,
    ) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after
        self.overload = overload
        self.maybe_paid = maybe_paid
        self.hopeless = hopeless
