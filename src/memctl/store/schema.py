"""The schema: what every table and column means. The ten tables are shared with older memctl and with RAGIX.

History of `schema_version` (the shared tables):
    1  memctl 0.1.0: items, revisions, embeddings, links, palace, events, corpus tables
    2  memctl 0.3.0: memory_mounts, and the mount columns of corpus_hashes

Our own tables stand beside them, are keyed by item id or file path, have no foreign keys (another program's REPLACE
would cascade) and are counted by `memctl_migrations` (see `migrate`). To change the schema: add a migration, bring
SIDE_TABLES up to date with it, and run `scripts/docs`.
"""

import re

from memctl import errors
from memctl.store.filters import HASH_KEY, IS_PASSAGE, MAY_FAIL
from memctl.text.query import PAIRED, POINTS

SCHEMA_VERSION = 2

#: Names for tokenizers. `en` stems (porter, also harmless for French), `fr` folds accents only, `raw` keeps them.
FTS_TOKENIZER_PRESETS = {
    "fr": "unicode61 remove_diacritics 2",
    "en": "porter unicode61 remove_diacritics 2",
    "raw": "unicode61",
}
DEFAULT_TOKENIZER = FTS_TOKENIZER_PRESETS["en"]

SHARED_TABLES = """
CREATE TABLE IF NOT EXISTS memory_items (        -- one statement or passage
    id              TEXT PRIMARY KEY,            -- MEM- and 12 hex digits, or another program's id
    tier            TEXT NOT NULL CHECK(tier IN ('stm','mtm','ltm')),   -- how established it is
    type            TEXT NOT NULL,               -- one of eight sorts of statement
    title           TEXT NOT NULL DEFAULT '',
    content         TEXT NOT NULL DEFAULT '',
    tags            TEXT NOT NULL DEFAULT '[]',  -- JSON array of strings
    entities        TEXT NOT NULL DEFAULT '[]',  -- JSON array of strings
    links_json      TEXT NOT NULL DEFAULT '[]',  -- JSON array of {rel, to}
    provenance_json TEXT NOT NULL DEFAULT '{}',  -- JSON object: source_kind, source_id, chunk_ids, content_hashes
    confidence      REAL NOT NULL DEFAULT 0.5,   -- 0 to 1
    validation      TEXT NOT NULL DEFAULT 'unverified',
    scope           TEXT NOT NULL DEFAULT 'project',
    expires_at      TEXT,                        -- UTC; afterwards no read shows it
    usage_count     INTEGER NOT NULL DEFAULT 0,  -- times delivered to a model or opened by a person
    last_used_at    TEXT,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    rule_id         TEXT,
    superseded_by   TEXT,                        -- id of the item that replaced it
    archived        INTEGER NOT NULL DEFAULT 0,
    content_hash    TEXT NOT NULL DEFAULT '',    -- sha256: and the hash of content as it is
    corpus_id       TEXT,
    injectable      INTEGER NOT NULL DEFAULT 1   -- 0: never given to a model
);
CREATE TABLE IF NOT EXISTS memory_revisions (    -- every state an item was written in
    revision_id  TEXT PRIMARY KEY,
    item_id      TEXT NOT NULL,
    revision_num INTEGER NOT NULL,               -- 1, 2, ... per item
    snapshot     TEXT NOT NULL,                  -- the item as JSON; '{}' = as the row still is (bulk ingest)
    changed_at   TEXT NOT NULL,
    reason       TEXT NOT NULL DEFAULT 'update'
);
CREATE TABLE IF NOT EXISTS memory_embeddings (
    item_id    TEXT PRIMARY KEY,
    model_name TEXT NOT NULL,
    dimension  INTEGER NOT NULL,
    vector     BLOB NOT NULL,                    -- packed float32
    created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memory_links (        -- src REL dst, for example new supersedes old
    src_id     TEXT NOT NULL,
    dst_id     TEXT NOT NULL,
    rel        TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (src_id, dst_id, rel)
);
CREATE TABLE IF NOT EXISTS memory_palace_locations (
    item_id     TEXT PRIMARY KEY,
    domain      TEXT NOT NULL DEFAULT 'default',
    room        TEXT NOT NULL DEFAULT '',
    shelf       TEXT NOT NULL DEFAULT '',
    card        TEXT NOT NULL DEFAULT '',
    assigned_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memory_events (       -- what was done; of uses, the newest of each item
    id           TEXT PRIMARY KEY,
    action       TEXT NOT NULL,
    item_id      TEXT,
    details_json TEXT NOT NULL DEFAULT '{}',
    content_hash TEXT NOT NULL DEFAULT '',
    timestamp    TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS corpus_hashes (       -- one row per ingested file
    file_path   TEXT PRIMARY KEY,                -- absolute path, or <stdin>
    sha256      TEXT NOT NULL,                   -- of the raw bytes
    chunk_count INTEGER NOT NULL DEFAULT 0,
    item_ids    TEXT NOT NULL DEFAULT '[]',      -- JSON array, in the order of the file
    ingested_at TEXT NOT NULL,
    mount_id    TEXT,
    rel_path    TEXT,
    ext         TEXT,
    size_bytes  INTEGER,
    mtime_epoch INTEGER,                         -- whole seconds
    lang_hint   TEXT
);
CREATE TABLE IF NOT EXISTS corpus_metadata (     -- a versioned document set
    corpus_id        TEXT PRIMARY KEY,
    corpus_label     TEXT NOT NULL DEFAULT '',
    parent_corpus_id TEXT,
    doc_count        INTEGER NOT NULL DEFAULT 0,
    item_count       INTEGER NOT NULL DEFAULT 0,
    scope            TEXT NOT NULL DEFAULT 'project',
    ingested_at      TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memory_mounts (       -- folders that feed the store
    mount_id     TEXT PRIMARY KEY,
    path         TEXT NOT NULL UNIQUE,
    name         TEXT,
    ignore_json  TEXT NOT NULL DEFAULT '[]',
    lang_hint    TEXT,
    created_at   TEXT NOT NULL,
    last_sync_at TEXT
);
CREATE TABLE IF NOT EXISTS schema_meta (         -- schema_version, created_by, created_at, fts_tokenizer, ...
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_items_tier ON memory_items(tier);
CREATE INDEX IF NOT EXISTS idx_items_type ON memory_items(type);
CREATE INDEX IF NOT EXISTS idx_items_scope ON memory_items(scope);
CREATE INDEX IF NOT EXISTS idx_items_archived ON memory_items(archived);
CREATE INDEX IF NOT EXISTS idx_items_corpus ON memory_items(corpus_id);
CREATE INDEX IF NOT EXISTS idx_revisions_item ON memory_revisions(item_id);
CREATE INDEX IF NOT EXISTS idx_events_action ON memory_events(action);
CREATE INDEX IF NOT EXISTS idx_events_item ON memory_events(item_id);
CREATE INDEX IF NOT EXISTS idx_palace_domain ON memory_palace_locations(domain);
CREATE INDEX IF NOT EXISTS idx_palace_room ON memory_palace_locations(domain, room);
CREATE INDEX IF NOT EXISTS idx_corpus_mount ON corpus_hashes(mount_id);
"""

