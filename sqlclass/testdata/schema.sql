-- The tables that the statements beside this file speak of. Run on a primary.
CREATE TABLE users (
    id bigserial PRIMARY KEY, name text, email text UNIQUE, age int, active boolean DEFAULT true,
    data jsonb DEFAULT '{}', tags text[] DEFAULT '{}', created_at timestamptz DEFAULT now(), "order" int, deleted_at timestamptz
);
CREATE TABLE orders (
    id bigserial PRIMARY KEY, user_id bigint REFERENCES users, amount numeric(12,2), state text DEFAULT 'new',
    placed date DEFAULT current_date, period tsrange, updated_at timestamp DEFAULT localtimestamp
);
CREATE TABLE items (id bigserial PRIMARY KEY, order_id bigint REFERENCES orders, sku varchar(20), qty int, price numeric);
CREATE TABLE tree (id int PRIMARY KEY, parent int, label text);
CREATE TABLE words ("update" int, "delete" int, insert text, merge text, share text, key int, value int, values int, recursive int);
CREATE SEQUENCE tickets;
CREATE VIEW active_users AS SELECT id, name FROM users WHERE active;
CREATE FUNCTION bump() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('tickets') $$;
CREATE FUNCTION add_tax(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT $1 * 1.2 $$;
CREATE SCHEMA app;
CREATE FUNCTION app.lower(text) RETURNS text LANGUAGE sql VOLATILE AS $$ INSERT INTO tree VALUES (99, 0, $1) RETURNING label $$;
CREATE PROCEDURE tidy() LANGUAGE sql AS $$ DELETE FROM tree WHERE id > 1000 $$;
INSERT INTO users (name, email, age, data, tags) VALUES
    ('ann', 'ann@example.com', 30, '{"city": "Rome", "pets": ["cat"], "n": 3}', '{a,b}'),
    ('bob', 'bob@example.com', 41, '{"city": "Oslo"}', '{b}');
INSERT INTO orders (user_id, amount, period) VALUES (1, 10.5, '[2024-01-01,2024-02-01)'), (2, 99, NULL);
INSERT INTO items (order_id, sku, qty, price) VALUES (1, 'A-1', 2, 5.25), (2, 'B-2', 1, 99);
INSERT INTO tree VALUES (1, NULL, 'root'), (2, 1, 'left'), (3, 1, 'right');
INSERT INTO words VALUES (1, 2, 'i', 'm', 's', 3, 4, 5, 6);
