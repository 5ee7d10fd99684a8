-- Objects with an oid below 16384 are the server's own.
WITH
-- What a query can call. Trigger functions are left out, and what lives in a
-- temporary schema, which no other connection sees. attribute: (e).f stands for f(e),
-- whatever the type of e. shown: it takes a row, or a column has its name.
fn AS (
    SELECT p.oid, n.nspname, p.proname, p.provolatile = 'v' OR p.prokind = 'p' AS volatile,
        p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1 AND p.prokind <> 'p' AS attribute,
        t.typtype IN ('c', 'd', 'p') OR col.attname IS NOT NULL AS shown
    FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    LEFT JOIN pg_catalog.pg_type t ON t.oid = p.proargtypes[0]
    LEFT JOIN (
        SELECT DISTINCT a.attname
        FROM pg_catalog.pg_attribute a
        JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        WHERE c.oid >= 16384 AND a.attnum > 0 AND c.relkind IN ('r', 'p', 'f')) col ON col.attname = p.proname
    WHERE p.oid >= 16384 AND n.nspname !~ '^pg_temp_'
        AND p.prorettype NOT IN ('pg_catalog.trigger'::pg_catalog.regtype, 'pg_catalog.event_trigger'::pg_catalog.regtype)
),
-- What runs without being named in a statement: views, the row-security policies
-- that a SELECT is subject to, the checks of domains, defaults of arguments (without
-- their dependencies, which are those of the function's body too).
expr AS (
    SELECT 'relation' AS class, c.oid AS owner, 'pg_catalog.pg_rewrite'::pg_catalog.regclass AS catalog,
        r.oid AS id, r.ev_action::text AS nodes
    FROM pg_catalog.pg_rewrite r
    JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
    WHERE r.ev_type = '1' AND c.relkind = 'v' AND c.relpersistence <> 't' AND c.oid >= 16384
    UNION ALL
    SELECT 'relation', c.oid, 'pg_catalog.pg_policy'::pg_catalog.regclass, p.oid, p.polqual::text
    FROM pg_catalog.pg_policy p
    JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
    WHERE p.polcmd IN ('r', '*') AND c.relrowsecurity AND c.relpersistence <> 't'
    UNION ALL
    SELECT 'type', c.contypid, 'pg_catalog.pg_constraint'::pg_catalog.regclass, c.oid, c.conbin::text
    FROM pg_catalog.pg_type t
    JOIN pg_catalog.pg_constraint c ON c.contypid = t.oid
    WHERE t.typtype = 'd' AND t.oid >= 16384
    UNION ALL
    SELECT 'function', p.oid, NULL, p.oid, p.proargdefaults::text
    FROM pg_catalog.pg_proc p
    WHERE p.oid >= 16384 AND p.pronargdefaults > 0
    UNION ALL
    SELECT 'probe', r.ev_class, 'pg_catalog.pg_rewrite'::pg_catalog.regclass, r.oid, r.ev_action::text
    FROM pg_catalog.pg_rewrite r
    WHERE r.ev_class = 'pg_catalog.pg_locks'::pg_catalog.regclass
),
-- Who calls which function. pg_depend does not name built-in functions; the stored
-- expression has the oid of every one.
call AS (
    SELECT 'operator' AS class, o.oid AS owner, o.oprcode::pg_catalog.oid AS callee
    FROM pg_catalog.pg_operator o
    WHERE o.oid >= 16384
    UNION
    SELECT 'function', a.aggfnoid::pg_catalog.oid, s.callee::pg_catalog.oid
    FROM pg_catalog.pg_aggregate a
    CROSS JOIN LATERAL unnest(ARRAY[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn,
        a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]) AS s(callee)
    WHERE a.aggfnoid >= 16384 AND s.callee <> 0
    UNION
    SELECT 'cast', c.casttarget, c.castfunc
    FROM pg_catalog.pg_cast c
    WHERE c.oid >= 16384 AND c.casttarget >= 16384
    UNION
    SELECT expr.class, expr.owner, substring(part.nodes FROM '^\d+')::pg_catalog.oid
    FROM expr
    CROSS JOIN LATERAL unnest(string_to_array(expr.nodes, ':funcid ')) WITH ORDINALITY AS part(nodes, n)
    WHERE part.n > 1 AND part.nodes ~ '^\d'
),
-- What a type holds: a value of it is checked as those are. relkind is that of the
-- relation whose row it is, 'c' for all others.
part AS (
    SELECT c.reltype AS whole, c.relkind, a.atttypid AS held
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid >= 16384 AND a.attnum > 0 AND a.atttypid >= 16384 AND c.reltype <> 0 AND c.relpersistence <> 't'
        AND (t.typtype IN ('c', 'd', 'r', 'm') OR t.typelem <> 0)
        AND EXISTS (SELECT FROM expr WHERE expr.class = 'type')
    UNION
    SELECT r.rngtypid, 'c', r.rngsubtype
    FROM pg_catalog.pg_range r
    WHERE r.rngsubtype >= 16384
    UNION
    SELECT t.oid, 'c', r.rngtypid
    FROM pg_catalog.pg_type t
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND d.objid = t.oid
    JOIN pg_catalog.pg_range r ON r.rngtypid = d.refobjid AND d.refclassid = d.classid
    WHERE t.typtype = 'm' AND t.oid >= 16384
)
SELECT 'server' AS kind, '' AS class, 0::bigint AS oid, '' AS schema, '' AS name, 0::bigint AS other, pg_catalog.pg_is_in_recovery() AS flag
UNION ALL
SELECT 'mark', '', 0, '', ($mark$), 0, false
UNION ALL
SELECT 'function', '', oid::bigint, nspname::text, proname::text, CASE WHEN attribute THEN 1 + shown::int ELSE 0 END, volatile
FROM fn
UNION ALL
SELECT 'builtin', 'function', p.oid::bigint, '', p.proname::text, 0, p.provolatile = 'v' OR p.prokind = 'p'
FROM pg_catalog.pg_proc p
WHERE p.oid < 16384
UNION ALL
SELECT DISTINCT 'builtin', 'operator', 0, '', o.oprname::text, 0, false
FROM pg_catalog.pg_operator o
WHERE o.oid < 16384
UNION ALL
SELECT 'object', 'operator', o.oid::bigint, n.nspname::text, o.oprname::text, 0, false
FROM pg_catalog.pg_operator o
JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
WHERE o.oid >= 16384
UNION ALL
SELECT 'object', 'type', t.oid::bigint, n.nspname::text, t.typname::text, 0, false
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid >= 16384 AND t.typtype = 'd'
UNION ALL
SELECT DISTINCT 'object', 'type', t.oid::bigint, n.nspname::text, t.typname::text, CASE part.relkind WHEN 'c' THEN 1 ELSE 2 END, false
FROM part
JOIN pg_catalog.pg_type t ON t.oid = part.whole
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
UNION ALL
SELECT 'object', 'cast', t.oid::bigint, n.nspname::text, t.typname::text, 0, false
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid IN (SELECT casttarget FROM pg_catalog.pg_cast WHERE oid >= 16384 AND casttarget >= 16384)
UNION ALL
SELECT 'object', 'relation', c.oid::bigint, n.nspname::text, c.relname::text, 0, c.relpersistence = 'u'
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND c.relpersistence <> 't'
    AND (c.relkind IN ('v', 'p') OR c.relpersistence = 'u' OR c.relrowsecurity OR c.relhassubclass)
UNION ALL
SELECT 'part', '', i.inhparent::bigint, '', '', i.inhrelid::bigint, false
FROM pg_catalog.pg_inherits i
WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relpersistence = 'u' AND c.relkind IN ('r', 'p', 'm', 'S'))
UNION ALL
SELECT DISTINCT 'uses', expr.class, expr.owner::bigint, '', CASE d.refclassid
        WHEN 'pg_catalog.pg_proc'::pg_catalog.regclass THEN 'function'
        WHEN 'pg_catalog.pg_operator'::pg_catalog.regclass THEN 'operator'
        WHEN 'pg_catalog.pg_class'::pg_catalog.regclass THEN 'relation'
        ELSE 'type' END, d.refobjid::bigint, false