SIDE_TABLES = f"""
CREATE TABLE IF NOT EXISTS memctl_migrations (   -- which numbered migrations this file has had
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memory_sources (      -- where in its source an item stands
    item_id    TEXT PRIMARY KEY,
    position   INTEGER,                          -- 0, 1, ... within the source
    line_start INTEGER,                          -- 1-based, inclusive
    line_end   INTEGER,
    anchor     TEXT NOT NULL DEFAULT ''          -- heading path, enclosing definition, page, slide, sheet
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_withheld (     -- why injectable is 0
    item_id     TEXT PRIMARY KEY,
    reason      TEXT NOT NULL CHECK(reason IN ('raw', 'policy')),   -- raw: promotion releases; policy: quarantined
    details     TEXT NOT NULL DEFAULT '[]',      -- JSON array of finding rules
    withheld_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_files (        -- what makes re-ingest of a file a diff
    file_path TEXT PRIMARY KEY,                  -- as in corpus_hashes
    mtime_ns  INTEGER,
    inode     INTEGER,
    recipe    TEXT NOT NULL                      -- how it was cut and judged: another recipe means doing it again
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_items_hash ON memory_items({HASH_KEY});
"""

#: Migration 3: what a synced folder needs beyond single files.
FOLDER_TABLES = """
-- The change time moves with every write, whatever a program sets the modification time to.
ALTER TABLE memory_files ADD COLUMN ctime_ns INTEGER;
CREATE TABLE IF NOT EXISTS memory_gone_files (   -- what was archived as files changed or disappeared: it can come back
    file_path TEXT PRIMARY KEY,
    sha256    TEXT NOT NULL,
    item_ids  TEXT NOT NULL,                     -- JSON array: items, those that left last first
    gone_at   TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_unread_files ( -- files that could not be read, so as not to try again in vain
    file_path TEXT PRIMARY KEY,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    ctime_ns  INTEGER NOT NULL,
    inode     INTEGER NOT NULL,
    recipe    TEXT NOT NULL,
    reason    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_files_hash ON corpus_hashes(sha256);
CREATE INDEX IF NOT EXISTS memctl_gone_files_hash ON memory_gone_files(sha256);
CREATE TABLE IF NOT EXISTS memory_mount_options (  -- options of a mount that memory_mounts has no column for
    mount_id TEXT PRIMARY KEY,
    scope    TEXT                                -- what its files are filed under; NULL: the default
) WITHOUT ROWID;
"""

