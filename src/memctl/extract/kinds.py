"""What a file is by its name: which structure its text has, and in which language."""

from typing import NamedTuple


class Kind(NamedTuple):
    """How a text is cut: its structure (see `Document.kind`) and its language."""

    kind: str
    language: str = ""


_TEXT = Kind("text")
_MARKDOWN = Kind("markdown")
_MAN = Kind("man")

_BY_SUFFIX: dict[str, Kind] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"), _MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml", ".docx", ".odt", ".pptx", ".odp", ".ipynb", ".eml"), _MARKDOWN),
    ".rst": Kind("rst"),
    **dict.fromkeys((".adoc", ".asciidoc"), Kind("asciidoc")),
    ".org": Kind("org"),
    **dict.fromkeys((".tex", ".latex"), Kind("latex")),
    **dict.fromkeys((".man", ".mdoc"), _MAN),
    **dict.fromkeys((".txt", ".text", ".log", ".srt", ".vtt", ".pdf"), _TEXT),
    **dict.fromkeys((".diff", ".patch"), _TEXT),
    **dict.fromkeys((".csv", ".tsv", ".xlsx", ".ods"), Kind("table")),
    **dict.fromkeys((".json", ".jsonc", ".json5", ".jsonl", ".ndjson"), Kind("data", "json")),
    **dict.fromkeys((".yaml", ".yml"), Kind("data", "yaml")),
    ".toml": Kind("data", "toml"),
    **dict.fromkeys((".ini", ".cfg", ".conf", ".properties", ".desktop", ".service"), Kind("data", "ini")),
    **dict.fromkeys((".xml", ".xsd", ".xsl", ".xslt", ".rss", ".atom"), Kind("data", "xml")),
    **dict.fromkeys((".py", ".pyi", ".pyw"), Kind("code", "python")),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), Kind("code", "javascript")),
    **dict.fromkeys((".ts", ".tsx", ".mts", ".cts"), Kind("code", "typescript")),
    **dict.fromkeys((".vue", ".svelte"), Kind("code", "javascript")),
    ".java": Kind("code", "java"),
    ".go": Kind("code", "go"),
    ".rs": Kind("code", "rust"),
    **dict.fromkeys((".c", ".h"), Kind("code", "c")),
    **dict.fromkeys((".cpp", ".hpp", ".cc", ".cxx", ".hh", ".hxx"), Kind("code", "cpp")),
    ".cs": Kind("code", "csharp"),
    ".css": Kind("code", "css"),
    ".scss": Kind("code", "scss"),
    ".less": Kind("code", "less"),
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh"), Kind("code", "shell")),
    ".sql": Kind("code", "sql"),
    ".r": Kind("code", "r"),
    ".jl": Kind("code", "julia"),
    ".lua": Kind("code", "lua"),
    ".rb": Kind("code", "ruby"),
    ".php": Kind("code", "php"),
    ".swift": Kind("code", "swift"),
    **dict.fromkeys((".kt", ".kts"), Kind("code", "kotlin")),
    ".scala": Kind("code", "scala"),
    **dict.fromkeys((".pl", ".pm"), Kind("code", "perl")),
    **dict.fromkeys((".ex", ".exs"), Kind("code", "elixir")),
    ".dockerfile": Kind("code", "dockerfile"),
    ".mk": Kind("code", "make"),
    ".cmake": Kind("code", "cmake"),
    **dict.fromkeys((".tf", ".hcl"), Kind("code", "hcl")),
    ".proto": Kind("code", "proto"),
    **dict.fromkeys((".graphql", ".gql"), Kind("code", "graphql")),
}

#: Well-known names without a telling suffix, in lower case.
_BY_NAME: dict[str, Kind] = {
    **dict.fromkeys(("makefile", "gnumakefile"), Kind("code", "make")),
    **dict.fromkeys(("dockerfile", "containerfile"), Kind("code", "dockerfile")),
    "cmakelists.txt": Kind("code", "cmake"),
    **dict.fromkeys(("gemfile", "rakefile", "vagrantfile"), Kind("code", "ruby")),
    "jenkinsfile": Kind("code", "groovy"),
    "justfile": Kind("code", "make"),
    **dict.fromkeys(("license", "licence", "copying", "notice", "authors", "contributors", "readme"), _TEXT),
    **dict.fromkeys(("changelog", "changes", "news", "install", "todo", "contributing", "codeowners"), _TEXT),
    "go.mod": _TEXT,
    ".editorconfig": Kind("data", "ini"),
}

#: The suffixes that reading a folder takes in.
INGESTABLE: frozenset[str] = frozenset(_BY_SUFFIX)

#: The program a script names in its first line, by how its name begins.
_SCRIPTS = (
    ("python", "python"), ("bash", "shell"), ("sh", "shell"), ("zsh", "shell"), ("dash", "shell"), ("ksh", "shell"),
    ("node", "javascript"), ("deno", "typescript"), ("ruby", "ruby"), ("perl", "perl"), ("lua", "lua"),
    ("Rscript", "r"), ("julia", "julia"), ("php", "php"), ("make", "make"),
)  # fmt: skip


def base_of(name: str) -> str:
    """The last part of a path, in lower case."""
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()


def suffix_of(name: str) -> str:
    """The suffix of a file name in lower case with its dot; "" when there is none."""
    stem, dot, suffix = base_of(name).rpartition(".")
    return dot + suffix if stem or suffix == "dockerfile" else ""


def is_ingestable(name: str) -> bool:
    """Whether reading a folder takes this file in: by its suffix or its well-known name."""
    return suffix_of(name) in INGESTABLE or _named(base_of(name)) is not None


def kind_of(name: str, text: str = "") -> Kind:
    """The kind of a file by its name; with an unknown name, by the program its first line calls."""
    known = _named(base_of(name)) or _BY_SUFFIX.get(suffix_of(name))
    return known or (_script(text) if text.startswith("#!") else _TEXT)


def _named(base: str) -> Kind | None:
    if base[-1:].isdecimal():
        return _MAN if _is_man_page(base) else None
    return _BY_NAME.get(base) or (_BY_NAME["dockerfile"] if base.startswith("dockerfile.") else None)


def _is_man_page(base: str) -> bool:
    """Whether a name ends in a section of the manual: `rsync.1`; not `v1.2`, `libz.so.1`, `app.log.1`."""
    stem, _, section = base.rpartition(".")
    if section not in ("1", "2", "3", "4", "5", "6", "7", "8") or stem.endswith((".so", ".log", ".dylib")):
        return False
    return sum(map(str.isalpha, stem)) > 1


def _script(text: str) -> Kind:
    words = text[2:200].partition("\n")[0].replace("/", " ").split()
    words = [word for word in words if word not in ("usr", "bin", "env", "local", "-S")]
    program = words[0] if words else ""
    return Kind("code", next((language for start, language in _SCRIPTS if program.startswith(start)), ""))
