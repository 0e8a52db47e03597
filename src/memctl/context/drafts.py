"""Text that a person edits in their own editor: a draft among our own files, which stays when something goes wrong."""

import os

from memctl import errors, ids, state
from memctl.context import Context


def draft_of(name: str, ending: str) -> str:
    """Where the draft of what has this name is: not beside a store, since what lies there may have come with a folder.

    Raises EditorFailed where none can be kept.
    """
    here = os.path.join(state.folder(), "drafts")
    draft = os.path.join(here, f"{ids.bytes_hash(os.fsencode(name))[:16]}{ending}")
    try:
        os.makedirs(here, mode=0o700, exist_ok=True)
        if not state.private(here) or not state.private(os.path.dirname(here)):
            raise PermissionError(f"{here} is open to others")
    except OSError as exc:
        reason = f"no draft can be kept: {exc.strerror or exc}"
        raise errors.EditorFailed(editor="the editor", reason=reason, draft=draft) from exc
    return draft


def edit_draft(ctx: Context, draft: str, text: bytes, command: str) -> None:
    """Let the editor of $VISUAL or $EDITOR work on a draft: on `text`, or on what an earlier try has left there.

    Raises EditorFailed.
    """
    import shlex
    from subprocess import call

    if os.path.lexists(draft):
        ctx.note(f"[{command}] goes on from {draft}")
    else:
        state.write(draft, text)
    editor = ctx.env("VISUAL") or ctx.env("EDITOR") or "vi"
    try:
        status = call([*shlex.split(editor), draft])  # noqa: S603 - the user's own editor
    except (OSError, ValueError) as exc:
        raise errors.EditorFailed(
            editor=editor, reason=getattr(exc, "strerror", None) or str(exc), draft=draft
        ) from exc
    if status:
        raise errors.EditorFailed(editor=editor, reason=f"it ended with {status}", draft=draft)
