"""docs/json.md: what `--json` of each command prints, key by key.

Which keys a command prints stands in the table of docs/formats.md; what a key is, once, here. `command.key` is for a
key that is something else there.
"""

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"

#: key | type | meaning. A type with `?` may be null.
_KEYS = """
action|string|what became of it: accept, quarantine or reject
allowed|integer|findings that a project's own `policy.allow` lets through
alone|integer|items that are in no topic
answer|string|the model's answer
answered|number|share of the questions whose block says what was expected
archived|boolean|whether it is archived
archived_items|integer|items that are archived
budget|integer|tokens that a block may have
by|string|day, week, month or year
by_scope|object|items by scope
by_tier|object|items by tier
by_type|object|items by type
bytes|integer|size of the file
bytes_after|integer|size of the file afterwards
bytes_before|integer|size of the file before
changed|boolean|whether anything was changed
checks|array|each check: `name`, `status` (pass, warn, fail), `detail`, `message`
chunk_tokens|integer?|tokens of a passage at most
chunks_archived|integer|passages that are archived, because their text is gone
chunks_created|integer|new passages
chunks_kept|integer|passages that stay as they were
chunks_quarantined|integer|new passages that policy holds back
chunks_redacted|integer|new passages in which a secret was blotted out
chunks_restored|integer|archived passages that came back
chunks_superseded|integer|passages that a new one replaces
citations|array|each citation: `source`, and whether the context had it (`known`)
client|string?|the client of the conversation
clusters_found|integer|groups of items that say the same
compared|integer|statements that were compared
confidence|number|how sure it is, 0 to 1
config_ignored|array|keys of the config file that do not count, because nobody vouches for it
config_loosens|array|keys of the config file that loosen policy, or name a host or a program
config_path|string?|the config file
conflicts|array|each conflict: `id`, `why`, `state`, `found_at`, and `a` (the older item) and `b`
content_diff|array|lines of a unified diff, each with its end
content_preview|string|the first 200 characters
context|string|what the model is told
converged|boolean|whether the answer settled before its bounds were reached
corpus|string?|the document set
count|integer|how many are listed
counts|object|how many wait, by kind
created|boolean|whether the store was made now
created_at|string|when it was made (ISO 8601, UTC)
damaged|array|what was damaged
db_exists|boolean|whether there is a store
db_path|string|the store
decided|array|each decision: `id`, `kind`, `decision`, `items`
decision|string|keep-a, keep-b, both or dismiss
default|any|the value without a setting
digest|string|the page as text
documents|array|each folder or file: `path`, `files`, `passages`, `updated_at`
dry_run|boolean|true when nothing was done
dst_id|string|the item that the relation leads to
duplicate|integer|statements that were known already
duration_seconds|number|how long it took
eco_mode|string|on, off, or disabled
edges|array|each: `src`, `dst`, `kind`, `weight`
embedded|integer|items that got a vector now
embeddings_count|integer|items that have a vector
empty|integer|1: the input said nothing worth keeping
end|string?|the last day
entities|array|each: `name`, `kind`, `count`, `first`, `latest`, `items` (each `id`, `created_at`, `said`)
entries|array|what waits, each: `kind`, `id`, `items`, `why`, `decisions`, `commands`
errors|integer|lines that could not be read
events_count|integer|entries of the log of events
expires_at|string?|when it counts as gone (ISO 8601, UTC)
explain|object|what the score is made of: `reasons` and `words`
extensions|object|the same as per_extension
files|integer|files that were looked at
files_changed|integer|files whose text had changed
files_deleted|integer|files that are gone
files_failed|array|each file that could not be read: `path`, `reason`
files_moved|integer|files that have another path now
files_new|integer|files that were not known
files_refiled|integer|files that were read again, under other options
files_scanned|integer|files that were looked at
files_unchanged|integer|files that were as before
findings|array|each finding: `path`, `line`, `rule`, `severity` and the like
fixed|array|what was put right
forgotten|integer|vectors that were taken away
format_version|integer|the version of the block
from_pages|integer|items that were read from damaged pages
from_revisions|integer|items that were taken from their history
from_tier|string|the tier before
fts5_available|boolean|whether SQLite has full-text search
fts_dropped_terms|array|words of the question that the best item does not have
fts_effective_terms|array|words of the question that it has
fts_indexed_at|string?|when the index was made
fts_original_terms|array|words of the question that are searched for
fts_reindex_count|integer|how often it was made anew
fts_state|string|whether the index fits the items: sound, unsound, unknown, none
fts_strategy|string|how the best item was found: AND, PREFIX_AND, REDUCED_AND, OR_FALLBACK, LIKE
fts_tokenizer|string|the tokenizer in use
fts_tokenizer_mismatch|boolean|whether it is not the one that the index was made with
fts_tokenizer_stored|string?|the one that the index was made with
groups|array|each period: `when`, `count`
help|string|what the setting does
hint|string|what to try next
how|string|made, trusted, adopted, untrusted
id|string|the item's id
identical|boolean|whether nothing differs
ids|array|ids of the items, at most 1000
ignore_patterns|array|patterns of what is passed over
imported|integer|items that were stored
inject_text|string|the block; empty when nothing matches
item_ids|array|ids of the items
items|array|the items
items_expired|integer|items that ran out
palace_assigned|integer|merged items that took over a pin of their sources
items_indexed|integer|items in the index
items_merged|integer|items that were merged
items_processed|integer|items that were looked at
items_promoted|integer|items that were promoted
items_quarantined|integer|items that were held back
items_released|integer|items that may be recalled now
iterations|integer|calls of the model
k|integer|results that are looked at for each question
kept|integer|items whose vector stays
kept_total|integer|how many rows were left alone
key|string|the setting
label_a|string|the first of the two, or the item as it is
label_b|string|the second one, or the state that it is compared with
lang_hint|string?|the language of its documents
languages|object|files by language
last_backup|string?|when the last backup was made
last_scan|string?|when documents were last read
last_sync_at|string?|when it was last synced
last_verify|string?|when the store was last checked
latest|string?|when the newest one was made
left|integer|items that still need a vector
level|string|what is listed: domain, room, shelf or card
line|integer?|the line of the source where the snippet begins
line_end|integer?|the last line of the passage
line_start|integer?|the first line of the passage
location|object|the pin: `item_id`, `domain`, `room`, `shelf`, `card`
links|array|each link: `relation`, `direction` (out or in), the other item's `id` and `title`, `created_at`
loop_iterations|integer|calls of the model
lost|array|items that could not be saved
matched|integer|items that match
memories|array|the items of the block
merge_chains|array|each merge: `merged_id`, `merged_title`, `source_count`, `source_ids`, `source_titles`
merged|integer|items that said the same as one there
message|string|what happened
metadata_changes|array|each field that differs: `field`, `old`, `new`
misses|array|each question that was not answered
model|string?|the embedder
mount_id|string?|the mount's id
mount_label|string|its name or path
mount_path|string|its folder
mounts|array|the mounts
mounts_behind|array|mounts that need a sync, by their folder: `mount_id`, `reason` (gone, never synced, changed)
mounts_outside|array|mounts outside the project
moved_to|string|where the old store was moved to
mrr|number|mean reciprocal rank of the first expected source
name|string?|its name
new|integer|conflicts that were not known
new_tokenizer|string|the tokenizer now
nodes|array|each: `id`, `kind` (item, passage, document, entity), `label`, `type`
observation_thresholds|object|from when on something is worth an observation
observations|array|what stands out
old_id|string|the item that is replaced
origin|string|where the value comes from: flag, environment, config, default
over|integer|conflicts that are none any more
page|string|the page
parts|array|each field and paragraph: `field`, `value`, `source`, and the state that brought it, as in `states`
passages|integer|passages of documents
path|string|the folder or file
per_extension|object|files by extension
per_folder|object|files, chunks and size by folder
pinned|boolean|whether it is pinned now
places_completed|integer|passages whose place was noted now
preserve_mounts|boolean|whether the mounts stay
previous_tokenizer|string?|the tokenizer before
problems|integer|proposals that could not be used
project_id|string?|the project of the conversation
quarantined|integer|items that are stored and kept from models
query|string|the question
question|string|the question
questions|integer|how many were asked
reasons|array|why, in words
recall|number|share of the expected sources among the results
recall_items_used|integer|items that the model was given
records|object|what else came in, by kind
redacted|integer|items in which a secret was blotted out
rejected|integer|statements that policy refused
related|array|each item: `relation` (of a link, or near_text, near_place, near_time), `direction`, `id`, `title`
relation|string|how the first item relates to the other one
released|integer|items that the store says a person released
removed|string|what was removed
replaced|string|the item that this one replaces
restored|integer|archived items that came back
rows|integer|rows beside items that were put back or removed
rules|array|each rule
run|string|the id of this run, which `memctl undo` takes
runs|array|each run: `run`, `command`, who (`actor`, `name`, `session`), `reason`, when, `changes`, `items`
scope|string?|the scope
scopes_processed|array|scopes that were looked at
score|number|how well it fits; comparable within one search
session_id|string|the conversation
sessions|array|the conversations
settings|array|each setting: `key`, `value`, `origin`
similar|array|each item that it nearly repeats or contradicts: `id`, `why`, and the `conflict`
capture.candidates|integer|statements that were found in them, and are proposed
capture.repeats|integer|what was found in them and is evidence of known statements
similar.items|array|each item: `id`, `score` (0 to 1), `title`, `type`, `tier`
similarity_score|number|how alike the texts are, 0 to 1
skipped_conflict|integer|lines whose id is that of another item
skipped_dedup|integer|lines that were known already
skipped_policy|integer|lines that policy refused
snippet|string|the stretch that speaks most of the question
source|string|a document's path, else what said it
source_kind|string|what kind of source: doc, chat, tool, mixed, web, …
sources|array|what the model was given, as `path:lines`
spend|object|`calls`, `tokens_in`, `tokens_out`, `seconds`
src_id|string|the item that relates to the other one
stale|array|what became of what it cites, in words
staleness|object|how old the files are
standing|string|injectable, raw, quarantined or retracted
start|string?|the first day
statements|integer|items that people and models said
statements_by_tier|object|these by tier
statements_by_type|object|these by type
states|array|each state: `revision`, `at`, `reason`, `run`, `command`, `actor`, `why`, `changes`
status|string|ok, or what it is
steps|array|what was brought up to date
stop_reason|string|why the loop ended
stored|integer|statements that are new
stored_ids|array|items that were stored
sync_chunks_created|integer|passages that the sync made
sync_files_changed|integer|files that it found changed
sync_files_new|integer|files that were new to it
sync_files_unchanged|integer|files that were as before
sync_skipped|boolean|whether nothing had to be synced
tags|array|its tags
text|string|the page as Markdown
tier|string|how established it is: stm, mtm, ltm
timeline|array|each period: `when`, `count`
timeline_summary|string|how many statements, from when to when
title|string|its title
to_quarantine|integer?|items that today's rules would hold back; null: too many to judge
to_redact|integer?|items in which they would blot something out
to_tier|string|the tier now
tokenizer_changed|boolean|whether the tokenizer is another one
tokens|integer|tokens of the block
tokens_used|integer|tokens of the text
told_items|integer|items that conversations were told, by hooks or because a model fetched them
told_tokens|integer|tokens that telling them took, about
tools|integer|tools that the server offers
top_largest|array|the largest files
topics|array|each topic: `topic`, `words`, `count`, `latest`, `items`
total|integer|how many there are, listed or not
total_chunks|integer|passages
total_files|integer|files
total_items|integer|items
total_lines|integer|lines that were read
total_lost|integer|items that were lost
total_records|integer|rows of all tables
total_size|integer|bytes
traces|array|each call of the model
tree|string|the folders as a tree
truncated|boolean|whether something was cut
trust|string|how far it is trusted
turn_count|integer|turns
turns|array|the turns
type|string|what kind of statement it is
unchanged|array|each item that needed nothing: `id`, `why`
undone|array|the runs that were taken back
updated_at|string|when it last changed (ISO 8601, UTC)
useful_items|integer|those of them that an answer used
validation|string|unverified, verified, contested, retracted
value|any|the value
verified|integer|items that the store calls verified
was_ephemeral|boolean|whether the mount was taken away again
was_mounted|boolean|whether the folder was mounted now
was_synced|boolean|whether it was synced now
weight|number?|what a vector's vote counts
withheld_items|integer|items that are kept from models
workspace|object|the workspace
workspaces|array|the workspaces
archive-sessions.bytes|integer|bytes of the transcripts that were copied
archive-sessions.copied|integer|transcripts that were copied
archive-sessions.failed|integer|transcripts that could not be copied
archive-sessions.folder|string|where the copies are
archive-sessions.unchanged|integer|transcripts whose copy was as it should be
capture.bad_lines|integer|lines that could not be read
capture.captured|array|each session that got something: `session_id`, `turns`
capture.grown|integer|turns whose answer had gone on
capture.injected|integer|prompts and answers that held nothing but what was injected
capture.known|integer|turns that were there before
capture.other_transcripts|integer|transcripts of other folders on the disk
capture.quarantined|integer|turns that are given to no model
capture.redacted|integer|turns of which policy blotted something out
capture.sessions|integer|sessions that got something
capture.turns|integer|new turns
handoff.client|string|the client of that session
handoff.session_id|string|the session that is told of
handoff.text|string|the block; "" when no session left anything
handoff.updated_at|string|when something was said in it last
useful.conversations|integer|conversations that were told something
useful.items|array|each: `id`, `title`, `told`, `used`, `tokens`, `tokens_unused`
useful.tokens|integer|tokens that telling them took, about
useful.tokens_unused|integer|those of them that no answer used
useful.told|integer|items that they were told
useful.used|integer|those of them that an answer used
"""