#: Migration 4: conversations and saved views. RAGIX makes the first and the third of these tables when it needs them.
SESSION_TABLES = """
CREATE TABLE IF NOT EXISTS memory_sessions (     -- one conversation with a client, in RAGIX's shape
    session_id    TEXT PRIMARY KEY,              -- such as project:conversation
    project_id    TEXT,                          -- what stands before the colon
    scope         TEXT,                          -- what it reads, and where what it stores is filed
    turn_count    INTEGER,                       -- the number of the newest turn
    created_at    TEXT,
    updated_at    TEXT,
    metadata_json TEXT                           -- JSON object; ours: client
);
CREATE TABLE IF NOT EXISTS memory_turns (        -- what was asked and answered, as policy left it
    session_id TEXT NOT NULL,
    number     INTEGER NOT NULL,                 -- 1, 2, ... within the session
    question   TEXT NOT NULL DEFAULT '',
    answer     TEXT NOT NULL DEFAULT '',
    sources    TEXT NOT NULL DEFAULT '[]',       -- JSON array: what the model was given, item ids or path:line
    injectable INTEGER NOT NULL DEFAULT 1,       -- 0: never given to a model again
    asked_at   TEXT NOT NULL,
    PRIMARY KEY (session_id, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_workspaces (   -- saved views, in RAGIX's shape
    name        TEXT PRIMARY KEY,
    scope       TEXT NOT NULL,                   -- what is written to, and read unless read_scopes says otherwise
    corpus_id   TEXT NOT NULL DEFAULT '',        -- '': any
    description TEXT NOT NULL DEFAULT '',
    created_at  TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memory_workspace_options (  -- what memory_workspaces has no column for
    name        TEXT PRIMARY KEY,
    read_scopes TEXT,                            -- JSON array; NULL: the workspace's scope and the scope global
    budget      INTEGER                          -- tokens of a recall; NULL: the usual
) WITHOUT ROWID;
"""

#: Migration 5: how much an item matters, which is another thing than how sure it is.
IMPORTANCE_TABLE = """
CREATE TABLE IF NOT EXISTS memory_importance (   -- only of items of which somebody said it; 0.5 without a row
    item_id    TEXT PRIMARY KEY,
    importance REAL NOT NULL CHECK(importance BETWEEN 0 AND 1)
) WITHOUT ROWID;
"""

