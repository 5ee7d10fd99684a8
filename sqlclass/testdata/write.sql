INSERT INTO users (name) VALUES ('x')
====
insert into users (name) values ('x') returning id
====
INSERT INTO users SELECT * FROM users WHERE false
====
INSERT INTO users (name) VALUES ('x') ON CONFLICT (email) DO UPDATE SET name = excluded.name
====
UPDATE users SET age = 1 WHERE id = 1
====
UPDATE "users" SET "age"=1,"name"='x' WHERE "users"."deleted_at" IS NULL AND "id" = 1
====
DELETE FROM users WHERE id = 12345
====
DELETE FROM tree USING users WHERE tree.id = users.id + 5000 RETURNING *
====
MERGE INTO tree t USING (SELECT 50 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)
====
-- comment first
DELETE FROM tree WHERE id = 7000
====
WITH x AS (DELETE FROM tree WHERE id = 7000) SELECT 1
====
WITH x AS (DELETE FROM tree WHERE id = 7000 RETURNING *) SELECT * FROM x
====
WITH x AS (INSERT INTO tree VALUES (7001) RETURNING id) SELECT id FROM x
====
WITH x AS (UPDATE tree SET label = 'x' WHERE id = 7000 RETURNING id) SELECT id FROM x
====
WITH x AS MATERIALIZED (UPDATE tree SET label = 'x' WHERE id = 7000 RETURNING id) SELECT id FROM x
====
WITH a AS (SELECT 1), x AS (DELETE FROM tree WHERE id = 7000) SELECT * FROM a
====
WITH a AS (SELECT 7000 AS id) DELETE FROM tree USING a WHERE tree.id = a.id
====
WITH a AS (SELECT 7000 AS id) UPDATE tree SET label = 'y' FROM a WHERE tree.id = a.id
====
WITH a AS (SELECT 7002 AS id) INSERT INTO tree SELECT id FROM a
====
WITH values(a) AS (SELECT 7000) DELETE FROM tree WHERE id = 7000
====
WITH x AS (SELECT 1) MERGE INTO tree t USING (SELECT 51 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)
====
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 2) SEARCH DEPTH FIRST BY n SET o DELETE FROM tree WHERE id IN (SELECT n + 7000 FROM t)
====
SELECT 1 AS into INTO scratch_a
====
SELECT * INTO scratch_b FROM users
====
SELECT * INTO TEMP scratch_c FROM users
====
SELECT id
INTO scratch_d FROM users
====
WITH x AS (SELECT 1 AS n) SELECT n INTO scratch_e FROM x
====
SELECT nextval('tickets')
====
select NextVal ( 'tickets' )
====
SELECT pg_catalog.nextval('tickets')
====
SELECT "nextval"('tickets')
====
SELECT * FROM users WHERE id > nextval('tickets')
====
SELECT setval('tickets', 10)
====
SELECT pg_notify('channel', 'payload')
====
SELECT txid_current()
====
SELECT pg_current_xact_id()
====
SELECT lo_create(0)
====
SELECT lo_from_bytea(0, 'x')
====
SELECT pg_stat_reset()
====
SELECT pg_logical_emit_message(false, 'x', 'y')
====
CREATE TABLE scratch_f (id int)
====
CREATE TABLE scratch_g AS SELECT * FROM users
====
CREATE TEMP TABLE scratch_h (id int)
====
CREATE INDEX scratch_i ON users (lower(name))
====
CREATE OR REPLACE VIEW scratch_j AS SELECT 1
====
ALTER TABLE tree ADD COLUMN extra int
====
DROP TABLE IF EXISTS scratch_k
====
TRUNCATE tree
====
COMMENT ON TABLE tree IS 'x'
====
GRANT SELECT ON tree TO public
====
REVOKE SELECT ON tree FROM public
====
VACUUM tree
====
ANALYZE tree
====
REINDEX TABLE tree
====
CLUSTER tree USING tree_pkey
====
NOTIFY channel
====
EXPLAIN ANALYZE DELETE FROM tree WHERE id = 7000
====
EXPLAIN (ANALYZE) UPDATE tree SET label = 'x' WHERE id = 7000
====
EXPLAIN (COSTS OFF, ANALYZE true) INSERT INTO tree VALUES (7005)
====
EXPLAIN ANALYZE VERBOSE WITH x AS (DELETE FROM tree WHERE id = 7000 RETURNING id) SELECT * FROM x
====
EXPLAIN ANALYZE CREATE TABLE scratch_l AS SELECT 1
====
EXPLAIN ANALYSE SELECT nextval('tickets')
====
SELECT 1; DELETE FROM tree WHERE id = 7000
====
SELECT 1;DELETE FROM tree WHERE id = 7000;
====
SELECT ';'; UPDATE tree SET label = 'x' WHERE id = 7000
====
SELECT /* ; */ 1; -- x
DROP TABLE IF EXISTS scratch_m
====
SELECT 'a\\'; DELETE FROM tree WHERE id = 7000
====
SELECT (SELECT nextval('tickets')) + 1
====
SELECT * FROM users ORDER BY nextval('tickets')
====
SELECT coalesce(NULL, nextval('tickets'))
====
SELECT CASE WHEN true THEN nextval('tickets') END
====
SELECT DISTINCT ON (id) nextval('tickets') FROM users
====
SELECT 1 OPERATOR(pg_catalog.+) nextval('tickets')
====
SELECT abs(nextval('tickets'))
====
SELECT * FROM generate_series(1, nextval('tickets')) AS g(i)
====
VALUES (nextval('tickets'))
====
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), nextval('tickets') FROM users
====
SELECT id FROM users LIMIT nextval('tickets')
====
SELECT ARRAY[nextval('tickets')]
====
SELECT interval '1 day' * nextval('tickets')
====
SELECT now() AT TIME ZONE (nextval('tickets')::text || 'x')
====
SELECT 1 WHERE 'a' SIMILAR TO nextval('tickets')::text
====
WITH x AS (SELECT nextval('tickets')) TABLE x
