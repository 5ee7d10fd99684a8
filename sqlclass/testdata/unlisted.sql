SELECT bump()
====
SELECT add_tax(10)
====
SELECT public.bump()
====
SELECT app.lower('x')
====
SELECT "app"."lower"('x')
====
SELECT public.nextval('x')
====
SELECT "Lower"('x')
====
SELECT U&"low\0065r"('x')
====
SELECT pg_catalog.bump()
====
SELECT postgres.pg_catalog.lower('x')
====
SELECT * FROM bump()
====
SELECT * FROM bump() AS b(n)
====
SELECT * FROM users WHERE id > bump()
====
SELECT lower(name) FROM users WHERE id = add_tax(id)
====
SELECT DISTINCT ON (name) add_tax(id) FROM users
====
SELECT DISTINCT ON (name) bump() FROM users
====
SELECT 1 OPERATOR(pg_catalog.+) bump()
====
WITH x AS (SELECT bump() AS n) SELECT n FROM x
====
WITH x AS (SELECT 1) (SELECT 1) ORDER BY 1, bump(1)
====
EXPLAIN ANALYZE SELECT bump()
====
VALUES (bump())
====
SELECT CASE bump() WHEN bump() THEN 1 ELSE bump() END
====
SELECT NOT bump()
====
SELECT bump() NOT LIKE bump()
====
SELECT NOT ilike('a', 'b')
====
SELECT cube(1)
====
SELECT state FROM orders GROUP BY lower(state), (cube(1))
====
SELECT rollup(id) FROM users
====
SELECT over(id) FROM users
====
SELECT filter(id) FROM users
====
SELECT DISTINCT ON (id) over(id) FROM users
====
SELECT join(1)
====
SELECT materialized(1)
====
SELECT sets(1), by(1), zone(1), first(1), columns(1), varying(1)
====
SELECT dblink('x', 'y')
====
SELECT * FROM value bump(1)
====
SELECT * FROM users TABLESAMPLE mine (10)
====
SELECT system(1)
====
SELECT x NOT LIKE (1) AND like_it(1)
====
SELECT uuid_generate_v4(), similarity('a', 'b')
====
SELECT json_object(KEY 'a' VALUE bump())
====
SELECT xmlelement(name a, bump())
====
SELECT xmlparse(document bump())
====
SELECT * FROM ROWS FROM (bump(), generate_series(1, 2))
====
SELECT 1 AS a, bump()
====
SELECT a AS lower, bump() FROM users
====
SELECT x::int, bump()
====
SELECT interval '1' day, bump()
====
SELECT id FROM users ORDER BY bump() LIMIT bump() OFFSET bump()
====
SELECT sum(id) OVER (PARTITION BY bump() ORDER BY bump() ROWS bump() PRECEDING) FROM users
====
SELECT id BETWEEN bump() AND bump(), id IS DISTINCT FROM bump() FROM users
====
SELECT trim(leading bump() from bump()), extract(year from bump()), overlay(bump() placing bump() from bump() for bump())
====
SELECT tags[bump()] FROM users
====
SELECT now() AT TIME ZONE bump()
====
SELECT a FROM t WINDOW w AS (ORDER BY bump())
====
SELECT make_interval(days => bump())
====
SELECT concat(VARIADIC bump())
====
SELECT id FROM users UNION ALL SELECT bump() EXCEPT SELECT bump()
====
SELECT EXISTS (SELECT bump())
====
SELECT id FROM users u JOIN orders o ON bump() = 1
====
SELECT id FROM users u JOIN bump() b ON true
====
SELECT id FROM users u, LATERAL bump(u.id) b
====
SELECT /* a comment */ bump /* between */ ()
