"""The resources and prompts there are, as data: the server offers them, the documents list them."""

#: URI template, name, tool, the tool's argument that the part in braces is, description, type.
RESOURCES = (
    ("memory://item/{id}", "item", "memory_read", "ids", "One memory in full, by its id", "application/json"),
    (
        "memory://scope/{scope}/digest", "digest", "memory_digest", "scope",
        "What a scope holds, on one page", "text/markdown",
    ),
    (
        "memory://mount/{name}/tree", "tree", "memory_inspect", "mount_id",
        "The structure of a mounted folder, by its name or id", "text/plain",
    ),
)  # fmt: skip

#: Name, description, arguments (name, description, required).
PROMPTS = (
    (
        "recall", "Answer a question from memory",
        (("question", "what you want to know", True), ("scope", "where to look; default: project", False),
         ("tags", "only memories with one of these tags", False)),
    ),
    (
        "remember", "Keep what this conversation brought for later sessions",
        (("topic", "what to keep; default: whatever is worth it", False), ("scope", "where to keep it", False)),
    ),
    (
        "handoff", "Hand the work over to the next session",
        (("scope", "the scope to hand over; default: project", False),),
    ),
)  # fmt: skip