# A passage that bulk ingest wrote and nobody changed is its own first revision: the row says it all, so the snapshot
# is '{}'. The moment any program changes the row (REPLACE included), these two triggers write the old state down.
_SNAPSHOT = """json_object(
        'id', {old}.id, 'tier', {old}.tier, 'type', {old}.type, 'title', {old}.title, 'content', {old}.content,
        'tags', json({old}.tags), 'entities', json({old}.entities), 'links', json({old}.links_json),
        'provenance', json({old}.provenance_json), 'confidence', {old}.confidence, 'validation', {old}.validation,
        'scope', {old}.scope, 'expires_at', {old}.expires_at, 'usage_count', {old}.usage_count,
        'last_used_at', {old}.last_used_at, 'created_at', {old}.created_at, 'updated_at', {old}.updated_at,
        'rule_id', {old}.rule_id, 'corpus_id', {old}.corpus_id, 'superseded_by', {old}.superseded_by,
        'archived', json(CASE {old}.archived WHEN 0 THEN 'false' ELSE 'true' END),
        'injectable', json(CASE {old}.injectable WHEN 0 THEN 'false' ELSE 'true' END))"""

REVISION_TRIGGERS = f"""
CREATE TRIGGER IF NOT EXISTS memctl_first_revision_bu
BEFORE UPDATE OF tier, type, title, content, tags, entities, links_json, provenance_json, confidence, validation,
    scope, expires_at, rule_id, superseded_by, archived, corpus_id, injectable ON memory_items
WHEN EXISTS (SELECT 1 FROM memory_revisions WHERE item_id = old.id AND snapshot = '{{}}') BEGIN
    UPDATE memory_revisions SET snapshot = {_SNAPSHOT.format(old="old")}
    WHERE item_id = old.id AND snapshot = '{{}}';
END;
CREATE TRIGGER IF NOT EXISTS memctl_first_revision_bi
BEFORE INSERT ON memory_items
WHEN EXISTS (SELECT 1 FROM memory_revisions WHERE item_id = new.id AND snapshot = '{{}}') BEGIN
    UPDATE memory_revisions SET snapshot =
        (SELECT {_SNAPSHOT.format(old="i")} FROM memory_items AS i WHERE i.id = new.id)
    WHERE item_id = new.id AND snapshot = '{{}}' AND EXISTS (SELECT 1 FROM memory_items WHERE id = new.id);
END;
"""

#: Migration 6: what is known about the full-text index, in one row.
FTS_STATE = """
CREATE TABLE IF NOT EXISTS memory_fts_state (    -- whether the full-text index says what the items say; one row
    one            INTEGER PRIMARY KEY CHECK(one = 1),
    sound          INTEGER NOT NULL,             -- 0: it does not, and must be made anew
    replaced_row   INTEGER,                      -- row that an INSERT may replace: its words have left the index
    schema_version INTEGER                       -- PRAGMA schema_version when the triggers were last compared
);
"""

#: Migration 6, too: `list` and `digest` read the newest items in their order, and counts are read from an index: they
#: cost what is shown, whatever the texts are.
READING_INDEXES = """
CREATE INDEX IF NOT EXISTS memctl_items_newest ON memory_items(archived, updated_at DESC, id);
CREATE INDEX IF NOT EXISTS memctl_items_counts
    ON memory_items(archived, scope, type, tier, injectable, validation, expires_at, corpus_id);
"""

#: Migration 7: `list`, `digest` and `stats` speak of statements, few among many passages. 12: few may not be shown.
STATEMENT_INDEX = f"""
CREATE INDEX IF NOT EXISTS memctl_items_statements ON memory_items(archived, updated_at DESC, id)
    WHERE NOT {IS_PASSAGE};
"""
DOUBTFUL_INDEX = f"""
CREATE INDEX IF NOT EXISTS memctl_items_doubtful ON memory_items(archived, injectable, validation, expires_at)
    WHERE {MAY_FAIL};
"""

