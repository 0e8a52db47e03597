"""Sessions, turns and workspaces in the store: new files, files of other programs, and files of the version before."""

from memctl.store import connect, sessions, workspaces
from memctl.store.database import Database
from stores import check_index


def test_a_session_is_made_once_and_keeps_what_is_not_given(db: Database) -> None:
    first = sessions.begin_session(db, "proj:1", scope="team", client="chat")
    assert (first.project, first.scope, first.client, first.turns) == ("proj", "team", "chat", 0)
    before = db.value("SELECT total_changes()")
    assert (
        sessions.begin_session(db, "proj:1")
        == sessions.begin_session(db, "proj:1", scope="team", client="chat")
        == first
    )
    assert db.value("SELECT total_changes()") == before
    moved = sessions.begin_session(db, "proj:1", scope="deck")
    assert (moved.scope, moved.client, moved.created_at) == ("deck", "chat", first.created_at)
    assert sessions.get_session(db, "proj:1") == moved
    assert sessions.get_session(db, "proj:2") is None


def test_turns_are_numbered_and_the_newest_come_in_order(db: Database) -> None:
    for n in range(1, 6):
        assert sessions.add_turn(db, "s", f"q{n}", f"a{n}", ["docs/a.md:3", "MEM-1"]) == n
    assert [turn.question for turn in sessions.list_turns(db, "s")] == ["q1", "q2", "q3", "q4", "q5"]
    assert [turn.number for turn in sessions.list_turns(db, "s", 2)] == [4, 5]
    assert sessions.list_turns(db, "s", 1)[0].sources == ("docs/a.md:3", "MEM-1")
    session = sessions.get_session(db, "s")
    assert session is not None and session.turns == 5
    assert sessions.list_turns(db, "other") == []


def test_an_answer_goes_to_the_open_question(db: Database) -> None:
    assert sessions.add_turn(db, "s", "q", "") == 1
    assert sessions.answer_turn(db, "s", "a", injectable=False) == 1
    assert sessions.answer_turn(db, "s", "b") == 2
    assert [(t.question, t.answer, t.injectable) for t in sessions.list_turns(db, "s")] == [
        ("q", "a", False),
        ("", "b", True),
    ]


def test_old_files_get_them_and_keep_what_they_had(old: str) -> None:
    theirs = connect.open_read(old)
    had = [one.name for one in workspaces.list_workspaces(theirs)]
    assert sessions.list_sessions(theirs) == []
    theirs.close()
    db = connect.open_write(old)
    sessions.add_turn(db, "p:1", "q", "a")
    workspaces.put_workspace(db, workspaces.Workspace("crew", scope="deck", budget=7))
    assert [one.name for one in workspaces.list_workspaces(db)] == [*had, "crew"]
    check_index(db)
    db.close()


def test_a_file_of_the_version_before_is_read_and_brought_up_to_date(path: str) -> None:
    db = connect.open_write(path, create=True)
    for table in ("memory_sessions", "memory_turns", "memory_workspaces", "memory_workspace_options"):
        db.run(f"DROP TABLE {table}")
    db.run("DELETE FROM memctl_migrations WHERE number >= 4")
    db.close()
    db = connect.open_read(path)
    assert (sessions.list_sessions(db), sessions.list_turns(db, "s"), sessions.count_sessions(db)) == ([], [], 0)
    assert workspaces.get_workspace(db, "default") == workspaces.Workspace("default")
    db.close()
    db = connect.open_write(path)
    assert sessions.add_turn(db, "s", "q", "a") == 1
    db.close()


def test_a_reset_takes_conversations_with_it_and_leaves_the_views(db: Database) -> None:
    from memctl.store.contents import reset_store

    sessions.add_turn(db, "s", "q", "a")
    workspaces.put_workspace(db, workspaces.Workspace("crew"))
    counts = reset_store(db, preserve_mounts=True, dry_run=False)
    assert (counts["memory_sessions"], counts["memory_turns"]) == (1, 1)
    assert sessions.list_sessions(db) == []
    assert workspaces.get_workspace(db, "crew") is not None
