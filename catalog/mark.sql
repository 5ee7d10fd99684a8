-- One text that differs whenever a row does that load.sql reads: every change gives a
-- row another xmin, or is one of rows with other oids.
SELECT concat_ws(' ',
    (SELECT concat(count(*), ':', sum(hashtextextended(p.xmin::text, p.oid::bigint)))
        FROM pg_catalog.pg_proc p WHERE p.oid >= 16384),
    (SELECT concat(count(*), ':', sum(hashtextextended(r.xmin::text, r.oid::bigint)))
        FROM pg_catalog.pg_rewrite r WHERE r.oid >= 16384),
    -- TRUNCATE gives a table's row another xmin: what load.sql reads of it is what counts.
    (SELECT concat(count(*), ':', sum(hashtextextended(
            concat_ws(' ', c.relname, c.relnamespace, c.relkind, c.relpersistence, c.relrowsecurity), c.oid::bigint)))
        FROM pg_catalog.pg_class c WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND c.relpersistence <> 't'
            AND (c.relkind IN ('v', 'p') OR c.relpersistence = 'u' OR c.relrowsecurity OR c.relhassubclass)),
    (SELECT concat(count(*), ':', sum(hashtextextended(p.xmin::text, p.oid::bigint)))
        FROM pg_catalog.pg_policy p),
    (SELECT concat(count(*), ':', sum(hashtextextended(o.xmin::text, o.oid::bigint)))
        FROM pg_catalog.pg_operator o WHERE o.oid >= 16384),
    (SELECT concat(count(*), ':', sum(hashtextextended(c.xmin::text, c.oid::bigint)))
        FROM pg_catalog.pg_cast c WHERE c.oid >= 16384),
    (SELECT concat(count(*), ':', sum(hashtextextended(n.xmin::text, n.oid::bigint)))
        FROM pg_catalog.pg_namespace n WHERE n.oid >= 16384),
    (SELECT concat(count(*), ':', sum(hashtextextended(t.xmin::text, t.oid::bigint)))
        FROM pg_catalog.pg_type t WHERE t.oid >= 16384 AND t.typtype IN ('d', 'r', 'm')),
    (SELECT concat(count(*), ':', sum(hashtextextended(c.xmin::text, c.oid::bigint)))
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_constraint c ON c.contypid = t.oid
        WHERE t.oid >= 16384 AND t.typtype = 'd'),
    (SELECT concat(count(*), ':', sum(hashtextextended(concat_ws(' ', c.relname, c.relnamespace, a.attnum, a.atttypid), c.oid::bigint)))
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        WHERE a.attrelid >= 16384 AND a.attnum > 0 AND a.atttypid >= 16384 AND c.relpersistence <> 't'
            AND EXISTS (SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_constraint c ON c.contypid = t.oid
                WHERE t.oid >= 16384 AND t.typtype = 'd')),
    (SELECT concat(count(*), ':', sum(hashtextextended(i.xmin::text, i.inhrelid::bigint * 4294967296 + i.inhparent::bigint)))
        FROM pg_catalog.pg_inherits i
        WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relpersistence = 'u' AND c.relkind IN ('r', 'p', 'm', 'S'))))
