package compare

import (
	"maps"
	"slices"
	"strings"
)

// harness is what the comparison itself needs in each database, in a schema that
// programs do not see: all relations of the programs' schema with their columns
// and rows, in one round trip.
const harness = `
CREATE SCHEMA harness;
CREATE FUNCTION harness.contents() RETURNS TABLE (name text, holds text) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
	FOR r IN SELECT c.oid, c.relname, c.relkind, coalesce(string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
			|| CASE WHEN a.attnotnull THEN ' not null' ELSE '' END || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''), ', ' ORDER BY a.attnum), '') AS columns
		FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'S', 'i') GROUP BY 1, 2, 3
	LOOP
		name := r.relname;
		IF r.relkind = 'S' THEN
			EXECUTE format('SELECT last_value || '' '' || is_called FROM public.%I', name) INTO holds;
		ELSIF r.relkind = 'i' THEN
			holds := r.columns;
		ELSE
			EXECUTE format('SELECT coalesce(string_agg(t::text, E''\\n  '' ORDER BY t::text), ''empty'') FROM public.%I t', name) INTO holds;
			holds := '(' || r.columns || ') ' || holds;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;`

// group are tables that are emptied and filled together, because they refer to
// each other.
type group struct {
	tables []string
	rows   string
}

var groups = []group{
	{[]string{"companies", "languages", "users", "accounts", "pets", "user_languages"}, `
INSERT INTO companies (name, size) VALUES ('Acme', 10), ('Brick', 20);
INSERT INTO languages VALUES ('de', 'German'), ('en', 'English'), ('fr', 'French');
INSERT INTO users (created_at, updated_at, name, email, age, active, score, birthday, address_street, address_city, tags, extra, company_id, manager_id) VALUES
 ('2024-01-01', '2024-01-01', 'ann', 'ann@example.org', 40, true, 3.5, '1984-02-03', 'High St', 'Ayr', '["a","b"]', '{"k": 1}', 1, NULL),
 ('2024-01-02', '2024-01-02', 'bob', 'bob@example.org', 30, false, 2, NULL, '', NULL, '[]', NULL, 1, 1),
 ('2024-01-03', '2024-01-03', 'cat', NULL, 17, NULL, 1.5, NULL, 'Low St', 'Bath', NULL, '{"n": null}', 2, 1),
 ('2024-01-04', '2024-01-04', 'dan', 'dan@example.org', 30, true, 0, NULL, '', NULL, NULL, NULL, NULL, 2),
 ('2024-01-05', '2024-01-05', 'eve', 'eve@example.org', 25, true, 9, NULL, '', NULL, NULL, NULL, 2, NULL);
INSERT INTO users (created_at, updated_at, deleted_at, name, age) VALUES ('2024-01-06', '2024-01-06', '2024-02-01', 'fay', 50);
INSERT INTO accounts (user_id, number, money) VALUES (1, 'A-1', 100), (2, 'A-2', 0), (NULL, 'A-3', 7);
INSERT INTO pets (user_id, name) VALUES (1, 'ant'), (1, 'bee'), (2, 'cow'), (NULL, 'dog');
INSERT INTO user_languages VALUES (1, 'de'), (1, 'en'), (2, 'en');`},
	{[]string{"toys"}, `
INSERT INTO toys (name, owner_id, owner_type) VALUES ('ball', 1, 'users'), ('rope', 1, 'pets'), ('ring', 3, 'pets'), ('cube', 5, 'users');`},
	{[]string{"lines"}, `
INSERT INTO lines VALUES (1, 1, 'one', 1), (1, 2, 'two', 1), (2, 1, 'three', 1);`},
	{[]string{"notes"}, `
INSERT INTO notes VALUES ('first', '2024-01-01'), ('second', '2024-01-02');`},
	{[]string{"hookeds"}, `
INSERT INTO hookeds (name, seen) VALUES ('h1', 1), ('h2', 2), ('h3', 3);`},
	{[]string{"parents", "children"}, `
INSERT INTO parents (name) VALUES ('p1'), ('p2');
INSERT INTO children (parent_id) VALUES (1);`},
	{[]string{"drafts"}, `
INSERT INTO drafts (text) VALUES ('draft');`},
}

// dropping drops the tables and views that programs have made.
var dropping = `
DO $$ DECLARE r record; BEGIN
FOR r IN SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'm') AND relname <> ALL ('{` + strings.Join(known(), ",") + `}')
LOOP EXECUTE format('DROP %s IF EXISTS public.%I CASCADE', CASE r.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, r.relname);
END LOOP; END $$;`

func known() []string {
	all := []string{"adults"}
	for _, g := range groups {
		all = append(all, g.tables...)
	}
	return all
}

// restoring returns the statements that lead from what a program has left back
// to what programs begin with; everything is filled when nothing is known of it.
func restoring(pristine, after map[string]string) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := pristine[name]; !ok {
			text = dropping
			break
		}
	}
	for _, g := range groups {
		changed := after == nil
		for _, table := range g.tables {
			for _, name := range []string{table, table + "_id_seq"} {
				changed = changed || pristine[name] != after[name]
			}
		}
		if changed {
			text += "TRUNCATE " + strings.Join(g.tables, ", ") + " RESTART IDENTITY CASCADE;" + g.rows
		}
	}
	return text
}
