"""memctl loop as a real process: in pipes, under signals, and as the documentation of older memctl shows it."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import PATIENCE

Shell = Callable[..., Any]
SCRIPTED = Path(__file__).resolve().parents[2] / "demos" / "scripted-llm"
GUIDE = "# Guide\n\nThe auth flow begins at the gateway.\n"


@pytest.fixture
def docs(here: Path) -> Path:
    folder = here / "docs"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    return folder


def test_the_documented_lines_run_as_written(sh: Shell, docs: Path, tmp_path: Path) -> None:
    """Those of the README of older memctl; `claude` is the scripted model."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "claude").write_text(f'#!/bin/sh\n[ "$*" = -p ] || exit 9\nexec "{sys.executable}" -S "{SCRIPTED}"\n')
    (tools / "claude").chmod(0o755)
    done = sh(
        f'PATH="{tools}:$PATH"\nset -o pipefail\n'
        'memctl push "auth flow" --source docs/ | memctl loop "auth flow" --llm "claude -p" --trace\n'
        'memctl push "auth flow" --source docs/ | memctl loop "auth flow" --llm "claude -p" --trace-file trace.jsonl\n'
        'memctl loop --replay trace.jsonl "original question"\n'
    )
    assert done.code == 0
    answer, again, trace = done.text.splitlines()
    assert answer == again == "- The auth flow begins at the gateway. (docs/guide.md lines 1-3)"
    assert trace in done.notes.splitlines()
    assert json.loads(trace)["action"] == "llm_stop"


def waiting(docs: Path, env: dict[str, str], temp: Path, *argv: str) -> subprocess.Popen[bytes]:
    """A loop whose model hangs with the prompt in hand."""
    command = f"{sys.executable} -S {SCRIPTED} --do hang --stderr ready"
    with open(docs / "guide.md", "rb") as given:
        process = subprocess.Popen(
            [sys.executable, "-m", "memctl", "loop", "auth", "--llm", command, "--max-calls", "1", "-v", *argv],
            cwd=docs, env=env | {"TMPDIR": str(temp)}, stdin=given, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    assert process.stderr and process.stderr.readline() == b"ready\n"
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_a_signal_ends_the_model_too_and_leaves_no_prompt(
    docs: Path, clean_env: dict[str, str], tmp_path: Path, number: int, code: int
) -> None:
    temp = tmp_path / "temp"
    temp.mkdir()
    process = waiting(docs, clean_env, temp, "--llm-mode", "file")
    (prompt,) = temp.iterdir()
    assert prompt.stat().st_mode & 0o777 == 0o600
    os.kill(process.pid, number)
    with process:
        assert process.stderr and b"Traceback" not in process.stderr.read()
    assert (process.returncode, list(temp.iterdir())) == (code, [])
    assert children(prompt.name) == []


def children(word: str) -> list[int]:
    """The processes whose command line has a word in it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_reader_that_leaves_stops_the_model(sh: Shell, docs: Path) -> None:
    done = sh(
        "memctl init -q >/dev/null; echo known | memctl loop auth --protocol passive --stream "
        "--llm 'scripted-llm --do endless' | head -1; echo ${PIPESTATUS[1]}"
    )
    assert done.text.splitlines()[1] == "141"


def test_a_trace_that_is_cut_short_is_told(sh: Shell, docs: Path) -> None:
    done = sh(
        # A limit on file size stands in for a full disk: the first kilobyte of the line is taken, the rest is not.
        'ulimit -f 1; echo known | memctl loop "$(printf %02000d 7)" --protocol passive --llm "echo fine" '
        "--trace-file trace.jsonl"
    )
    assert (done.code, done.text) == (0, "fine\n")
    assert "[loop] The trace in trace.jsonl is not whole: File too large" in done.notes


@pytest.mark.skipif(sys.platform == "darwin", reason="RLIMIT_AS does nothing there")
@pytest.mark.parametrize("order", ["megabytes 10", "endless"])
def test_megabytes_of_output_fit_into_little_memory(
    docs: Path, clean_env: dict[str, str], tmp_path: Path, order: str
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (320 << 20, 320 << 20))

    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "memctl", "loop", "auth", "--max-calls", "1", "--llm",
             f"{sys.executable} -S {SCRIPTED} --do '{order}'"],
            input=b"What is known.", cwd=docs, env=clean_env, stdout=out, stderr=subprocess.PIPE, preexec_fn=limit,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    size = (tmp_path / "out").stat().st_size
    if order == "endless":
        assert b"the answer was cut after 16 MB, and the command stopped" in done.stderr
        assert size == (16 << 20) + 1
    else:
        assert b"cut" not in done.stderr
        assert abs(size - (10 << 20)) < 200


def test_the_answer_comes_while_it_is_made(docs: Path, clean_env: dict[str, str], tmp_path: Path) -> None:
    """The model waits for a file that is only written once its first words have been seen."""
    go = tmp_path / "go"
    model = tmp_path / "model"
    model.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf first\nuntil [ -e {go} ]; do :; done\necho ' second'\n")
    model.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "memctl", "loop", "auth", "--protocol", "passive", "--stream", "--llm", str(model)],
        cwd=docs, env=clean_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin and process.stdout
    process.stdin.write(b"What is known.")
    process.stdin.close()
    assert os.read(process.stdout.fileno(), 100) == b"first"
    go.touch()
    assert process.stdout.read() == b" second\n"
    assert process.wait(60) == 0
    process.stdout.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("llm") is None, reason="needs the command llm (pip install llm)")
def test_a_real_command_with_an_endpoint_on_this_machine(docs: Path, clean_env: dict[str, str], home: Path) -> None:
    """`llm` talks to a scripted endpoint of OpenAI's kind; nothing leaves this machine."""
    from threading import Thread

    from endpoint import Endpoint

    answers = [
        '{"need_more": true, "query": "signing keys", "stop": false}\n\nNot yet.',
        '{"need_more": false, "stop": true}\n\nEvery 17 days.',
    ]
    with Endpoint(answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        folder = home / "llm"
        folder.mkdir()
        (folder / "extra-openai-models.yaml").write_text(
            f"- model_id: local\n  model_name: scripted\n  api_base: {server.address}/v1\n  api_key_name: local\n"
        )
        llm = shutil.which("llm")
        assert llm
        path = os.pathsep.join([clean_env["PATH"], os.path.dirname(llm)])
        env = clean_env | {"LLM_USER_PATH": str(folder), "OPENAI_API_KEY": "none", "PATH": path, "NO_PROXY": "*"}
        subprocess.run(
            ["llm", "keys", "set", "local", "--value", "none"],
            env=env,
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
        script = (
            "echo 'Signing keys rotate every 17 days.' | memctl pull && memctl push 'auth flow' --source docs | "
            "memctl loop 'auth flow' --llm 'llm -m local --no-stream'"
        )
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script],
            cwd=docs.parent, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Every 17 days.\n"
    assert "stop=llm_stop, converged=True" in done.stderr
    assert ["17 days" in prompt for prompt in server.prompts] == [False, True]
    assert all("## Question\n\nauth flow" in prompt for prompt in server.prompts)
