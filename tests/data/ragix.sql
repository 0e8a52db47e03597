-- A store as RAGIX left it: no schema_meta, no mounts, tables of its own beside the shared ones.
CREATE TABLE memory_items (id TEXT PRIMARY KEY, tier TEXT NOT NULL CHECK(tier IN ('stm','mtm','ltm')), type TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '', content TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]',
  entities TEXT NOT NULL DEFAULT '[]', links_json TEXT NOT NULL DEFAULT '[]', provenance_json TEXT NOT NULL DEFAULT '{}',
  confidence REAL NOT NULL DEFAULT 0.5, validation TEXT NOT NULL DEFAULT 'unverified', scope TEXT NOT NULL DEFAULT 'project',
  expires_at TEXT, usage_count INTEGER NOT NULL DEFAULT 0, last_used_at TEXT, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL, rule_id TEXT, superseded_by TEXT, archived INTEGER NOT NULL DEFAULT 0,
  content_hash TEXT NOT NULL DEFAULT '', corpus_id TEXT, injectable INTEGER NOT NULL DEFAULT 1);
CREATE TABLE memory_revisions (revision_id TEXT PRIMARY KEY, item_id TEXT NOT NULL, revision_num INTEGER NOT NULL,
  snapshot TEXT NOT NULL, changed_at TEXT NOT NULL, reason TEXT NOT NULL DEFAULT 'update');
CREATE TABLE memory_embeddings (item_id TEXT PRIMARY KEY, model_name TEXT NOT NULL, dimension INTEGER NOT NULL,
  vector BLOB NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE memory_links (src_id TEXT NOT NULL, dst_id TEXT NOT NULL, rel TEXT NOT NULL, created_at TEXT NOT NULL,
  PRIMARY KEY (src_id, dst_id, rel));
CREATE TABLE memory_palace_locations (item_id TEXT PRIMARY KEY, domain TEXT NOT NULL DEFAULT 'default',
  room TEXT NOT NULL DEFAULT '', shelf TEXT NOT NULL DEFAULT '', card TEXT NOT NULL DEFAULT '', assigned_at TEXT NOT NULL);
CREATE TABLE memory_events (id TEXT PRIMARY KEY, action TEXT NOT NULL, item_id TEXT, details_json TEXT NOT NULL DEFAULT '{}',
  content_hash TEXT NOT NULL DEFAULT '', timestamp TEXT NOT NULL);
CREATE TABLE corpus_hashes (file_path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, chunk_count INTEGER NOT NULL DEFAULT 0,
  item_ids TEXT NOT NULL DEFAULT '[]', ingested_at TEXT NOT NULL);
CREATE TABLE corpus_metadata (corpus_id TEXT PRIMARY KEY, corpus_label TEXT NOT NULL DEFAULT '', parent_corpus_id TEXT,
  doc_count INTEGER NOT NULL DEFAULT 0, item_count INTEGER NOT NULL DEFAULT 0, scope TEXT NOT NULL DEFAULT 'project',
  ingested_at TEXT NOT NULL);
CREATE TABLE memory_workspaces (name TEXT PRIMARY KEY, scope TEXT NOT NULL, corpus_id TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '', created_at TEXT NOT NULL);
INSERT INTO memory_workspaces VALUES ('default', 'project', '', '', '2024-01-01T00:00:00+00:00');
CREATE TABLE memory_sessions (session_id TEXT PRIMARY KEY, project_id TEXT, scope TEXT, turn_count INTEGER, created_at TEXT,
  updated_at TEXT, metadata_json TEXT);
CREATE TABLE graph_nodes (node_id TEXT PRIMARY KEY, kind TEXT, label TEXT, item_id TEXT, created_at TEXT);
CREATE VIRTUAL TABLE memory_items_fts USING fts5(title, content, tags, entities, content='memory_items',
  content_rowid='rowid', tokenize='unicode61 remove_diacritics 2');
CREATE TRIGGER memory_items_fts_ai AFTER INSERT ON memory_items BEGIN INSERT INTO memory_items_fts(rowid, title, content,
  tags, entities) VALUES (new.rowid, new.title, new.content, new.tags, new.entities); END;
CREATE TRIGGER memory_items_fts_bd BEFORE DELETE ON memory_items BEGIN INSERT INTO memory_items_fts(memory_items_fts, rowid,
  title, content, tags, entities) VALUES ('delete', old.rowid, old.title, old.content, old.tags, old.entities); END;
CREATE TRIGGER memory_items_fts_bu BEFORE UPDATE ON memory_items BEGIN INSERT INTO memory_items_fts(memory_items_fts, rowid,
  title, content, tags, entities) VALUES ('delete', old.rowid, old.title, old.content, old.tags, old.entities); END;
CREATE TRIGGER memory_items_fts_au AFTER UPDATE ON memory_items BEGIN INSERT INTO memory_items_fts(rowid, title, content,
  tags, entities) VALUES (new.rowid, new.title, new.content, new.tags, new.entities); END;
INSERT INTO memory_items(id, tier, type, title, content, tags, created_at, updated_at, content_hash) VALUES
  ('MEM-000000000001', 'stm', 'note', 'Login flow', 'The login flow uses JWT tokens', '["auth"]',
   '2024-01-01T00:00:00+00:00', '2024-01-01T00:00:00+00:00', ''),
  ('MEM-000000000002', 'ltm', 'decision', 'Database', 'We chose Postgres for billing', '["s\u00e9curit\u00e9"]',
   '2024-01-02T00:00:00+00:00', '2024-01-02T00:00:00+00:00', '');
