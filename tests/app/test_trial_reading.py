"""What `windrow try` fetched is read in another process, which may neither write, connect nor use more than its limits."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from windrow.adapters.trial import DocumentFinding, DocumentReport, TrialPart
from windrow.adapters.trial_reading import read_apart
from windrow.collections.news.collection import COLLECTION
from windrow.engine.sample import SampledAnswer
from windrow.model import Level, Limits
from windrow.reasons import Reason


class Intruder(NamedTuple):
    """A document that takes over the process which reads it."""

    answer: SampledAnswer
    folder: Path

    def run(self, limits: Limits) -> list[TrialPart]:
        del limits
        if self.answer.body == b"for ever":
            while True:
                pass
        done = [str(os.getpid())]
        try:
            (self.folder / "written").touch()
            done.append("wrote")
        except OSError:
            pass
        try:
            socket.socket()
            done.append("connected")
        except OSError:
            pass
        return [DocumentFinding("a", "extract", Level.NOTE, "Done", " ".join(done))]


def test_a_document_is_read_in_the_sandbox(tmp_path: Path) -> None:
    answer = SampledAnswer("http://a.example/", b"", 200, {}, 0.0)
    (finding,) = read_apart(None, COLLECTION, Intruder(answer, tmp_path), Limits())
    assert isinstance(finding, DocumentFinding)
    assert finding.message.isdecimal()
    assert int(finding.message) != os.getpid()
    assert not (tmp_path / "written").exists()


def test_a_document_that_takes_too_long_has_a_reason(tmp_path: Path) -> None:
    answer = SampledAnswer("http://a.example/", b"for ever", 200, {}, 0.0)
    parts = [*read_apart(None, COLLECTION, Intruder(answer, tmp_path), replace(Limits(), cpu_time=1))]
    assert isinstance(parts[-1], DocumentReport)
    assert parts[-1].reason is Reason.TIME_LIMIT
