"""Files read in processes of their own: one that hangs, crashes or talks takes no other with it."""

import importlib.util
import mmap
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memctl.extract import Limits
from memctl.ingest import workers
from memctl.ingest.plan import read_tasks
from memctl.ingest.prepare import FileTask, Options, Prepared, PreparedPassage, Preparer
from memctl.ingest.workers import Team, Worker, check_prepared
from memctl.policy import MemoryPolicy
from memctl.store.documents.corpus import IngestedFile
from memctl.store.documents.passages import SourcePosition

DATA = Path(__file__).resolve().parents[1] / "data" / "fake_docx.py"


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that makes documents for a stand-in of python-docx, which new processes find first."""
    spec = importlib.util.spec_from_file_location("fake_docx", DATA)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in [name for name in sys.modules if name.partition(".")[0] == "docx"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(module.install(tmp_path / "lib")))
    return module


@pytest.fixture(params=["forked where that is safe", "spawned"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How processes are started; they read every file."""
    monkeypatch.setattr(workers, "READ_HERE", 0)
    if request.param == "spawned":
        monkeypatch.setattr("threading.active_count", lambda: 2)


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Whatever a test did, no child is left over."""
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def job(path: Path) -> FileTask:
    return FileTask(str(path), path.stat().st_size)


def prepare(paths: list[Path], seconds: float = 30, processes: int = 0) -> list[Prepared]:
    return list(read_tasks(Preparer(Options(limits=Limits(seconds=seconds)), None), map(job, paths), processes))


def heard(done: list[Prepared]) -> list[str]:
    """What became of each file: the word the stand-in read, or why there is none."""
    found = [re.search(r"ValueError: (read .*)\)", one.problem) for one in done]
    return [read[1] if read else one.problem for read, one in zip(found, done, strict=True)]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("processes", [0, 2])
def test_one_that_hangs_is_stopped_and_the_others_go_on(fake: Any, tmp_path: Path, processes: int) -> None:
    acts = ["first", "sleep", "second", "sleep", "third"]
    paths = [fake.make(tmp_path / f"{n}.docx", act) for n, act in enumerate(acts)]
    done = prepare(paths, seconds=1, processes=processes)
    late = "reading it took more than 1 seconds (ingest.max_seconds in config.json)"
    assert heard(done) == ["read first", late, "read second", late, "read third"]
    assert [one.path for one in done] == [str(path) for path in paths]
    assert all(done[n].file is None for n in (1, 3))  # its bytes were not seen: what the store has of it stays


@pytest.mark.usefixtures("way")
def test_one_that_crashes_takes_no_other_with_it(fake: Any, tmp_path: Path) -> None:
    acts = ["first", "crash", "second", "crash", "crash", "third"]
    paths = [fake.make(tmp_path / f"{n}.docx", act) for n, act in enumerate(acts)]
    crashed = "its reader crashed"
    assert heard(prepare(paths)) == ["read first", crashed, "read second", crashed, crashed, "read third"]


@pytest.mark.usefixtures("way")
def test_one_that_dies_of_what_was_read_before_is_read_again(fake: Any, tmp_path: Path) -> None:
    paths = [fake.make(tmp_path / f"{n}.docx", act) for n, act in enumerate(["count", "tired", "last"])]
    assert heard(prepare(paths)) == ["read count", "read tired", "read last"]


@pytest.mark.usefixtures("way")
def test_one_that_wants_all_memory_fails_alone(fake: Any, tmp_path: Path) -> None:
    paths = [fake.make(tmp_path / f"{n}.docx", act) for n, act in enumerate(["first", "eat", "second"])]
    assert heard(prepare(paths)) == ["read first", "reading it takes more memory than there is", "read second"]


@pytest.mark.usefixtures("way")
def test_a_program_with_much_address_space_has_its_documents_read(fake: Any, tmp_path: Path) -> None:
    """As one that has loaded a model has; a fork begins with all of it."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    with closing(mmap.mmap(-1, workers.MEMORY + (1 << 30), flags=flags, prot=mmap.PROT_READ)):
        done = prepare([fake.make(tmp_path / f"{act}.docx", act) for act in ("first", "eat", "second")])
    assert heard(done) == ["read first", "reading it takes more memory than there is", "read second"]


