SELECT * FROM jobs WHERE state = 'available' AND queue = $1 AND scheduled_at <= now() ORDER BY priority, scheduled_at, id LIMIT 10;
SELECT state, count(*) FROM jobs GROUP BY state;
SELECT queue, count(*) FILTER (WHERE state = 'available') AS available, count(*) FILTER (WHERE state = 'running') AS running, max(now() - scheduled_at) AS oldest FROM jobs GROUP BY queue ORDER BY queue;
SELECT extract(epoch FROM now() - min(scheduled_at)) FROM jobs WHERE state = 'available' AND finalized_at IS NULL;
SELECT percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM finalized_at - attempted_at)) FROM jobs WHERE finalized_at > now() - interval '1 hour';
SELECT id FROM jobs WHERE payload ->> 'kind' = 'email' AND payload @> '{"to": "x"}' AND attempt < max_attempts;
SELECT date_trunc('minute', finalized_at) AS m, count(*) FROM jobs WHERE state = 'completed' GROUP BY 1 ORDER BY 1 DESC LIMIT 60;
SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND attempted_at < now() - interval '5 minutes');
SELECT j.id, power(2, least(j.attempt, 10)) * interval '1 second' AS backoff, j.attempted_at + power(j.attempt, 4) * '1 sec'::interval * (0.9 + random() * 0.2) AS next FROM jobs j;
SELECT e.id, e.body FROM events e WHERE e.id > $1 ORDER BY e.id LIMIT 500;
SELECT * FROM events WHERE at >= now() - make_interval(mins => 5) AND kind IN ('a', 'b');
SELECT kind, count(*) AS n, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS pct FROM events GROUP BY kind ORDER BY n DESC;
SELECT pg_snapshot_xmin(pg_current_snapshot()), max(id) FROM events WHERE xmin::text::bigint < 1000000;
SELECT balance FROM accounts WHERE id = $1;
SELECT sum(balance) = 150 AS balanced FROM accounts;
SELECT a.id, a.balance, COALESCE(sum(p.amount), 0) AS paid FROM accounts a LEFT JOIN payments p ON p.id = a.id GROUP BY a.id HAVING a.balance <> COALESCE(sum(p.amount), 0);
SELECT o.id, o.amount - COALESCE((SELECT sum(amount) FROM payments WHERE order_id = o.id), 0) AS due FROM orders o WHERE o.state <> 'void' ORDER BY due DESC;
SELECT claim_job('default');
SELECT id FROM jobs WHERE id = claim_job('default');
SELECT coalesce(claim_job(queue), 0) FROM jobs;
UPDATE jobs SET state = 'running', attempt = attempt + 1, attempted_at = now(), locked_by = 'w1' WHERE id = ANY (ARRAY(SELECT id FROM jobs WHERE state = 'available' ORDER BY priority, id LIMIT 10 FOR UPDATE SKIP LOCKED)) RETURNING *;
WITH locked AS (SELECT id FROM jobs WHERE state = 'available' LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE jobs SET state = 'running' FROM locked WHERE jobs.id = locked.id RETURNING jobs.*;
WITH done AS (DELETE FROM jobs WHERE id = (SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING payload) SELECT * FROM done;
DELETE FROM jobs WHERE state = 'completed' AND finalized_at < now() - interval '1 day';
DELETE FROM events WHERE ctid IN (SELECT ctid FROM events ORDER BY id LIMIT 100);
INSERT INTO jobs (queue, payload, state, scheduled_at) VALUES ('default', '{"a": 1}', 'available', now() + interval '1 minute') RETURNING id;
INSERT INTO events (kind, body) SELECT 'user.created', to_jsonb(u) FROM users u WHERE u.id = 1;
INSERT INTO jobs (queue, payload) SELECT * FROM unnest($1::text[], $2::jsonb[]);
UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $1;
UPDATE accounts SET balance = CASE id WHEN 1 THEN balance - 10 WHEN 2 THEN balance + 10 END WHERE id IN (1, 2) RETURNING id, balance;
WITH debit AS (UPDATE accounts SET balance = balance - 10 WHERE id = 1 RETURNING 1), credit AS (UPDATE accounts SET balance = balance + 10 WHERE id = 2 RETURNING 1) SELECT count(*) FROM debit, credit;
SELECT * FROM accounts WHERE id IN (1, 2) ORDER BY id FOR UPDATE;
SELECT 1 FROM accounts WHERE id = 1 FOR NO KEY UPDATE;
SELECT a.* FROM accounts a JOIN (SELECT 1 AS id) x USING (id) FOR UPDATE OF a;
--| effect: a lock by a row's key
SELECT * FROM jobs WHERE queue = 'default' AND pg_try_advisory_xact_lock(id) LIMIT 1;
--| effect: a lock for the transaction by name
SELECT pg_advisory_xact_lock(hashtextextended('invoice', 0));
--| effect: a lock of the session by name, in a query of its own
WITH RECURSIVE j AS (SELECT id, pg_try_advisory_lock(id) AS locked FROM (SELECT id FROM jobs ORDER BY id LIMIT 1) x UNION ALL SELECT id, pg_try_advisory_lock(id) FROM (SELECT (SELECT min(id) FROM jobs WHERE id > j.id) AS id FROM j WHERE NOT j.locked) y WHERE id IS NOT NULL) SELECT id FROM j WHERE locked;
NOTIFY jobs;
SELECT pg_notify('jobs', json_build_object('queue', queue)::text) FROM jobs;
SELECT pg_notify('x', '') WHERE EXISTS (SELECT 1 FROM accounts);
LISTEN jobs;
--| effect: the channels of its connection
UNLISTEN *;
SELECT nextval('jobs_id_seq') FROM generate_series(1, 10);
SELECT lease FROM (SELECT now() + interval '30 s' AS lease) l WHERE lease > clock_timestamp();