#: Migration 9: what happens to items after they are stored. What is written is noted run by run (`journal`).
LIFE_TABLES = """
CREATE TABLE IF NOT EXISTS memory_runs (         -- one command or call that wrote
    number      INTEGER PRIMARY KEY,             -- 1, 2, ... in the order in which they first wrote
    run         TEXT NOT NULL,                   -- RUN- and 12 hex digits
    command     TEXT NOT NULL,
    actor       TEXT NOT NULL,                   -- person, tool or program
    name        TEXT NOT NULL DEFAULT '',        -- the user of the computer, or the client
    session     TEXT NOT NULL DEFAULT '',        -- the client's conversation
    reason      TEXT NOT NULL DEFAULT '',        -- why, where it was said
    started_at  TEXT NOT NULL,                   -- when it first wrote
    finished_at TEXT NOT NULL,                   -- when it last wrote
    undoes      TEXT NOT NULL DEFAULT '[]',      -- JSON array: numbers of the runs that it took back
    undone_by   INTEGER,                         -- number of the run that took it back
    summary     TEXT                             -- JSON object: what it changed, once memory_undo keeps it no more
);
CREATE UNIQUE INDEX IF NOT EXISTS memctl_runs_run ON memory_runs(run);
CREATE TABLE IF NOT EXISTS memory_undo (         -- what the rows that a run changed were before
    run      INTEGER NOT NULL,                   -- its number
    part     TEXT NOT NULL,                      -- the table, without memory_
    key      TEXT NOT NULL,                      -- the row's key; several columns as a JSON array
    revision INTEGER,                            -- of an item: how many revisions it had
    before   TEXT,                               -- JSON array of the columns; NULL: there was no such row
    PRIMARY KEY (run, part, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_retention (    -- how long an item keeps its worth; only where somebody said it
    item_id TEXT PRIMARY KEY,
    kind    TEXT NOT NULL CHECK(kind IN ('keep', 'fade')),   -- keep: neither fades nor expires
    rate    REAL NOT NULL DEFAULT 0,             -- fade: the share of its strength that it loses a day
    set_at  TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_tombstones (   -- what was purged, and is not stored again
    content_hash TEXT NOT NULL,                  -- of its content, as in memory_items
    item_id      TEXT NOT NULL,
    source       TEXT NOT NULL DEFAULT '',       -- the id of its source
    purged_at    TEXT NOT NULL,
    PRIMARY KEY (content_hash, item_id)
) WITHOUT ROWID;
"""

#: Migration 10: what statements say about each other and about the files that they speak of.
KNOWLEDGE_TABLES = """
CREATE TABLE IF NOT EXISTS memory_conflicts (    -- two items that seem to contradict each other
    id         TEXT PRIMARY KEY,                 -- CON- and 12 hex digits, made of both ids
    a_id       TEXT NOT NULL,                    -- the older item
    b_id       TEXT NOT NULL,                    -- the newer one
    why        TEXT NOT NULL,                    -- what shows it, such as: another number
    state      TEXT NOT NULL DEFAULT 'open',     -- open, or what was decided: keep-a, keep-b, both, dismiss
    found_at   TEXT NOT NULL,
    decided_at TEXT NOT NULL DEFAULT '',
    reason     TEXT NOT NULL DEFAULT ''          -- why it was decided so, where somebody said it
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_conflicts_a ON memory_conflicts(a_id);
CREATE INDEX IF NOT EXISTS memctl_conflicts_b ON memory_conflicts(b_id);
CREATE TABLE IF NOT EXISTS memory_citations (    -- what a statement refers to
    item_id    TEXT NOT NULL,
    number     INTEGER NOT NULL,                 -- 1, 2, ... within the statement
    kind       TEXT NOT NULL,                    -- path, symbol, url, version or commit
    cited      TEXT NOT NULL,                    -- in the words of the statement
    given      INTEGER NOT NULL DEFAULT 0,       -- 1: it was said beside the statement (--cites)
    path       TEXT NOT NULL DEFAULT '',         -- the document that it was found in; '': in none yet
    symbol     TEXT NOT NULL DEFAULT '',         -- the definition that is cited
    line_start INTEGER,                          -- of the cited text, where it was last seen; NULL: the whole document
    line_end   INTEGER,
    text_hash  TEXT NOT NULL DEFAULT '',         -- of the cited text as it was when it was found, or verified
    passages   TEXT NOT NULL DEFAULT '[]',       -- JSON array: the items that held it
    revision   TEXT NOT NULL DEFAULT '',         -- the commit that the work tree was at
    state      TEXT NOT NULL,                    -- noted (nothing to follow), open (not found yet), fresh, changed,
                                                 -- moved (to another document), gone
    moved_to   TEXT NOT NULL DEFAULT '',         -- the document that has the text now
    state_at   TEXT NOT NULL,                    -- since when
    PRIMARY KEY (item_id, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_citations_path ON memory_citations(path);
CREATE INDEX IF NOT EXISTS memctl_citations_state ON memory_citations(state);
CREATE INDEX IF NOT EXISTS memctl_items_made ON memory_items(archived, created_at);
"""

