SELECT jt.id, jt.b FROM JSON_TABLE('[{"id":1,"x":["a"]}]'::jsonb, '$[*]' COLUMNS (n FOR ORDINALITY, id int PATH '$.id', v varchar(10) PATH '$.v' DEFAULT 'x' ON EMPTY, NESTED PATH '$.x[*]' COLUMNS (b text PATH '$'))) AS jt
====
SELECT * FROM users u, JSON_TABLE(u.data, '$.pets[*]' PASSING 1 AS one COLUMNS (pet text PATH '$')) jt
====
SELECT JSON_VALUE(data, '$.n' RETURNING numeric(10,2) DEFAULT 0 ON EMPTY), JSON_QUERY(data, '$.pets' WITH WRAPPER), JSON_EXISTS(data, '$.city') FROM users
====
SELECT JSON_OBJECT('a' VALUE 1, 'b' : 2), JSON_OBJECT('a' VALUE lower('X') ABSENT ON NULL WITH UNIQUE KEYS), JSON_ARRAY(1, 2 NULL ON NULL), JSON_ARRAY(SELECT id FROM users)
====
SELECT JSON_OBJECTAGG(name VALUE age), JSON_ARRAYAGG(name ORDER BY name RETURNING jsonb) FROM users
====
SELECT JSON('{"a":1}' WITH UNIQUE KEYS), JSON_SCALAR(1), JSON_SERIALIZE('{}' RETURNING text), '{}' IS JSON OBJECT
====
SELECT XMLSERIALIZE(CONTENT '<a/>' AS text INDENT), 0x1F, 0b11, 1_000, SYSTEM_USER
====
SELECT now() AT LOCAL
====
SELECT * FROM (SELECT count(*) FROM users)
