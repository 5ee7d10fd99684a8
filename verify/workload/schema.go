package workload

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/readsplit/readsplit/verify/history"
)

// registers is how many there are, and lists as many, from number 1 on: GORM takes
// a key of 0 for none.
const registers = 256

// schema: each change of a register gets the next version and leaves a line in the
// journal, in the same transaction, in whatever way it was made. So the journal is
// all that was ever committed, in order, and a statement that ran twice is there
// twice.
const schema = `
CREATE TABLE registers (id bigint PRIMARY KEY, version bigint NOT NULL DEFAULT 0, value text NOT NULL DEFAULT '');
CREATE TABLE journal (id bigint NOT NULL, version bigint NOT NULL, value text NOT NULL);
CREATE TABLE entries (id bigserial PRIMARY KEY, register_id bigint NOT NULL, value text NOT NULL);
CREATE INDEX ON entries (register_id);
CREATE TABLE places (id bigserial PRIMARY KEY, name text NOT NULL, value text NOT NULL);
CREATE INDEX ON places (name);
CREATE TABLE ballast (id bigint PRIMARY KEY, filling text NOT NULL);
CREATE FUNCTION next_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.version := OLD.version + 1;
	INSERT INTO journal VALUES (NEW.id, NEW.version, NEW.value);
	RETURN NEW;
END $$;
CREATE TRIGGER next_version BEFORE UPDATE ON registers FOR EACH ROW EXECUTE FUNCTION next_version();
CREATE FUNCTION commit_slowly() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(0.015);
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER commit_slowly AFTER UPDATE ON registers DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.value LIKE '%/%') EXECUTE FUNCTION commit_slowly();
`

// Create makes the tables in an empty database on the primary.
func Create(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("verify: create the tables: %w", err)
	}
	if _, err := db.ExecContext(ctx, `INSERT INTO registers SELECT i FROM generate_series(1, $1::bigint) i`, registers); err != nil {
		return fmt.Errorf("verify: fill the registers: %w", err)
	}
	return nil
}

// Final reads what a server holds of every key.
func Final(ctx context.Context, db *sql.DB) (events []history.Event, err error) {
	byKey := map[string]int{}
	at := func(key string) *history.Event {
		i, ok := byKey[key]
		if !ok {
			i = len(events)
			byKey[key] = i
			events = append(events, history.Event{Kind: history.KindFinal, Key: key})
		}
		return &events[i]
	}
	for i := range registers {
		at(register(i + 1))
		at(list(i + 1))
	}
	each := func(query string, add func(rows *sql.Rows) error) {
		if err != nil {
			return
		}
		var rows *sql.Rows
		if rows, err = db.QueryContext(ctx, query); err != nil {
			return
		}
		for rows.Next() && err == nil {
			err = add(rows)
		}
		if e := rows.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = rows.Err()
		}
	}
	now := history.Now()
	each(`SELECT id, version, value FROM journal ORDER BY id, version`, func(rows *sql.Rows) error {
		var id, version int64
		var value string
		if err := rows.Scan(&id, &version, &value); err != nil {
			return err
		}
		e := at(register(int(id)))
		if e.Values = append(e.Values, value); int64(len(e.Values)) != version {
			return fmt.Errorf("verify: the journal of %s has version %d in place %d: the tables contradict each other", e.Key, version, len(e.Values))
		}
		return nil
	})
	each(`SELECT register_id, value FROM entries ORDER BY id`, func(rows *sql.Rows) error {
		var id int64
		var value string
		if err := rows.Scan(&id, &value); err != nil {
			return err
		}
		e := at(list(int(id)))
		e.Values = append(e.Values, value)
		return nil
	})
	each(`SELECT name, value FROM places ORDER BY id`, func(rows *sql.Rows) error {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		e := at(name)
		e.Values = append(e.Values, value)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("verify: read the final state: %w", err)
	}
	for i := range events {
		events[i].Invoke, events[i].Return = now, history.Now()
	}
	return events, nil
}

func register(id int) string { return "r" + strconv.Itoa(id) }
func list(id int) string     { return "l" + strconv.Itoa(id) }
