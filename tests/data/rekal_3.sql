-- The tables of a rekal 3.4 database, and some rows.
CREATE TABLE memories(id TEXT PRIMARY KEY, content TEXT NOT NULL, project TEXT, tags TEXT, created_at TEXT, updated_at TEXT);
INSERT INTO memories VALUES ('b1', 'Brief: the cache is warm.', 'api', '["cache"]', '2026-08-01 10:00:00', '2026-08-02 10:00:00');
