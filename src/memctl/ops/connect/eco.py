"""memctl eco, hooks-path and scripts-path: the switch of eco mode, and where the files for it stand."""

import os

from memctl import errors
from memctl.annotations import Annotated, Literal
from memctl.clients import eco as mode
from memctl.context import Context
from memctl.operation import NONE, WRITE, Arg, PlainResult, operation

#: Beside the packages: the files of eco mode, and scripts under the names of older memctl.
_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SAID = {
    "enabled": "eco mode enabled. Using memory_inspect, memory_recall, and persistent memory.",
    "disabled": "eco mode disabled. Using native Read/View only.",
}


@operation(
    access=WRITE,
    tool="memory_eco",
    about="Switch eco mode of this project on or off, or say how it stands. While it is on, memory is asked before "
    "files are searched.",
    answer={"eco_mode": "string", "action_taken": "string"},
    idempotent=True,
    examples=("memctl eco", "memctl eco off", "memctl eco status --json | jq -r .eco_mode"),
    exits={1: "eco mode is not installed here"},
)
def eco(
    ctx: Context, action: Annotated[Literal["status", "on", "off"], Arg("what to do", metavar="ACTION")] = "status"
) -> PlainResult:
    """Switch eco mode of this project on or off.

    While it is on, a hint with each prompt and a nudge before wide searches send a model to memory first. `memctl setup
    eco` installs it for Claude Code in this project; the switch is the file .memory/.eco-disabled.
    """
    if (
        action == "on"
        and mode.eco_state(ctx.cwd) != "active"
        and not os.path.exists(os.path.join(ctx.cwd, mode.CONFIG))
    ):
        raise errors.UsageError("eco mode not installed; memctl setup eco installs it", command="eco")
    taken = "none"
    if action != "status":
        try:
            mode.switch_eco(ctx.cwd, on=action == "on")
        except OSError as exc:
            path = os.path.join(ctx.cwd, mode.OFF)
            raise errors.ClientFileUnwritable(path=path, reason=exc.strerror or str(exc)) from exc
        taken = "enabled" if action == "on" else "disabled"
    state = mode.eco_state(ctx.cwd)
    data = {"status": "ok", "eco_mode": state, "action_taken": taken}
    return PlainResult(data, [_SAID.get(taken, f"eco mode: {state}")])


@operation(access=NONE, name="hooks-path", examples=("memctl hooks-path", 'ls "$(memctl hooks-path | head -1)"'))
def hooks_path(ctx: Context) -> PlainResult:  # noqa: ARG001 - every operation takes it
    """Print the folders of the hook scripts and of eco mode.

    Each script runs `memctl hooks`, for settings that name a file.
    """
    paths = [os.path.join(_HERE, "templates", name) for name in ("hooks", "eco")]
    return PlainResult({"status": "ok", "hooks_path": paths[0], "eco_path": paths[1]}, paths)


@operation(
    access=NONE,
    name="scripts-path",
    examples=("memctl scripts-path", 'bash "$(memctl scripts-path)/install_eco.sh" --dry-run'),
)
def scripts_path(ctx: Context) -> PlainResult:  # noqa: ARG001 - every operation takes it
    """Print the folder of the install scripts.

    They do what `memctl setup` and `memctl teardown` do, under the names of older memctl.
    """
    path = os.path.join(_HERE, "scripts")
    return PlainResult({"status": "ok", "scripts_path": path}, [path])
