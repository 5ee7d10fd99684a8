SELECT 1
====
select 1
====
SELECT 1;
====
SELECT 1 ;  -- done
====
SELECT 1; /* done /* really */ */
====
  
	SELECT 1
====
-- a comment first
SELECT * FROM users
====
/* a /* nested */ comment */ SELECT count(*) FROM users
====
(SELECT 1)
====
((SELECT 1))
====
(SELECT id FROM users) UNION ALL (SELECT id FROM orders) ORDER BY 1 LIMIT 3
====
(SELECT id FROM users LIMIT 1) INTERSECT SELECT id FROM orders
====
SELECT id FROM users EXCEPT (SELECT user_id FROM orders)
====
VALUES (1, 'a'), (2, 'b')
====
VALUES (lower('A'))
====
TABLE users
====
TABLE ONLY users
====
TABLE users ORDER BY id LIMIT 1
====
WITH x AS (SELECT 1 AS n) SELECT * FROM x
====
WITH x(n) AS (VALUES (1), (2)) SELECT sum(n) FROM x
====
WITH x AS MATERIALIZED (SELECT 1 AS n) SELECT n FROM x
====
WITH x AS NOT MATERIALIZED (SELECT 1 AS n) SELECT n FROM x
====
WITH x AS MATERIALIZED (VALUES (1)) TABLE x
====
WITH x AS NOT MATERIALIZED (TABLE users) SELECT count(*) FROM x
====
WITH x AS (SELECT 1 AS n) (SELECT n FROM x) ORDER BY lower('A'), n
====
WITH x AS (SELECT 1 AS n), y(m) AS (SELECT n + 1 FROM x) SELECT n, m FROM x, y
====
WITH x AS (SELECT 1 AS n) VALUES ((SELECT n FROM x))
====
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT sum(n) FROM t
====
WITH RECURSIVE walk AS (
  SELECT id, parent, label, 1 AS depth FROM tree WHERE parent IS NULL
  UNION ALL
  SELECT c.id, c.parent, c.label, w.depth + 1 FROM tree c JOIN walk w ON c.parent = w.id
) SEARCH DEPTH FIRST BY id SET ordering
SELECT * FROM walk ORDER BY ordering
====
WITH RECURSIVE walk(id, parent) AS (
  SELECT id, parent FROM tree WHERE id = 1
  UNION ALL
  SELECT c.id, c.parent FROM tree c, walk w WHERE c.parent = w.id
) CYCLE id SET looped USING path
SELECT id, looped FROM walk
====
WITH "update" AS (SELECT 1) SELECT * FROM "update"
====
WITH update AS (SELECT 1), delete(a) AS (SELECT 2) SELECT * FROM update, delete
====
WITH values AS (SELECT 1 AS n) SELECT n FROM values
====
EXPLAIN SELECT * FROM users
====
EXPLAIN ANALYZE SELECT * FROM users
====
EXPLAIN VERBOSE SELECT * FROM users WHERE id = 1
====
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(*) FROM orders
====
EXPLAIN (COSTS off) WITH x AS (SELECT 1) SELECT * FROM x
====
EXPLAIN (SELECT 1)
====
EXPLAIN (FORMAT text) (SELECT 1)
====
EXPLAIN ANALYZE VERBOSE VALUES (1)
====
SHOW server_version
====
SHOW ALL
====
SHOW TIME ZONE
====
SHOW TRANSACTION ISOLATION LEVEL
====
SHOW transaction_read_only;
====
SELECT * FROM users WHERE name = 'FOR UPDATE'
====
SELECT * FROM users WHERE name = 'x; DELETE FROM users'
====
SELECT 'it''s; UPDATE users SET x = 1'
====
SELECT $$ DELETE FROM users; $$
====
SELECT $body$ it's $$ nested $$ INSERT INTO x $body$ AS t
====
SELECT E'a\'; DELETE FROM users; --'
====
SELECT E'a\\', 'b'
====
SELECT U&'d\0061t\+000061'
====
SELECT B'1010', X'1FF', N'text'
====
SELECT 'first '
       'second'
====
SELECT E'first\n'
       'second'