#: Migration 11: how sessions hang together, what was said in each, what a document set held, and transcripts.
THREAD_TABLES = """
CREATE TABLE IF NOT EXISTS memory_session_items (  -- in which sessions an item was said
    item_id    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    PRIMARY KEY (item_id, session_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_session_items ON memory_session_items(session_id);
CREATE TABLE IF NOT EXISTS memory_session_links (  -- src REL dst, for example newer follows_up_on older
    src_id     TEXT NOT NULL,
    dst_id     TEXT NOT NULL,
    rel        TEXT NOT NULL,                    -- follows_up_on, branches_from, merges or contradicts
    created_at TEXT NOT NULL,
    PRIMARY KEY (src_id, dst_id, rel)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_corpus_files (  -- the documents of a corpus when it was registered
    corpus_id TEXT NOT NULL,
    path      TEXT NOT NULL,                     -- of the document, below the folder that all are in
    sha256    TEXT NOT NULL,                     -- of its raw bytes
    passages  INTEGER NOT NULL DEFAULT 0,        -- how many it was cut into
    PRIMARY KEY (corpus_id, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_transcripts (  -- files of AI clients on this machine, and how far they were read
    path        TEXT PRIMARY KEY,
    form        TEXT NOT NULL,                   -- such as claude or codex
    size        INTEGER NOT NULL,                -- bytes when it was read last
    changed_ns  INTEGER NOT NULL,                -- when it was changed then
    resume      INTEGER NOT NULL,                -- the byte where the last prompt begins
    captured_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory_turn_origins ( -- the message that a turn was made of; it stays when the turn goes
    session_id TEXT NOT NULL,
    number     INTEGER NOT NULL,
    origin     TEXT NOT NULL,                    -- the client's id of the prompt, or where it stands
    PRIMARY KEY (session_id, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_turn_origins ON memory_turn_origins(origin);
"""

#: Migration 11, too: what came of what conversations were told.
USEFULNESS_TABLE = """
CREATE TABLE IF NOT EXISTS memory_usefulness (   -- which item a conversation was told unasked, and whether it helped
    item_id    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    tokens     INTEGER NOT NULL DEFAULT 0,       -- that it took, about
    used       TEXT NOT NULL DEFAULT '',         -- how an answer shows that it used it: cited, quoted or said; '': none
    judged_at  TEXT NOT NULL,
    PRIMARY KEY (item_id, session_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_usefulness_session ON memory_usefulness(session_id);
"""

# The index is keyed by the rowid of memory_items, which is no column: a dump that is restored, and VACUUM, number the
# rows again, from 1 and without gaps. The index keeps the old numbers, so where one changed, the greatest differ. The
# next insert or delete could make them equal again; before it, the triggers note what they see.
_INDEXED = "(SELECT max(id) FROM memory_items_fts_docsize)"
_RENUMBERED = f"(SELECT max(rowid) FROM memory_items) IS NOT {_INDEXED}"
_NOTE_RENUMBERED = f"""UPDATE memory_fts_state SET sound = 0
    WHERE sound AND (SELECT max(rowid) FROM memory_items) IS NOT
        (SELECT max(id) FROM (SELECT {_INDEXED} AS id UNION ALL SELECT replaced_row));"""

