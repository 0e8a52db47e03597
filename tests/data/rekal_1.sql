-- The tables of a rekal 1.8 database, and some rows.
CREATE TABLE conversations(id TEXT PRIMARY KEY, title TEXT, project TEXT, started_at TEXT, metadata TEXT);
CREATE TABLE conversation_links(from_id TEXT, to_id TEXT, relation TEXT);
CREATE TABLE memories(id TEXT PRIMARY KEY, content TEXT NOT NULL, memory_type TEXT NOT NULL DEFAULT 'fact', project TEXT,
    conversation_id TEXT, tags TEXT, created_at TEXT, updated_at TEXT, access_count INTEGER, last_accessed_at TEXT);
CREATE VIRTUAL TABLE memories_fts USING fts5(content, tags, project, content='memories', content_rowid='rowid');
CREATE TABLE memory_links(from_id TEXT, to_id TEXT, relation TEXT);
CREATE TABLE project_config(project TEXT, key TEXT, value TEXT);
INSERT INTO conversations VALUES ('c1', 'Ports', 'api', '2026-03-01 10:00:00', '{}'), ('c2', 'More', NULL, '2026-03-02 10:00:00', '{}');
INSERT INTO conversation_links VALUES ('c2', 'c1', 'follows_up_on');
INSERT INTO memories VALUES
    ('a1', 'The port is 8080.', 'fact', 'api', 'c1', '["port"]', '2026-03-01 10:00:00', '2026-03-01 10:00:00', 3, '2026-03-03 10:00:00'),
    ('a2', 'The port is 9090.', 'fact', 'api', 'c1', '["port"]', '2026-03-02 10:00:00', '2026-03-02 10:00:00', 0, NULL),
    ('a3', 'We like short answers.', 'preference', NULL, NULL, '[]', '2026-03-02 11:00:00', '2026-03-02 11:00:00', 0, NULL);
INSERT INTO memory_links VALUES ('a2', 'a1', 'supersedes'), ('a3', 'a2', 'related_to'), ('a3', 'zz', 'related_to');