====
SELECT 'back\\', 'slash'
====
SELECT * FROM users WHERE name LIKE '50\%' ESCAPE '\'
====
SELECT 1e5, 1.5e-3, .5, 5., 10.25
====
SELECT -1, - -1, +1, 2 - -3
====
SELECT 3*-1, 4/2, 2^3, 5%2, |/ 25.0, @ -5
====
SELECT '-- no comment', '/* nor this'
====
SELECT 1 --comment; DELETE FROM users
+ 1
====
SELECT 1/* ; DELETE FROM users */+ 1
====
SELECT "order" FROM users
====
SELECT users."order", u."id" FROM users, users u
====
SELECT "update", "delete", insert, merge FROM words
====
SELECT w.update, w.delete, w.insert FROM words w
====
SELECT insert, update, delete FROM words
====
SELECT 1 AS update, 2 AS delete, 3 AS into, 4 AS select
====
SELECT * FROM words WHERE update = 1 AND delete = 2 OR insert = 'x'
====
SELECT (update), (delete) FROM words
====
SELECT max(update) FROM words
====
SELECT share, key FROM words WHERE share = 'x' ORDER BY key
====
SELECT count(*) update FROM words
====
SELECT sum(update) + sum(delete) AS delete FROM words
====
SELECT id, name FROM users ORDER BY id DESC NULLS LAST LIMIT 10 OFFSET 20
====
SELECT * FROM users FETCH FIRST 5 ROWS ONLY
====
SELECT * FROM users ORDER BY age FETCH FIRST (1 + 1) ROWS WITH TIES
====
SELECT * FROM users OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY
====
SELECT DISTINCT name FROM users
====
SELECT DISTINCT ON (name) name, id FROM users ORDER BY name, id DESC
====
SELECT DISTINCT ON (lower(name)) upper(name) FROM users
====
SELECT DISTINCT ON (name) lower(name) FROM users
====
SELECT count(*), count(DISTINCT name), sum(age), avg(age), min(age), max(age) FROM users
====
SELECT state, count(*) FILTER (WHERE amount > 10) FROM orders GROUP BY state HAVING count(*) > 0
====
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM orders
====
SELECT string_agg(name, ', ' ORDER BY name), array_agg(id), jsonb_agg(data), json_object_agg(name, age) FROM users
====
SELECT bool_and(active), bool_or(active), every(active) FROM users
====
SELECT stddev(age), variance(age), corr(age, id), regr_slope(age, id) FROM users
====
SELECT state, placed, sum(amount) FROM orders GROUP BY GROUPING SETS ((state), (placed), ())
====
SELECT state, placed, sum(amount), GROUPING(state, placed) FROM orders GROUP BY ROLLUP (state, placed)
====
SELECT state, placed, count(*) FROM orders GROUP BY CUBE(state, placed)
====
SELECT state, placed, count(*) FROM orders GROUP BY state, ROLLUP(placed)
====
SELECT state, placed, count(*) FROM orders GROUP BY GROUPING SETS (ROLLUP(state), CUBE(placed), (state, placed))
====
SELECT state, count(*) FROM orders GROUP BY DISTINCT ROLLUP(state), CUBE(state)
====
SELECT id, row_number() OVER (ORDER BY id), rank() OVER w, lag(amount, 1) OVER w FROM orders WINDOW w AS (PARTITION BY user_id ORDER BY placed)
====
SELECT sum(amount) OVER (PARTITION BY (user_id) ORDER BY (placed) ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders
====
SELECT first_value(amount) OVER (ORDER BY placed RANGE BETWEEN interval '7 days' PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) FROM orders
====
SELECT ntile(4) OVER (ORDER BY amount), cume_dist() OVER (ORDER BY amount), nth_value(id, 2) OVER (ORDER BY id) FROM orders
====
SELECT count(*) FILTER (WHERE active) OVER () FROM users
====
SELECT u.name, o.amount FROM users u JOIN orders o ON o.user_id = u.id
====
SELECT u.name, o.amount FROM users u LEFT JOIN orders o ON (o.user_id = u.id) WHERE o.id IS NULL
====
SELECT * FROM users u INNER JOIN (SELECT user_id, sum(amount) AS total FROM orders GROUP BY user_id) t ON t.user_id = u.id
====
SELECT * FROM users u LEFT OUTER JOIN (orders o JOIN items i ON i.order_id = o.id) ON o.user_id = u.id
====
SELECT * FROM users CROSS JOIN orders
====
SELECT * FROM users NATURAL JOIN (VALUES (1, 'x')) AS v(id, note)
====
SELECT * FROM orders JOIN items USING (id)
====
SELECT * FROM orders JOIN items USING (id) AS j
====
SELECT u.id, l.amount FROM users u CROSS JOIN LATERAL (SELECT amount FROM orders o WHERE o.user_id = u.id LIMIT 1) l
====
SELECT u.id, t.tag FROM users u, LATERAL unnest(u.tags) AS t(tag)
====
SELECT * FROM generate_series(1, 3) AS g(i)
====
SELECT * FROM generate_series(1, 3) g(i)
====
SELECT * FROM users u(a, b, c)
====
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(id, label)
====
SELECT * FROM unnest(ARRAY[1,2], ARRAY['a','b']) WITH ORDINALITY AS t(a, b, n)
====
SELECT * FROM unnest(ARRAY[1,2]) WITH ORDINALITY t(a, n)
====
SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(3, 5)) AS r(a, b)
====
SELECT * FROM json_to_recordset('[{"a":1,"b":"x"}]') AS r(a int, b varchar(10))
====
SELECT * FROM jsonb_to_record('{"a":1.25}') AS r(a numeric(10,2))
====
SELECT * FROM users TABLESAMPLE system (50)
====
SELECT * FROM users TABLESAMPLE BERNOULLI (50) REPEATABLE (1)
====
SELECT * FROM ONLY users
====
SELECT * FROM ONLY (users)
====
SELECT EXISTS (SELECT 1 FROM users WHERE id = 1), NOT EXISTS (SELECT 1 FROM orders)
====
SELECT * FROM users WHERE id IN (1, 2, 3) AND id NOT IN (SELECT user_id FROM orders WHERE amount > 50)
====
SELECT * FROM users WHERE id = ANY (ARRAY[1, 2]) AND age > ALL (SELECT 1) AND id = SOME (ARRAY[1])
====
SELECT * FROM users WHERE (id, name) IN ((1, 'ann'), (2, 'bob'))
====
SELECT * FROM users WHERE ROW(id, age) > ROW(1, 2)
====
SELECT ARRAY(SELECT id FROM users ORDER BY id), ARRAY[[1,2],[3,4]]
====
SELECT tags[1], tags[1:2], (ARRAY[1,2,3])[2] FROM users
====
SELECT * FROM users WHERE tags @> ARRAY['a'] AND tags && '{b}' AND NOT tags <@ '{c}'
====
SELECT cardinality(tags), array_length(tags, 1), array_to_string(tags, ','), array_position(tags, 'a') FROM users
====
SELECT data->'city', data->>'city', data#>'{pets,0}', data#>>'{pets,0}' FROM users
====
SELECT * FROM users WHERE data @> '{"city": "Rome"}' AND data ? 'pets' AND data ?| array['x','pets'] AND data ?& array['pets']
====
SELECT * FROM users WHERE data @? '$.pets[*]' OR data @@ '$.n > 2'
====
SELECT jsonb_path_query(data, '$.pets[*]'), jsonb_exists(data, 'city'), jsonb_set(data, '{x}', '1') FROM users
====
SELECT e.key, e.value FROM users, jsonb_each_text(data) e
====
SELECT e.key FROM users u, jsonb_each(u.data) AS e(key, value)
====
SELECT jsonb_build_object('id', id, 'name', name), to_jsonb(users), row_to_json(users) FROM users
====
SELECT json_build_array(1, 'x', NULL), jsonb_typeof('1'), jsonb_pretty('{}'), jsonb_array_length('[1]')
====
SELECT name ~ '^a.*(b|c)$', name ~* 'A', name !~ 'x', name !~* 'y' FROM users
====
SELECT regexp_replace(name, '\s+', ' ', 'g'), regexp_matches(name, '(a)(n)'), regexp_split_to_array('a b', ' ') FROM users
====
SELECT * FROM users WHERE name LIKE 'a%' OR name ILIKE 'B%' OR name NOT LIKE 'x%' OR name SIMILAR TO '(a|b)%'
====
SELECT * FROM users WHERE name LIKE ('a' || '%') AND name NOT LIKE ('x%') AND name NOT ILIKE ('y%') AND name ILIKE ('%')
====
SELECT * FROM users WHERE age BETWEEN (20) AND (50) AND age NOT BETWEEN SYMMETRIC 100 AND 90
====
SELECT * FROM users WHERE name IS NOT NULL AND age IS DISTINCT FROM 3 AND active IS TRUE AND (age > 1) IS NOT UNKNOWN
====
SELECT CASE WHEN age > 18 THEN 'adult' WHEN (age) IS NULL THEN lower('X') ELSE 'minor' END FROM users
====
SELECT CASE age WHEN 1 THEN 'one' ELSE upper('many') END x FROM users
====
SELECT coalesce(name, 'none'), nullif(age, 0), greatest(1, 2), least(1, 2) FROM users
====
SELECT cast(age AS text), cast('1' AS numeric(10,2)), age::varchar(10), '1'::numeric(4,1)::int FROM users
====
SELECT '2024-01-01'::timestamp(3) with time zone, '1'::character varying(5), '1010'::bit varying(8), CAST('x' AS character varying(3))
====
SELECT '{1,2}'::int[], 'x'::pg_catalog.text, 'users'::regclass, 'lower(text)'::regprocedure
====
SELECT date '2024-01-01', interval '1 day', timestamp '2024-01-01 10:00', time '10:00', interval(3) '1.5 s'
====
SELECT interval '1-2' year to month, interval '3' hour, interval '1 2:03' day to minute
====
SELECT placed + 1, placed - interval '1 month', age(now(), created_at) FROM orders, users
====
SELECT extract(epoch FROM now()), extract(year from placed), date_part('day', placed), date_trunc('month', updated_at) FROM orders
====
SELECT now(), current_timestamp, current_timestamp(3), localtime, current_date, clock_timestamp(), statement_timestamp()
====
SELECT now() AT TIME ZONE 'UTC', now() AT TIME ZONE ('Europe/' || 'Rome'), timezone('UTC', now())
====
SELECT to_char(now(), 'YYYY-MM'), to_date('2024', 'YYYY'), to_timestamp(0), to_number('1', '9'), make_date(2024, 1, 1), date_bin('5 min', now(), 'epoch')
====
SELECT (date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-01-15', date '2024-03-01')
====
SELECT substring(name FROM 1 FOR 3), substring(name, 1, 2), substring(name from 'a(.)'), substring('x' similar 'y' escape '#') FROM users
====
SELECT substring(name for 3) FROM users
====
SELECT trim(both 'x' from name), trim(leading from name), trim(trailing 'y' from name), trim(name) FROM users
====
SELECT position('a' IN name), overlay(name placing 'x' from 1 for 2), char_length(name), normalize(name), collation for (name) FROM users
====
SELECT lower(name), upper(name), initcap(name), length(name), left(name, 1), right(name, 1), replace(name, 'a', 'b'), reverse(name), md5(name) FROM users
====
SELECT concat(name, '-', age), concat_ws(',', name, age), format('%s %I %L', name, name, name), split_part(name, 'n', 1), lpad(name, 5) FROM users
====
SELECT LOWER ( name ), Upper(name), "lower"(name), pg_catalog.lower(name), PG_CATALOG . "lower" ( name ) FROM users
====
SELECT abs(-1), round(1.5), round(1.25, 1), ceil(1.2), floor(1.8), mod(5, 2), power(2, 3), sqrt(2), ln(2), log(10), sign(-1), trunc(1.5), random()
====
SELECT encode(sha256('x'), 'hex'), decode('00', 'hex'), convert_from('x', 'UTF8'), gen_random_uuid()
====
SELECT generate_series(1, 3), unnest(ARRAY[1, 2])
====
SELECT isempty(period), lower(period), upper(period), period && tsrange('2024-01-01', '2024-03-01') FROM orders
====
SELECT int4range(1, 10) @> 5, numrange(1, 2) * numrange(1.5, 3), daterange('2024-01-01', '2024-02-01', '[]'), range_agg(int4range(1, 2)) FROM users
====
SELECT to_tsvector('simple', name) @@ plainto_tsquery('simple', 'ann'), ts_rank(to_tsvector(name), to_tsquery('ann')), websearch_to_tsquery('a or b') FROM users
====
SELECT ts_headline('simple', 'a b c', to_tsquery('simple', 'b'))
====
SELECT inet '10.0.0.1' << inet '10.0.0.0/8', host('10.0.0.1'), masklen('10.0.0.0/8'), network('10.0.0.1/8')
====
SELECT point(1, 2) <-> point(3, 4), box(point(0,0), point(1,1)), circle(point(0,0), 1), area(box(point(0,0), point(1,1)))
====
SELECT xmlelement(name foo, xmlattributes(1 AS a), 'text'), xmlforest(1 AS a), xmlconcat('<a/>'), xmlpi(name php), xmlagg('<x/>'::xml)
====
SELECT xpath('/a', '<a/>'), xmlparse(content '<a/>'), xmlserialize(content '<a/>' AS text), xmlexists('/a' PASSING ('<a/>'::xml))
====
SELECT x.* FROM xmltable('/r/i' PASSING '<r><i n="1"/></r>' COLUMNS n int PATH '@n', ord FOR ORDINALITY, t varchar(10) PATH '.' DEFAULT lower('X')) AS x
====
SELECT x.n FROM (SELECT '<r xmlns="urn:x"/>'::xml AS doc) s, xmltable(xmlnamespaces('urn:x' AS p), '/p:r' PASSING BY REF doc COLUMNS n text PATH '.') x
====
SELECT 1 OPERATOR(pg_catalog.+) 2
====
SELECT 1 OPERATOR(pg_catalog.+) abs(-2)
====
SELECT name COLLATE "C" FROM users ORDER BY name COLLATE "C" USING <
====
SELECT users.*, o.* FROM users, orders AS o WHERE users.id = o.user_id
====
SELECT (users).name, (SELECT u FROM users u LIMIT 1) IS NULL FROM users
====
SELECT ctid, xmin, tableoid::regclass FROM users
====
SELECT
====
SELECT FROM users
====
SELECT ALL name FROM users
====
SELECT name "Name", age "the ""age""" FROM "users"
====
SELECT name Ünïcode, 'ß日本語' FROM users
====
SELECT "日本" FROM (SELECT 1 AS "日本") "表"
====
SELECT a$1 FROM (SELECT 1 AS a$1) t
====
SELECT current_user, session_user, user, current_role, current_catalog, current_schema, current_database(), version()
====
SELECT current_setting('work_mem'), current_setting('app.missing', true), pg_backend_pid(), inet_server_port()
====
SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn(), pg_last_xact_replay_timestamp(), pg_postmaster_start_time()
====
SELECT pg_size_pretty(pg_total_relation_size('users')), pg_database_size(current_database()), pg_relation_size('users')
====
SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
====
SELECT c.column_name, c.is_nullable = 'YES', c.udt_name, c.character_maximum_length FROM information_schema.columns AS c WHERE table_catalog = current_database() AND table_schema = CURRENT_SCHEMA() AND table_name = 'users'
====
SELECT count(*) FROM information_schema.tables WHERE table_schema = CURRENT_SCHEMA() AND table_name = 'users' AND table_type = 'BASE TABLE'
====
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef) FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'users'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
====
SELECT relname, n_live_tup FROM pg_stat_user_tables ORDER BY 2 DESC
====
SELECT pid, state, query FROM pg_stat_activity WHERE datname = current_database()
====
SELECT indexname, pg_get_indexdef(i.indexrelid) FROM pg_indexes x JOIN pg_index i ON i.indexrelid = (x.schemaname || '.' || x.indexname)::regclass WHERE tablename = 'users'
====
SELECT obj_description('users'::regclass), col_description('users'::regclass, 1), has_table_privilege('users', 'select'), pg_get_userbyid(10), to_regclass('users')
====
SELECT n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'app'
====
SELECT * FROM "users" WHERE "users"."deleted_at" IS NULL ORDER BY "users"."id" LIMIT 1
====
SELECT "users"."id","users"."name","Orders"."id" AS "Orders__id" FROM "users" LEFT JOIN "orders" "Orders" ON "users"."id" = "Orders"."user_id" WHERE "users"."id" = 1 AND "users"."deleted_at" IS NULL
====
SELECT count(*) FROM "users" WHERE ("name" = 'a' OR "age" > 3) AND "users"."deleted_at" IS NULL
====
SELECT * FROM "orders" WHERE "orders"."user_id" IN (1,2,3)
====
SELECT date_trunc('day', created_at) AS day, count(*) FROM users WHERE created_at >= now() - interval '30 days' GROUP BY 1 ORDER BY 1
====
SELECT d.day, coalesce(sum(o.amount), 0) FROM generate_series(date '2024-01-01', date '2024-01-31', interval '1 day') AS d(day) LEFT JOIN orders o ON o.placed = d.day::date GROUP BY d.day
====
SELECT * FROM (SELECT o.*, row_number() OVER (PARTITION BY user_id ORDER BY amount DESC) AS rn FROM orders o) ranked WHERE rn <= 3
====
SELECT u.name, (SELECT count(*) FROM orders o WHERE o.user_id = u.id) AS orders, (SELECT max(placed) FROM orders o WHERE o.user_id = u.id) FROM users u
====
WITH totals AS (SELECT user_id, sum(amount) AS total FROM orders GROUP BY user_id), ranked AS (SELECT *, dense_rank() OVER (ORDER BY total DESC) AS r FROM totals) SELECT u.name, r.total, r.r FROM ranked r JOIN users u ON u.id = r.user_id WHERE r.r <= 10
====
SELECT width_bucket(amount, 0, 100, 10) AS bucket, count(*), min(amount), max(amount) FROM orders GROUP BY bucket ORDER BY bucket
====
SELECT mode() WITHIN GROUP (ORDER BY state), percentile_disc(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY amount) FROM orders
====
SELECT id FROM users WHERE created_at < (now() - '1 day'::interval) AND (data->>'n')::int > 1
====
SELECT id FROM users WHERE lower(email) = lower('ANN@example.com') AND char_length(trim(both from name)) > 0
====
SELECT * FROM orders o WHERE EXISTS (SELECT FROM items i WHERE i.order_id = o.id AND i.price * i.qty > 10)
====
SELECT id, CASE WHEN amount IN (1,2) THEN 1 ELSE (SELECT max(qty) FROM items) END FROM orders
====
SELECT u.id FROM users AS u FULL JOIN orders AS o ON u.id = o.user_id RIGHT JOIN items AS i ON i.order_id = o.id
====
SELECT * FROM users FOR READ ONLY
====
SELECT value, "values", recursive FROM words
====
SELECT max(key), min(value) FROM words GROUP BY share
====
SELECT id FROM users WHERE name = $q$it's$q$ OR name = $$b$$
====
SELECT 'a'
'update'
====
SELECT name AS "FOR UPDATE" FROM users -- FOR UPDATE
====
SELECT lag(id) OVER (ORDER BY id) IS NULL FROM users
====
SELECT ('{"a":1}'::jsonb)['a'], (data['pets'])[0] FROM users
====
SELECT name||':'||age, age<>3, age!=4, age>=1, age<=2 FROM users
====
SELECT make_interval(days => 10), make_interval(hours := 2)
====
SELECT concat(VARIADIC ARRAY['a', 'b'])
====
SELECT * FROM users WHERE id = (VALUES (1))
====
SELECT * FROM (TABLE users) t
====
SELECT lo_get(oid) FROM pg_largeobject_metadata
====
SELECT txid_current_snapshot(), pg_current_snapshot()
====
SELECT pg_wal_lsn_diff('0/2', '0/1'), '0/1'::pg_lsn < '0/2'
====
;SELECT 1
====
SELECT 1;;
====
SELECT * FROM (VALUES (1)) data(a), (VALUES (2)) AS type(b) JOIN users ON true
