"""Running a model command: what goes in and out, what it may do wrong, and what is left behind (nothing)."""

import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl import errors, process
from memctl.llm.command import ModelCommand, Spend, run
from support import PATIENCE


@pytest.fixture(autouse=True)
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder of the test; nothing may be left in it."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def python(code: str, *argv: str, **how: object) -> ModelCommand:
    """A model that is a line of Python."""
    return ModelCommand((sys.executable, "-S", "-c", code, *argv), **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["stdin", "file"])
def test_a_prompt_larger_than_a_pipe_arrives_whole(mode: str) -> None:
    prompt = "é" * 1_000_000
    answer = run(ModelCommand.parse("cat", mode), prompt)
    assert (answer.text, answer.truncated) == (prompt, False)


def test_the_prompt_file_is_private_and_named_last(temp: Path) -> None:
    code = "import os, sys; print(oct(os.stat(sys.argv[1]).st_mode), os.path.basename(sys.argv[1]), sys.stdin.read())"
    mode, name, rest = run(python(code, mode="file"), "hello").text.split(" ", 2)
    assert mode == "0o100600"
    assert name.startswith("memctl_prompt_")
    assert rest == "\n"


def test_no_room_for_the_prompt_file_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(errors.ModelUnusable, match="its prompt cannot be written to a file: No such file"):
        run(ModelCommand.parse("cat", "file"), "x")


def test_a_model_that_does_not_read_may_still_answer() -> None:
    answer = run(ModelCommand.parse("sh -c 'exec <&-; echo fine'"), "x" * 5_000_000)
    assert answer.text == "fine\n"


def test_words_are_split_as_a_shell_does_but_no_shell_looks_at_them() -> None:
    assert run(ModelCommand.parse("printf %s 'a  b' \"$HOME;`id`\" '*'"), "").text == "a  b$HOME;`id`*"


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("", errors.ModelUnusable, "names no program"),
        ("   ", errors.ModelUnusable, "names no program"),
        ("''", errors.ModelUnusable, "names no program"),
        ("cat 'x", errors.ModelUnusable, "no closing quotation"),
        ("cat a\0b", errors.ModelUnusable, "a NUL"),
        ("no-such-program -p", errors.ModelMissing, "LLM command not found: 'no-such-program'"),
        (__file__, errors.ModelUnusable, "may not be executed"),
    ],
)
def test_a_command_that_cannot_run_is_refused_before_anything_happens(
    line: str, kind: type[errors.MemctlError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        ModelCommand.parse(line)


def test_a_script_without_interpreter_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "model"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(errors.ModelUnusable, match="its interpreter is missing"):
        run(ModelCommand.parse(str(script)), "x")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(3)", r"LLM command failed \(exit 3\)$"),
        ("import sys; sys.exit('no such\\nmodel')", r"LLM command failed \(exit 1\): no such model$"),
        ("import os; os.kill(os.getpid(), 9)", r"LLM command failed \(killed by SIGKILL\)$"),
        ("import sys; sys.exit('x' * 9999 + 'end')", r"\(exit 1\): …x+end$"),
    ],
)
def test_a_model_that_fails_is_an_error_with_the_end_of_what_it_said(code: str, message: str) -> None:
    with pytest.raises(errors.ModelFailed, match=message):
        run(python(code), "x" * 100_000)


def test_its_stderr_is_passed_on_line_by_line() -> None:
    heard: list[str] = []
    code = "import sys; sys.stderr.write('one\\ntwo\\r\\n\\nth'); sys.stderr.flush(); sys.stderr.write('ree')"
    run(python(code), "", stderr=heard.append)
    assert heard == ["one", "two", "", "three"]


def test_a_megabyte_of_stderr_blocks_nobody() -> None:
    code = "import sys; sys.stderr.write('x' * (1 << 20)); sys.stdout.write(sys.stdin.read())"
    assert run(python(code), "y" * 300_000).text == "y" * 300_000


