"""Hydra's sweeper of this program: no job's failure hides another job, and a table says what came of each.

Jobs of this process are launched one at a time, so that ``on_job_failure=stop`` and Ctrl-C end the sweep where it
stands. They are not composed beforehand as Hydra's own sweeper does: ``ccfw.request`` has looked at every choice.

Hydra finds plugins in this package only, and loads its own anew before it does: nothing else may import this file.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ccfw.errors import CcfwError, RequestError
from ccfw.outcome import ENDED, Outcome, io_error, of_error, say, table
from ccfw.secrets import scrub
from ccfw.terminal import printable

log = logging.getLogger("ccfw.sweep")


class Sweeper(BasicSweeper):
    """Every combination of the values given, as Hydra's basic sweeper makes them."""

    def sweep(self, arguments: list[str]) -> list[Outcome]:
        """Run the jobs, print the table whatever ends them, and return what came of those that ran."""
        jobs = self._jobs(arguments)
        self._keep_config()
        size = 1 if isinstance(self.launcher, BasicLauncher) else self.max_batch_size or len(jobs)
        ended: list[Outcome] = []
        try:
            for first in range(0, len(jobs), size):
                ended += self._launched(jobs[first : first + size], first, len(jobs))
                if self._ends(ended):
                    break
        finally:
            ENDED.extend(ended)
            print(table(jobs, ended), flush=True)
        return ended

    def _jobs(self, arguments: list[str]) -> list[list[str]]:
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        (jobs,) = self.split_arguments(parser.parse_overrides([*self._parse_config(), *arguments]), None)
        return jobs

    def _keep_config(self) -> None:
        assert self.config is not None
        folder = Path(self.config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, folder / "multirun.yaml")

    def _launched(self, batch: Sequence[Sequence[str]], first: int, total: int) -> list[Outcome]:
        assert self.launcher is not None
        assert self.config is not None
        if not self.config.dry_run:
            for number, job in enumerate(batch, first):
                log.info("job %d, of %d: %s", number, total, printable(scrub(" ".join(job))))
        try:
            returned = self.launcher.launch(batch, initial_job_idx=first)
        except (HydraException, OmegaConfBaseException) as error:
            problem: CcfwError = RequestError([" ".join(str(error).split())])
        except OSError as error:
            problem = io_error("could not write the job's own folder", error, "multirun")
        else:
            return [_outcome(each) for each in returned]
        say(problem)
        return [of_error(problem)] * len(batch)

    def _ends(self, ended: Sequence[Outcome]) -> bool:
        assert self.config is not None
        stops = self.config.on_job_failure == "stop"
        return any(outcome.interrupted or (stops and outcome.failed) for outcome in ended)


def _outcome(returned: JobReturn) -> Outcome:
    """Return what a job said of itself, or what its launcher says of it."""
    try:
        value = returned.return_value
    except Exception as error:  # whatever a job or its launcher raised is that job's failure
        log.exception("the job broke")
        return of_error(error)
    assert isinstance(value, Outcome)
    return value