#: The same words for a key that means another thing in one command.
_OTHERWISE = """
browse.entries|array|what is there: `name`, `count`; cards: `id`, `title`, `type`, `tier`, `path`, `pinned`
entities.counts|object|how many there are, by kind
remote.remotes|array|each: `name` and what is told of it; of a sync the counts, `waits`, `problems`, `leaves`, `more`
remote.replica|string|the name by which this store writes there
remote.read_only|boolean|whether it is only read
remote.scopes|object|the scopes here, and what they are called there
remote.url|string|where it is
remote.entries|array|each: `at`, `who`, `what`, `id`, `title`
remote.logs|array|each log there: `scope`, `records`; of a check also `replica`, `who`, `segments`, `problem`
remote.grants|array|of init: what psql runs for each member, whom `-v member=ROLE` names
remote.schema|string|of a dry run of init: the SQL that makes the tables
remote.dry_run|boolean|whether nothing was written
remote.run|string|what `undo` takes back
graph.counts|object|how many edges there are, by kind
topics.items|integer|items that were looked at
timeline.items|array|the newest items
resolve.id|string|the conflict's id
resolve.archived|string|the id of the item that is archived for it, or empty
resolve.kept|array|ids of the items that count
undo.items|array|each item: `id`, `now` (restored or removed), `title`
undo.kept|array|each row that was left alone: `what`, `key`
config.problems|array|each problem: `key`, `message`
config.changed|boolean|whether the file was changed
edit.changed|array|the fields that were changed
promote.items|array|each item: `id`, `from_tier`, `to_tier`
promote.released|integer|how many of them were raw
purge.items|array|each tombstone: `id`, `source_id`, `purged_at`
quarantine.action|string|release or purge
corpora|array|each document set: `corpus_id`, `parent_corpus_id`, `doc_count`, `item_count` …
corpus.corpus|object|the document set: `corpus_id`, `corpus_label`, `parent_corpus_id`, `doc_count`, `item_count` …
corpus.created|boolean|whether it was new
corpus.children|array|the versions that came after it
corpus.documents|array|each document: of drift `path`, `change`, `was`; of show `path`, `sha256`, `passages`
corpus.from|string|the earlier version
corpus.to|string|the later version, or the folder
corpus.added|integer|documents that only the later one has
corpus.removed|any|documents that only the earlier one has; of remove, the document set
corpus.changed|integer|documents with another content
corpus.moved|integer|documents with the same content at another path
corpus.unchanged|integer|documents that both have alike
corpus.drift|number|the share of documents that were added, removed or changed
corpus.folders|array|each folder: `path`, and how many documents of each change
session.sessions|array|each session: its fields, and `days_inactive`; of a deletion, the ids
session.title|string|what it is about
session.items|array|what was said in it, newest first: `id`, `title`
session.links|array|each link: `src_id`, `relation`, `dst_id`, `created_at`
session.created|boolean|whether it was made now
session.src_id|string|the session that relates to the other one
session.dst_id|string|the other session
session.memory_count|integer|how many items were said in it
session.turns|array|the turns; of a deleted session, how many
digest.documents|array|each folder: `path`, `files`, `passages`, `updated_at`
import.quarantined|integer|items that came in and are kept from models
list.quarantined|boolean|whether models are not given it
mount.created_at|string|when it was registered (ISO 8601, UTC)
scan.files|integer|files that were read
search.quarantined|boolean|true: models are not given it (raw or held back)
search.trust|string|said of items in a store of somebody else
stats.files|integer|files that passages are from
stats.links|integer|links that begin at active items
stats.newest|string?|when the newest active item was made
stats.oldest|string?|when the oldest active item was made
status.global_items|integer|with --short: active items of the scope global
status.items|integer|with --short: active items of this project
status.scope|string|with --short: the scope of this project
status.mounts|integer|how many mounts there are
status.sessions|integer|how many conversations there are
status.workspaces|integer|how many workspaces there are
sync.files|array|with --report, each file: `path`, `status`, `chunks`, `reason`
eco.action_taken|string|none, enabled or disabled
eco.eco_mode|string|active, disabled, or not installed
hooks-path.eco_path|string|the folder of the files of eco mode
hooks-path.hooks_path|string|the folder of the hook scripts
scripts-path.scripts_path|string|the folder of the install scripts
setup.clients|array|each client: `client`, `files` (each `path`, `change`, `backup` or `diff`); of `list` where it is
setup.command|array|the command line that starts the server
setup.scope|string|user, project or local
setup.server|object|how the server answered: `ok`, `version` and `tools`, or `problem`
setup.status|string|ok, or failed when the server did not answer
teardown.clients|array|each client: `client`, `files` (each `path`, `change`, and `diff`)
teardown.scope|string|user, project or local
trust.items|integer|items in the store
backup.items|integer|items in the copy
salvage.items|integer|items that were saved
trust.mounts|array|its mounts
hooks.hook|string|the hook: safety-guard, memory-guard, audit-logger or eco-nudge; eco-hint prints what a client reads
hooks.pattern|string|the pattern that the command matches
hooks.additionalContext|string|of eco-hint, alone: what the model is told
hook.client|string|the client that asked
hook.event|string|the event, in memctl's words
hook.ids|array|ids of the items that it was given whole
completion.script|string|what the shell evaluates
completion.shell|string|the shell
completion.words|array|the words that begin so
shell-init.script|string|what the shell evaluates
shell-init.shell|string|the shell
scope.archived|integer|archived items that are moved
scope.from|string|the scope that is moved
scope.folder|string|the root of the project; in a store of a project, the store
scope.items|integer|items that are moved
scope.joined|integer|items that are in the other scope already
scope.kind|string|what the scope is named after: remote, first commit, folder, or store (a store of one project)
scope.mounts|integer|mounts that are moved
scope.personal|boolean|whether it is the personal store
scope.reads|object|items by each scope that a read sees here
scope.scope|string|the scope of this project
scope.scopes|array|each scope: `scope`, `items`, `archived`, `sessions`, `mounts`, `workspaces`
scope.sessions|integer|conversations that are moved
scope.to|string|where it is moved to
scope.workspaces|integer|workspaces that are moved
workspace.name|string|the workspace that was removed
workspace.removed|boolean|whether there was one
"""

