SELECT 1; SELECT 2
====
SELECT set_config('work_mem', '8MB', false)
====
SELECT set_config('app.user', '1', true)
====
SELECT setseed(0.5)
====
SELECT currval('tickets')
====
SELECT lastval()
====
SELECT pg_advisory_lock(1)
====
SELECT pg_try_advisory_xact_lock(1)
====
SELECT pg_advisory_unlock_all()
====
SELECT pg_sleep(0)
====
SELECT pg_export_snapshot()
====
SELECT pg_current_wal_lsn()
====
SELECT pg_walfile_name('0/1')
====
SELECT query_to_xml('DELETE FROM tree WHERE id = 7000', false, false, '')
====
SELECT ts_stat('SELECT ''a''::tsvector')
====
SELECT table_to_xml('tree', false, false, '')
====
SELECT 1 OPERATOR(app.+) 2
====
SET work_mem = '8MB'
====
SET LOCAL work_mem = '8MB'
====
SET search_path TO app, public
====
SET TRANSACTION READ ONLY
====
RESET ALL
====
DISCARD ALL
====
BEGIN
====
START TRANSACTION ISOLATION LEVEL SERIALIZABLE
====
COMMIT
====
ROLLBACK
====
ROLLBACK TO SAVEPOINT a
====
SAVEPOINT a
====
RELEASE SAVEPOINT a
====
END
====
ABORT
====
LISTEN channel
====
UNLISTEN *
====
LOCK TABLE tree IN ACCESS EXCLUSIVE MODE
====
CALL tidy()
====
DO $$ BEGIN DELETE FROM tree WHERE id = 7000; END $$
====
PREPARE p AS SELECT 1
====
EXECUTE p
====
DEALLOCATE ALL
====
DECLARE c CURSOR FOR SELECT 1
====
FETCH ALL FROM c
====
MOVE 1 FROM c
====
CLOSE ALL
====
COPY tree TO STDOUT
====
CHECKPOINT
====
LOAD 'plpgsql'
====
EXPLAIN DELETE FROM tree WHERE id = 7000
====
EXPLAIN EXECUTE p
====
EXPLAIN ANALYZE EXECUTE p
====
SELECT 'unterminated
====
SELECT "unterminated
====
SELECT $$ unterminated
====
SELECT /* unterminated
====
SELECT /* /* */ 1
====
SELECT (1
====
SELECT 1)
====
SELECT E'unterminated\'
====
SELECT 'a\', '; DELETE FROM users; --'
====
SELECT 'a\''; DELETE FROM tree WHERE id = 7000; --'
====
SELECT E'first'
       'second\'; DELETE FROM tree WHERE id = 7000; --'
====
SELECT 1e'x'
====
SELECT 1$$ x $$
====
SELECT {fn now()}
====
SELECT a FROM tree delete FROM users
====
-- nothing but a comment
====
;
====

====
nothing
====
"select" 1
====
1
====
'SELECT'
====
EXPLAIN
====
EXPLAIN ANALYZE
====
GIBBERISH SELECT 1
====
SELECT * FROM users WHERE id = 1 LIMIT 1; SELECT * FROM users WHERE id = 1 FOR UPDATE