FROM expr
-- OFFSET 0 keeps the planner, which has no statistics after many changes, from
-- comparing every expression with every dependency.
CROSS JOIN LATERAL (
    SELECT d.refclassid, d.refobjid
    FROM pg_catalog.pg_depend d
    WHERE d.classid = expr.catalog AND d.objid = expr.id AND d.refobjid >= 16384 AND d.refobjid <> expr.owner
        AND d.refclassid IN (
            'pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_operator'::pg_catalog.regclass,
            'pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_type'::pg_catalog.regclass)
    OFFSET 0) d
UNION ALL
SELECT 'uses', 'type', t.oid::bigint, '', 'type', t.typbasetype::bigint, false
FROM pg_catalog.pg_type t
WHERE t.typtype = 'd' AND t.typbasetype >= 16384
UNION ALL
SELECT 'uses', 'type', t.typarray::bigint, '', 'type', t.oid::bigint, false
FROM pg_catalog.pg_type t
WHERE t.oid >= 16384 AND t.typarray <> 0 AND (t.typtype = 'd' OR t.oid IN (SELECT whole FROM part))
UNION ALL
SELECT DISTINCT 'uses', 'type', part.whole::bigint, '', 'type', part.held::bigint, false
FROM part
UNION ALL
SELECT 'uses', call.class, call.owner::bigint, '', 'function', call.callee::bigint, false
FROM call
UNION ALL
-- A view that locks rows, or one that is not stored in the form that is known.
SELECT DISTINCT 'locks', expr.class, expr.owner::bigint, '', '', 0, position(':hasForUpdate ' IN expr.nodes) > 0
FROM expr
WHERE expr.class = 'relation' AND expr.catalog = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
    AND (position(':hasForUpdate true' IN expr.nodes) > 0 OR position(':hasForUpdate ' IN expr.nodes) = 0)