@pytest.mark.usefixtures("way")
def test_one_that_prints_does_not_speak_in_the_answers(
    fake: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = [fake.make(tmp_path / f"{n}.docx", act) for n, act in enumerate(["print", "second"])]
    assert heard(prepare(paths)) == ["read print", "read second"]
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("way")
def test_a_crash_in_a_bundle_loses_only_its_own_file(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "needs_worker", lambda _path: False)  # so that they travel together
    acts = ["crash" if n == 7 else f"file {n}" for n in range(20)]
    paths = [fake.make(tmp_path / f"{n:02}.docx", act) for n, act in enumerate(acts)]
    done = heard(prepare(paths, processes=2))
    assert done == ["its reader crashed" if n == 7 else f"read file {n}" for n in range(20)]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("processes", [0, 1, 2, 5])
def test_results_come_in_order_and_are_those_of_one_process(
    tmp_path: Path, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "BUNDLE_BYTES", 2000)
    monkeypatch.setattr(workers, "READ_HERE", 20_000)  # the first files are read here
    paths = []
    for n in range(60):
        paths.append(tmp_path / f"{n:02}.md")
        paths[-1].write_text(f"# Title {n}\n\n" + f"Words of file {n}. " * (997 * n % 400))
    alone = prepare(paths)
    together = prepare(paths, processes=processes)
    assert [one._replace(file=None) for one in together] == [one._replace(file=None) for one in alone]
    assert [one.file and one.file.sha256 for one in together] == [one.file and one.file.sha256 for one in alone]


@pytest.mark.usefixtures("way")
def test_a_policy_that_has_judged_goes_along(tmp_path: Path) -> None:
    secret = "ghp_" + "Zk3Rt9Qw7Lm2Xv8Bn4Hs6Jd1Pf5Yc0GaEuTo"
    policy = MemoryPolicy()
    assert policy.judge(f"token {secret}").redacted  # its expressions are compiled when they are first used
    path = tmp_path / "a.md"
    path.write_text(f"The deploy token is {secret}\n")
    (one,) = read_tasks(Preparer(Options(), policy), [job(path)], 1)
    assert one.problem == "" and one.passages
    assert secret not in one.passages[0].content


def test_what_stops_a_thread_is_told_to_who_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"{n}.md" for n in range(3)]
    for path in paths:
        path.write_text("Words.\n")

    def fail(*_args: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(Team, "_start", fail)
    with pytest.raises(OSError, match="no more processes"):
        prepare(paths, processes=2)


class Told:
    """A reader that says how nice its process is."""

    limits = Limits()

    def read(self, _path: str, _sha256: str | None) -> int:
        return os.nice(0)


def test_who_writes_goes_before_who_reads() -> None:
    worker = workers.start(Told(), lambda value, _path: value)
    try:
        assert worker.ask([("a", None)], 30) == [min(19, os.nice(0) + 2)]
    finally:
        worker.end()


@pytest.mark.usefixtures("way")
def test_closed_in_the_middle_it_starts_nothing_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BUNDLE_BYTES", 1000)
    paths = []
    for n in range(300):
        paths.append(tmp_path / f"{n:03}.md")
        paths[-1].write_text("Words. " * 2000)
    started, real = [], workers.start

    def start(*args: Any) -> Worker:
        started.append(real(*args))
        return started[-1]

    monkeypatch.setattr(workers, "start", start)
    with closing(Team(Preparer(Options(), None), 2)) as team:
        next(iter(team.prepare(map(job, paths))))
    assert len(started) == 2


def test_a_file_that_is_the_same_is_not_prepared(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("Words.\n")
    (first,) = prepare([path])
    assert first.file is not None and first.passages
    (again,) = read_tasks(Preparer(Options(), None), [job(path)._replace(sha256=first.file.sha256)])
    assert (again.passages, again.problem) == (None, "")


@pytest.mark.parametrize(("processors", "processes"), [(1, 0), (2, 2), (8, 8)])
def test_each_processor_has_a_process_unless_it_is_the_only_one(
    processors: int, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(processors)), raising=False)
    assert workers.usual_workers() == processes


class Liar:
    """A reader that a file has taken over: it answers what it likes."""

    limits = Limits(seconds=30)

    def __init__(self, said: object) -> None:
        self.said = said

    def read(self, path: str, sha256: str | None) -> object:  # noqa: ARG002
        return self.said


FILE = ["/x/a.docx", "00", [], 1, 2, 3, "r", ".docx", None, None, None, 4]
PASSAGE = ["t", "c", "sha256:00", [0, None, None, "a"], False, []]


@pytest.mark.parametrize(
    "said",
    [
        ["/etc/passwd", None, None, [], [], "", False],
        ["/x/a.docx", ["/etc/passwd", *FILE[1:]], [], [], [], "", False],
        ["/x/a.docx", [*FILE[:2], ["MEM-1"], *FILE[3:]], [], [], [], "", False], "text", None, 7, [], {}, [[]],
        ["/x/a.docx", FILE, [["t", 5, *PASSAGE[2:]]], [], [], "", False],
        ["/x/a.docx", FILE, [[*PASSAGE[:3], [0, "1", None, "a"], False, []]], [], [], "", False],
        ["/x/a.docx", FILE, [PASSAGE], [{}], [], "", False], ["/x/a.docx", FILE, [PASSAGE], [], [], "", 1],
    ],
    ids=str,
)  # fmt: skip
def test_a_reader_that_was_taken_over_can_say_nothing_but_a_wrong_text(said: object) -> None:
    worker = workers.start(Liar(said), check_prepared)
    assert worker.ask([("/x/a.docx", None)], 30) is None
    worker.end()


def test_what_a_reader_says_comes_through() -> None:
    worker = workers.start(Liar(["/x/a.docx", FILE, [PASSAGE], ["tag"], ["note \ud800"], "", False]), check_prepared)
    found = worker.ask([("/x/a.docx", None)], 30)
    worker.end()
    place = SourcePosition(0, None, None, "a")
    passage = PreparedPassage("t", "c", "sha256:00", place)
    file = IngestedFile("/x/a.docx", "00", (), 1, 2, 3, "r", ".docx", ctime_ns=4)
    assert found == [Prepared("/x/a.docx", file, [passage], ["tag"], ("note \ud800",))]


def test_an_answer_is_no_pickle(tmp_path: Path) -> None:
    pipe = tmp_path / "answer"
    pipe.write_bytes((8).to_bytes(8, "big") + b"\x80\x04K\x05.abc")
    with pipe.open("rb") as source, pytest.raises(ValueError):  # noqa: PT011
        workers.receive(source)


@pytest.mark.parametrize("sent", [b"", b"\x80\x05\x95\xff\x00", b"\x80\x05"], ids=["nothing", "half", "two bytes"])
def test_a_process_whose_parent_is_stopped_at_once_ends_in_silence(sent: bytes) -> None:
    done = subprocess.run(
        [sys.executable, "-c", workers._CHILD.format(path=sys.path)], input=sent, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
