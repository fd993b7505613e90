"""How the crawls of a workspace spell a web address."""

from __future__ import annotations

from windrow.collections.pages.discover import make_site_policy, normalise_web_address
from windrow.collections.pages.scope import clean_address
from windrow.config import Workspace
from windrow.formats.url import normalise_typed


def spell_address(workspace: Workspace, text: str) -> str:
    """Return a web address as the crawls of this workspace spell it, or "" if it is not a valid web address.

    Unlike `normalise_web_address`, this keeps the parameters that a source's `url_query_parameters` name.
    """
    url = normalise_typed(text)
    if not url or "?" not in url:
        return normalise_web_address(text)
    sources = [source for source in workspace.sources if source.collection == "pages"]
    return clean_address(url, {name for source in sources for name in make_site_policy(source).named_parameters})
