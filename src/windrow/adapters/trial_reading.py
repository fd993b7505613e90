"""Read what `windrow try` fetched in a process of its own, with the sandbox and the limits of a run."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from windrow.adapters import record_story
from windrow.adapters.trial import (
    DocumentFinding,
    DocumentReport,
    FetchedBytes,
    RecordPreview,
    TrialPart,
)
from windrow.clock import now
from windrow.config import Workspace
from windrow.contract import Answer, Ask, Collection, FollowResult, Observation, Request, Settle, Skip, Task, results_of
from windrow.digest import digest
from windrow.engine.requests.answers import body_of
from windrow.engine.sample import SampledAnswer
from windrow.engine.steps.pool import Pool
from windrow.engine.steps.worker import WorkerConfig
from windrow.model import Item, Level, Limits, Reading, Resource, Source


class TrialJob(Protocol):
    """A document to read: `run` is called in the other process."""

    @property
    def answer(self) -> SampledAnswer:
        """What was fetched."""

    def run(self, limits: Limits) -> list[TrialPart]:
        """Read the document, and return what `windrow try` prints of it."""


@contextmanager
def trial_pool(
    workspace: Workspace | None, collection: Collection, folder: Path, limits: Limits,
    resources: Mapping[str, Resource] | None = None,
) -> Iterator[Pool]:  # fmt: skip
    """Start a process for a `with` block which reads documents of a collection, and may open nothing but `folder`."""
    config = WorkerConfig(collection, folder, limits, resources or {})
    if workspace is not None:
        config = config._replace(sandbox=workspace.run.sandbox, secret_variables=workspace.secret_variables)
    pool = Pool(config, 1)
    try:
        yield pool
    finally:
        pool.close()


def read_apart(
    workspace: Workspace | None, collection: Collection, job: TrialJob, limits: Limits
) -> Iterator[TrialPart]:
    """Run a job in a process of its own, and yield its results; a document that could not be read has a reason."""
    with (
        tempfile.TemporaryDirectory(prefix="windrow-try-") as folder,
        trial_pool(workspace, collection, Path(folder), limits) as pool,
    ):
        result = pool.run_alone(job).result
    if not isinstance(result, Reading):
        yield from result
        return
    answer, phase = job.answer, collection.steps[0].phase
    size, body_digest = len(answer.body), digest(answer.body)
    yield FetchedBytes(answer.url, answer.url, size, body_digest, round(answer.seconds, 3))
    for finding in result.findings:
        yield DocumentFinding(answer.url, phase, finding.level, finding.kind, finding.message)
    yield DocumentReport(answer.url, collection.name, size, body_digest, phase, result.reason)


class RecordTrial(NamedTuple):
    """An answer or a file (without a `source`), to be followed and read by the step of a collection of records."""

    collection: Collection
    answer: SampledAnswer
    source: Source | None
    options: Mapping[str, str]

    def run(self, limits: Limits) -> list[TrialPart]:
        """Follow and read the document, without asking services."""
        return [*self._read(limits)]

    def _read(self, limits: Limits) -> Iterator[TrialPart]:
        url, collection, fields = self.answer.url, self.collection, self.answer.fields
        step = next(step for step in collection.steps if isinstance(step, Settle))
        content = body_of(cast(Any, io.BytesIO(self.answer.body)), fields, limits).read()
        yield FetchedBytes(url, url, len(content), digest(content), round(self.answer.seconds, 3))
        answer = Answer(Request(url), self.answer.status, fields, cast(Any, io.BytesIO(content)), now())
        follow = collection.follow if self.source else None
        follow_result = follow(self.source, {}, answer) if follow and self.source else FollowResult()
        task = Task(Item(0, collection.name, "attempt", url), cast(Any, io.BytesIO(content)), limits, {},
                    self.options, fields=fields, source=self.source, visited=answer.at,
                    offers=follow_result.offers, request=answer.request)  # fmt: skip
        results = results_of(step.run(task))
        if follow_result.skip and any(isinstance(result, Observation) for result in results):
            follow_result = FollowResult()  # a document that leads nowhere and is itself a record, such as an article
        yield from record_story.follow_findings(url, collection.phases[0], follow_result)
        count = 0
        for result in results:
            if isinstance(result, Observation):
                count += 1
                yield RecordPreview(url, collection.name, result.key, collection.name, result.value or {})
            elif isinstance(result, Skip):
                message = result.message or result.reason.meaning
                yield DocumentFinding(url, step.phase, Level.WARN, str(result.reason), message)
            elif isinstance(result, Ask):
                message = f"{result.name}: {result.method} {result.path} to {result.service}; a run makes this request"
                yield DocumentFinding(url, step.phase, Level.NOTE, "Ask", message)
        size, content_digest = len(content), digest(content)
        yield DocumentReport(url, collection.name, size, content_digest, step.phase, follow_result.skip, count)