# No tokenizer of SQLite tells Chinese, Japanese and Korean words apart, and to all of them the vowel points of Arabic
# and Hebrew end a word. So the index also holds, behind the content, the characters of the former two by two, and a
# text of the latter once more without points; what stands in the title counts twice there, as it does elsewhere. This
# is plain SQL, which every program that writes can run. It takes a text apart in blocks, because substr() counts from
# the beginning. An ASCII text costs a comparison of lengths, most others a look for a character between the ends.
_BLOCK = 64
_NUMBERS = "json_each('[0' || replace(hex(zeroblob({})), '00', ',0') || ']')"


def _pieces(sign: str, size: int, separator: str, condition: str) -> str:
    """The pieces of `text` that begin at each character and meet a condition; '' for a text without the sign."""
    return f"""CASE WHEN text GLOB '*[{sign[0]}-{sign[-1]}]*' AND
        text GLOB '*[{sign}]*' THEN ifnull((SELECT ' ' || group_concat(piece, '{separator}') FROM
        (SELECT substr(block, at.key + 1, {size}) AS piece FROM
        (SELECT substr(text, {_BLOCK} * part.key + 1, {_BLOCK + size - 1}) AS block
        FROM {_NUMBERS.format(f"length(text) / {_BLOCK}")} AS part LIMIT -1),
        {_NUMBERS.format(_BLOCK - 1)} AS at LIMIT -1) WHERE {condition}), '') ELSE '' END"""


def indexed_columns(row: str) -> str:
    """What the index holds of a row of memory_items, as SQL: title, content, tags, entities."""
    pairs = _pieces(PAIRED, 2, " ", f"piece GLOB '[{PAIRED}]*'")
    plain = _pieces(POINTS, 1, "", f"piece NOT GLOB '[{POINTS}]'")
    return f"""{row}.title, {row}.content || (SELECT CASE WHEN length(CAST(text AS BLOB)) = length(text) THEN '' ELSE
        {pairs} ||
        {plain} END FROM (SELECT {row}.title || ' ' || {row}.title || ' ' || {row}.content || ' ' || {row}.tags AS text
        LIMIT -1)), {row}.tags, {row}.entities"""


# REPLACE deletes a row without its delete trigger, unless recursive_triggers is on, and only until then are its words
# known: they leave the index before the insert. Where the insert was IGNOREd or became an UPDATE, they come back.
_PUT_BACK = f"""INSERT INTO memory_items_fts(rowid, title, content, tags, entities)
    SELECT i.rowid, {indexed_columns("i")}
    FROM memory_fts_state AS s JOIN memory_items AS i ON i.rowid = s.replaced_row
    WHERE NOT EXISTS (SELECT 1 FROM memory_items_fts_docsize WHERE id = s.replaced_row);
    UPDATE memory_fts_state SET replaced_row = NULL WHERE replaced_row IS NOT NULL;"""

FTS_TRIGGER_NAMES = (
    "memory_items_fts_ai", "memory_items_fts_bd", "memory_items_fts_bu", "memory_items_fts_au",
    "memctl_fts_bi", "memctl_fts_bu",
)  # fmt: skip

