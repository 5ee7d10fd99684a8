-- Objects for what psql, pgAdmin, DBeaver, exporters and migration tools ask.
CREATE TYPE colour AS ENUM ('red', 'blue');
CREATE TABLE thing (id bigserial PRIMARY KEY, name text NOT NULL, tint colour, owner int, note text DEFAULT 'x', CHECK (length(name) > 0));
CREATE INDEX thing_name ON thing (lower(name)) WHERE note IS NOT NULL;
CREATE TABLE part (id int PRIMARY KEY, thing_id bigint REFERENCES thing ON DELETE CASCADE) ;
CREATE VIEW things AS SELECT * FROM thing;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'touched'; RETURN NEW; END $$;
CREATE TRIGGER touch BEFORE UPDATE ON thing FOR EACH ROW EXECUTE FUNCTION touch();
ALTER TABLE thing ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON thing USING (owner > 0);
COMMENT ON TABLE thing IS 'a thing';
CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean);
CREATE TABLE flyway_schema_history (installed_rank int PRIMARY KEY, version varchar(50), description varchar(200), type varchar(20), script varchar(1000), checksum int, installed_by varchar(100), installed_on timestamp DEFAULT now(), execution_time int, success boolean);
CREATE TABLE goose_db_version (id serial PRIMARY KEY, version_id bigint, is_applied boolean, tstamp timestamp);
CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY);
