-- Small tables with awkward names, for recipes and for texts that mislead a lexer.
CREATE TABLE words ("update" int, "delete" int, insert text, merge text, share text, key int, value int, values int, recursive int, "select" int, "from" text, into_ text, "for" int, set int, copy text, lock text, share_lock text, nowait int, skip int, locked int);
CREATE TABLE "Mixed Case" ("Id" int, "user" text, "a""b" int, "semi;colon" int, "--dash" int, "/*star" int);
CREATE TABLE update (id int, update text, for_update boolean);
CREATE TABLE points (id int, x int, y int, grp text, at timestamptz, amount numeric, parent int);
CREATE TABLE spans (id int, during tstzrange, room int);
CREATE TABLE docs (id int, body jsonb, tags text[], t text);
CREATE TABLE größe (länge int, breite int);
INSERT INTO points SELECT i, i % 5, i % 7, chr(65 + i % 3), timestamptz '2024-01-01' + i * interval '1 hour', i * 1.5, nullif(i / 2, 0) FROM generate_series(1, 40) i;
INSERT INTO words ("update", insert, key) VALUES (1, 'i', 2);
INSERT INTO docs VALUES (1, '{"a": {"b": [1, 2, {"c": "d"}]}, "n": 5}', '{x,y}', 'it''s');
INSERT INTO spans VALUES (1, '[2024-01-01, 2024-01-05)', 1), (2, '[2024-01-04, 2024-01-09)', 1);