ANY = "any"
_JSON = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
}  # fmt: skip


def _meanings() -> dict[str, tuple[str, str]]:
    rows = (line.split("|", 2) for line in (_KEYS + _OTHERWISE).splitlines() if line)
    return {key: (kind, about) for key, kind, about in rows}


def fits(kind: str, value: object) -> bool:
    """Whether a value is of the type that the page names."""
    found = _JSON.get(type(value), "")
    if kind == ANY or (value is None and kind.endswith("?")):
        return True
    return found == kind.rstrip("?") or (found == "integer" and kind.rstrip("?") == "number")


def table() -> dict[str, tuple[str, list[str], list[str]]]:
    """What docs/formats.md says of each command: what it prints, the keys, and those that are there sometimes."""
    page = (
        (DOCS / "formats.md").read_text(encoding="utf-8").partition("## `--json`, by command")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]*) \| ([^|]*) \|([^|]*)\|$", page, re.MULTILINE)
    return {
        name: (shape.strip(), re.findall(r"`([\w-]+)`", always), re.findall(r"`(\w+)`", sometimes))
        for name, shape, always, sometimes in rows
    }


def keys_of(name: str) -> dict[str, tuple[str, str]]:
    """The keys of a command with type and meaning. Raises SystemExit for one that nobody has described."""
    known, out = _meanings(), {}
    _, always, sometimes = table()[name]
    for key in [*always, *sometimes]:
        if f"{name}.{key}" not in known and key not in known:
            raise SystemExit(f"scripts/lib/json_page.py: say what the key {key} of {name} --json means")
        out[key] = known.get(f"{name}.{key}") or known[key]
    return out


