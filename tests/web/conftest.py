"""The workspace of these tests, made once for each process, and its web view."""

from __future__ import annotations

import pytest
from starlette.types import ASGIApp

import windrow
from tests.web.farm import make_farm
from windrow.web import app


@pytest.fixture(scope="session")
def farm(tmp_path_factory: pytest.TempPathFactory) -> windrow.Windrow:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WINDROW_WORKSPACE", raising=False)
        return make_farm(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="session")
def view(farm: windrow.Windrow) -> ASGIApp:
    return app(farm)
