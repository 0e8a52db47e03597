"""The store in a few words, for the prompt of a shell: made with few imports, because every prompt waits for it."""

import os

from memctl.annotations import Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE, GLOBAL_SCOPE


def status_in_short(ctx: Context) -> tuple[dict[str, Any], str]:
    """The scope of this project, how many items it has, and how many `global` has beside it; as data and as a line.

    The line is empty where there is no store.
    """
    if not os.path.exists(ctx.db_path):
        return {"status": "ok", "db_exists": False}, ""
    from memctl.store.filters import count_active

    scope = ctx.scope_named(DEFAULT_SCOPE)
    own = count_active(ctx.db, [one for one in ctx.read_set(scope) or () if one != GLOBAL_SCOPE])
    shared = count_active(ctx.db, [GLOBAL_SCOPE])
    data = {"status": "ok", "db_exists": True, "scope": scope, "items": own, "global_items": shared}
    return data, f"{scope} {own}" + (f" +{shared}" if shared else "")