#: They fire for every program that writes to the file, and take nothing out of the index that is not in it.
FTS_TRIGGERS = f"""
CREATE TRIGGER memctl_fts_bi BEFORE INSERT ON memory_items
WHEN EXISTS (SELECT 1 FROM memory_items WHERE id = new.id) OR {_RENUMBERED}
    OR EXISTS (SELECT 1 FROM memory_fts_state WHERE replaced_row IS NOT NULL) BEGIN
    {_NOTE_RENUMBERED}
    {_PUT_BACK}
    UPDATE memory_fts_state SET replaced_row = (SELECT rowid FROM memory_items WHERE id = new.id);
    INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities)
    SELECT 'delete', i.rowid, {indexed_columns("i")} FROM memory_items AS i
    WHERE i.id = new.id AND EXISTS (SELECT 1 FROM memory_items_fts_docsize WHERE id = i.rowid);
END;
CREATE TRIGGER memory_items_fts_ai AFTER INSERT ON memory_items BEGIN
    INSERT INTO memory_items_fts(rowid, title, content, tags, entities)
    VALUES (new.rowid, {indexed_columns("new")});
    {_PUT_BACK}
END;
CREATE TRIGGER memory_items_fts_bd BEFORE DELETE ON memory_items BEGIN
    {_NOTE_RENUMBERED}
    {_PUT_BACK}
    INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities)
    SELECT 'delete', old.rowid, {indexed_columns("old")}
    WHERE EXISTS (SELECT 1 FROM memory_items_fts_docsize WHERE id = old.rowid);
END;
CREATE TRIGGER memory_items_fts_bu BEFORE UPDATE OF title, content, tags, entities ON memory_items
WHEN EXISTS (SELECT 1 FROM memory_items_fts_docsize WHERE id = old.rowid) BEGIN
    INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities)
    VALUES ('delete', old.rowid, {indexed_columns("old")});
END;
CREATE TRIGGER memory_items_fts_au AFTER UPDATE ON memory_items
WHEN NOT EXISTS (SELECT 1 FROM memory_items_fts_docsize WHERE id = new.rowid) BEGIN
    INSERT INTO memory_items_fts(rowid, title, content, tags, entities)
    VALUES (new.rowid, {indexed_columns("new")});
    {_NOTE_RENUMBERED}
    {_PUT_BACK}
END;
CREATE TRIGGER memctl_fts_bu BEFORE UPDATE ON memory_items
WHEN new.rowid <> old.rowid OR (new.id <> old.id AND EXISTS (SELECT 1 FROM memory_items WHERE id = new.id)) BEGIN
    UPDATE memory_fts_state SET sound = 0;
END;
"""

#: The statements of a script here: each runs by itself in our own transaction, which `executescript` would commit.
STATEMENT = re.compile(r"\S.*?;(?=\s*\n(?!END\b)\S|\s*$)", re.DOTALL)


#: Migration 8: an index without pairs and plain words is to be made anew.
FORGET_INDEX = f"""{FTS_STATE}
UPDATE memory_fts_state SET sound = 0
WHERE NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'memory_items_fts_ai' AND instr(sql, 'AS piece'));
"""


def without_pairs(script: str) -> str:
    """The triggers of the index as they were before it held pairs of characters; and as they are easier to read."""
    for row in ("new", "old", "i"):
        script = script.replace(indexed_columns(row), f"{row}.title, {row}.content, {row}.tags, {row}.entities")
    return script


def what_is_indexed(triggers: str) -> str:
    """The triggers of the index as they were before they looked at the ends of all ranges: they index the same."""
    return re.sub(r"text GLOB '\*\[.-.\]\*' AND\n +", "", triggers)


def tokenizer(name: str | None) -> str:
    """The tokenizer a preset name or a full string means; None is the default. Raises TokenizerInvalid."""
    if name is None:
        return DEFAULT_TOKENIZER
    text = FTS_TOKENIZER_PRESETS.get(name, name)
    if not re.fullmatch(r"[A-Za-z0-9_. -]+", text):
        raise errors.TokenizerInvalid(tokenizer=name)
    return text


def fts_table(tokenize: str) -> str:
    """The DDL of the full-text table; `tokenize` has passed `tokenizer()`, so it holds no quote."""
    return f"""
CREATE VIRTUAL TABLE memory_items_fts USING fts5(
    title, content, tags, entities,
    content='memory_items',
    content_rowid='rowid',
    tokenize='{tokenizer(tokenize)}'
);
"""
