package readsplit

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
)

// simpleQuery sends statements to a server in one message of the simple protocol and
// returns the one text that the last of them answers. Two things need it: BEGIN and
// the question after it cost one round trip instead of two, and nothing is prepared,
// which a pooler would look for on another server the next time.
type simpleQuery func(ctx context.Context, statements string) (string, error)

// pgConnOf finds pgx's connection under its driver connection, without compiling pgx
// into applications that do not use it: (*stdlib.Conn).Conn().PgConn().
func pgConnOf(c driver.Conn) (v reflect.Value, ok bool) {
	v = reflect.ValueOf(c)
	for _, name := range [...]string{"Conn", "PgConn"} {
		m := v.MethodByName(name)
		if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
			return v, false
		}
		v = m.Call(nil)[0]
	}
	return v, true
}

// keyPID returns the process that the server named when the connection was made, for
// requests to cancel; 0 where the driver does not tell. A server process names
// itself. A pooler has to name something of its own, or a request of one client would
// cancel what the process does for another.
func keyPID(c driver.Conn) int {
	v, ok := pgConnOf(c)
	if !ok {
		return 0
	}
	m := v.MethodByName("PID")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 || m.Type().Out(0).Kind() != reflect.Uint32 {
		return 0
	}
	return int(m.Call(nil)[0].Uint())
}

// pooled reports whether the process that answered is not the one that the server
// named, so that a pooler stands in between; false where that cannot be known.
func pooled(key, answered int) bool { return key != 0 && answered != 0 && key != answered }

// simpleQueryOf returns pgx's simple protocol, nil where the driver is another one.
func simpleQueryOf(c driver.Conn) simpleQuery {
	v, ok := pgConnOf(c)
	if !ok {
		return nil
	}
	exec := v.MethodByName("Exec")
	if !exec.IsValid() || exec.Type().NumIn() != 2 || exec.Type().NumOut() != 1 ||
		exec.Type().In(0) != reflect.TypeFor[context.Context]() || exec.Type().In(1).Kind() != reflect.String {
		return nil
	}
	readAll, ok := exec.Type().Out(0).MethodByName("ReadAll")
	if !ok || readAll.Type.NumIn() != 1 || readAll.Type.NumOut() != 2 || !resultsHaveRows(readAll.Type.Out(0)) ||
		readAll.Type.Out(1) != reflect.TypeFor[error]() {
		return nil
	}
	return func(ctx context.Context, statements string) (string, error) {
		reader := exec.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(statements)})[0]
		out := reader.Method(readAll.Index).Call(nil)
		if err, ok := out[1].Interface().(error); ok {
			return "", err
		}
		return lastText(out[0])
	}
}

// resultsHaveRows reports whether t is a list of pointers to what has the rows of a
// result as texts.
func resultsHaveRows(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Pointer || t.Elem().Elem().Kind() != reflect.Struct {
		return false
	}
	rows, ok := t.Elem().Elem().FieldByName("Rows")
	return ok && rows.Type == reflect.TypeFor[[][][]byte]()
}

// lastText returns the only value of the last result, "" where that has no rows.
func lastText(results reflect.Value) (string, error) {
	n := results.Len()
	if n == 0 {
		return "", nil
	}
	rows, _ := results.Index(n - 1).Elem().FieldByName("Rows").Interface().([][][]byte)
	switch {
	case len(rows) == 0:
		return "", nil
	case len(rows) == 1 && len(rows[0]) == 1:
		return string(rows[0][0]), nil
	}
	return "", fmt.Errorf("readsplit: the server answered %d rows, want one text", len(rows))
}