@pytest.mark.parametrize("mode", ["stdin", "file"])
def test_one_that_takes_too_long_is_stopped_with_all_it_started(mode: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    line = f"sh -c 'sleep 600 & echo $! >{pids}; sleep 600 & echo $! $$ >>{pids}; cat; wait'"
    for seconds in (0.4, 6.4, 60.4):  # the first that is enough for it to start the two
        with pytest.raises(errors.ModelTimeout, match=rf"timed out after {seconds}s: sh -c"):
            run(ModelCommand.parse(line, mode, seconds), "x")
        if pids.exists() and len(pids.read_text().split()) == 3:
            break
    assert len(pids.read_text().split()) == 3
    assert all(ends(int(pid)) for pid in pids.read_text().split())


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone; that takes the system a moment."""
    deadline = time.monotonic() + PATIENCE
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process still runs (one that waits for its parent to notice its end does not)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(") ")[2].startswith("Z"))


def test_one_that_will_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.1)
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('x', flush=True); time.sleep(600)"
    with pytest.raises(errors.ModelTimeout):
        run(python(code, timeout=0.4), "")


def test_what_it_leaves_running_is_not_waited_for() -> None:
    pid = int(run(ModelCommand.parse("sh -c 'sleep 600 & echo $!'"), "").text)
    assert alive(pid)  # a server that it started for the next call, say
    os.kill(pid, 9)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_whoever_stops_listening_stops_the_model(kind: type[BaseException], tmp_path: Path) -> None:
    def refuse(_: str) -> None:
        raise kind

    pid = tmp_path / "pid"
    with pytest.raises(kind):
        run(ModelCommand.parse(f"sh -c 'echo $$ >{pid}; echo x; exec sleep 600'", "file"), "x", on_text=refuse)
    assert ends(int(pid.read_text()))


def test_pieces_come_as_they_are_made_and_characters_whole(tmp_path: Path) -> None:
    """The model says a byte when all before it were heard that make whole characters."""
    pieces: list[str] = []
    heard = tmp_path / "heard"

    def hear(piece: str) -> None:
        pieces.append(piece)
        heard.write_text("".join(pieces), encoding="utf-8")

    code = (
        "import os, pathlib, sys, time\nheard = pathlib.Path(sys.argv[1])\n"
        "for n, letter in enumerate('né€😀'):\n"
        "    for byte in letter.encode():\n        os.write(1, bytes([byte])); time.sleep(0.001)\n"
        f"    end = time.monotonic() + {PATIENCE}\n"
        "    while time.monotonic() < end and not (heard.exists() and len(heard.read_text('utf-8')) > n):\n"
        "        time.sleep(0.001)\n"
        "os.write(1, b'\\xff!')"
    )
    answer = run(python(code, str(heard)), "", on_text=hear)
    assert answer.text == "".join(pieces) == "né€😀�!"
    assert pieces[:4] == ["n", "é", "€", "😀"]


@pytest.mark.parametrize("limit", [1, 70_000, 1_000_000])
def test_an_endless_answer_is_cut_and_costs_no_more_than_its_limit(limit: int) -> None:
    command = ModelCommand.parse("yes 'so it goes'")
    tracemalloc.start()
    try:
        answer = run(command, "", limit=limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(answer.text), answer.truncated) == (limit, True)
    assert peak < 3 * limit + 2_000_000


def test_a_character_is_not_cut_in_half() -> None:
    answer = run(python("import sys; sys.stdout.buffer.write('né€😀'.encode() * 3)"), "", limit=8)
    assert (answer.text, answer.truncated) == ("né€", True)


def test_ten_megabytes_come_whole_in_bounded_memory() -> None:
    command = python("import sys\nfor _ in range(160): sys.stdout.write('x' * 65536)")
    tracemalloc.start()
    try:
        answer = run(command, "")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(answer.text), answer.truncated) == (10 << 20, False)
    assert peak < 25 << 20


def test_what_was_spent_is_counted_also_when_the_call_failed() -> None:
    spend = Spend()
    run(ModelCommand.parse("printf 12345"), "x" * 400, spend=spend)
    with pytest.raises(errors.ModelFailed):
        run(ModelCommand.parse("false"), "x" * 400, spend=spend)
    found = spend.as_dict()
    assert (found["calls"], found["tokens_in"], found["tokens_out"]) == (2, 200, 2)
    assert spend.line().startswith("2 calls, ~200 tokens in, ~2 tokens out, ")


def test_signal_handlers_are_put_back() -> None:
    import signal

    before = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    run(ModelCommand.parse("true"), "")
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


def test_it_works_off_the_main_thread() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        command = ModelCommand.parse("cat")
        assert [a.text for a in pool.map(lambda n: run(command, n), ["a", "b", "c"])] == ["a", "b", "c"]


def test_a_process_that_ends_can_end_what_its_threads_wait_for(temp: Path) -> None:
    from queue import SimpleQueue
    from threading import Thread

    said: SimpleQueue[object] = SimpleQueue()

    def ask() -> None:
        try:
            run(ModelCommand.parse("sh -c 'echo $$; exec sleep 600'", "file"), "x", on_text=said.put)
        except errors.ModelFailed as exc:
            said.put(exc.message)

    thread = Thread(target=ask, daemon=True)
    thread.start()
    pid = int(str(said.get()))
    assert len(list(temp.iterdir())) == 1
    process.end_all()
    assert list(temp.iterdir()) == []
    thread.join()
    assert said.get() == "LLM command failed (killed by SIGTERM)"
    assert ends(pid)


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(3):
        run(ModelCommand.parse("cat", "file"), "x")
        with pytest.raises(errors.ModelFailed):
            run(ModelCommand.parse("false"), "x" * 100_000)
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before