def lines() -> Iterator[str]:
    """The page."""
    yield "# What --json prints\n\n"
    yield "<!-- Written by scripts/docs from scripts/lib/json_page.py and docs/formats.md; change it there. -->\n"
    yield """
With `--json` a command prints one JSON value on stdout, indented by two: an object whose first key is `status`, or the
shape that older memctl gave it, which stays ([conventions.md](conventions.md#output)). A failure prints nothing there;
stderr has one object, `{"error", "message", "hint"}` ([errors.md](errors.md)).

A type with `?` may be null. Keys that are there only sometimes stand in italics. New keys may come; none changes its
meaning.
"""
    for name, (shape, always, sometimes) in table().items():
        yield f"\n## {name}\n\n"
        if shape.startswith("array"):
            yield "An array; of each object:\n\n"
        if always and always[0] in table() and not sometimes and always[0] not in _meanings():
            yield f"As [{always[0]}](#{always[0]}).\n"
            continue
        if not always:
            yield "An item, as `export` writes it ([formats.md](formats.md#items-as-export-writes-them)).\n"
            continue
        yield "| key | type | meaning |\n|---|---|---|\n"
        for key, (kind, about) in keys_of(name).items():
            yield f"| {f'*`{key}`*' if key in sometimes else f'`{key}`'} | {kind} | {about} |\n"
