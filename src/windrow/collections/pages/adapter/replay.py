"""Read the kept pages again with today's readers: a new Summary Database beside the old one, then in its place."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from windrow.adapter import Replayed, RereadCount
from windrow.collections.pages.adapter.harvest import harvest
from windrow.collections.pages.adapter.indexing import follower
from windrow.collections.pages.database.fulltext_table import go_on
from windrow.collections.pages.database.plain import compare
from windrow.collections.pages.database.sound import reached
from windrow.collections.pages.database.store import SummaryStore
from windrow.collections.pages.settings import pages_of
from windrow.config import Workspace
from windrow.config.place import replay_folder
from windrow.engine.progress import Progress
from windrow.engine.rebuild import rebuild, settle_unread
from windrow.engine.release import released
from windrow.engine.session import Session, SessionSettings
from windrow.stores.connect import connect
from windrow.stores.index.folder import refuse_strange
from windrow.stores.index.folder import remove as remove_index


def replay(workspace: Workspace, setup: SessionSettings, progress: Progress) -> Replayed | None:
    """Rebuild the Summary Database from the captures, and the index from that; None where there is none yet.

    The old one is in place until all is read; a stop leaves it as it is.
    """
    old = pages_of(workspace.sections).summary
    if not old.is_file():
        return None
    refuse_strange(pages_of(workspace.sections).index)
    new = replay_folder(old) / old.name
    with Session(setup, "replay pages", progress) as session:

        def build() -> None:
            made = harvest(workspace.told("pages", replace(pages_of(workspace.sections), summary=new)))
            if made.books:
                made.books.close()
            session.harvest(replace(made, books=None, reread=True), phases=frozenset({"summarise"}), fetch=False)
            with closing(SummaryStore(f"sqlite:///{new}")) as after:
                after.adopt_sessions(old)
            if not session.stops:
                phase = made.collection.phase("summarise")
                known = {one.number for one in session.ledger.unread.visits("pages", phase)}
                engine = connect(f"sqlite:///{old}")
                with released(engine.dispose):
                    settled_upto = reached(engine)
                lost = [visit for visit in made.unread if visit <= settled_upto and visit not in known]
                settle_unread(session.ledger, made.collection, made.unread, lost, old)

        told = rebuild(session, old, new, build, lambda: compare(old, new))
        remove_index(pages_of(workspace.sections).index)
        follower(old, pages_of(workspace.sections).index)(go_on)
    return Replayed(session.ordinal, versions=RereadCount(session.ordinal, *told))
