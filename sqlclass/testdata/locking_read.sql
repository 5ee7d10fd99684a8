SELECT * FROM users FOR UPDATE
====
SELECT * FROM users FOR UPDATE;
====
SELECT * FROM users FOR UPDATE ; -- now
====
select * from users for update skip locked
====
SELECT * FROM users FOR UPDATE NOWAIT
====
SELECT * FROM users u, orders o WHERE u.id = o.user_id FOR UPDATE OF o SKIP LOCKED
====
SELECT * FROM users FOR NO KEY UPDATE
====
SELECT * FROM users FOR SHARE
====
SELECT * FROM users FOR KEY SHARE
====
SELECT * FROM users FOR KEY SHARE OF users NOWAIT
====
SELECT * FROM users FOR
UPDATE
====
SELECT * FROM users FOR /* really */ UPDATE
====
SELECT * FROM users FOR -- really
 UPDATE
====
SELECT * FROM users LIMIT 1 FOR UPDATE
====
SELECT * FROM users FOR UPDATE LIMIT 1
====
SELECT * FROM users WHERE id IN (SELECT user_id FROM orders FOR UPDATE)
====
SELECT * FROM (SELECT * FROM users FOR SHARE) t
====
WITH x AS (SELECT * FROM users FOR UPDATE) SELECT * FROM x
====
WITH x AS (SELECT 1) SELECT * FROM users FOR UPDATE
====
(SELECT * FROM users FOR UPDATE)
====
SELECT * FROM users u FOR UPDATE OF u FOR SHARE OF u
====
SELECT * FROM "orders" WHERE "orders"."id" = 1 ORDER BY "orders"."id" LIMIT 1 FOR UPDATE
====
TABLE users FOR UPDATE
====
EXPLAIN ANALYZE SELECT * FROM users FOR UPDATE
====
SELECT substring(name FOR 3) FROM users FOR UPDATE
