package compare

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// dump writes a value down with its types, through pointers, so that two equal
// values of two runs have the same text.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v), 0)
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, depth int) {
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	if depth > 12 {
		b.WriteString("...")
		return
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Time:
			b.WriteString(x.Format(time.RFC3339Nano))
			return
		case []byte:
			fmt.Fprintf(b, "%T%q", x, x)
			return
		case error:
			if v.Kind() != reflect.Pointer || !v.IsNil() {
				b.WriteString(describe(x))
				return
			}
		case context.Context:
			b.WriteString("context")
			return
		case clause.Expr:
			fmt.Fprintf(b, "expr(%q %s)", x.SQL, dump(x.Vars))
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			fmt.Fprintf(b, "%s(nil)", v.Type())
			return
		}
		if v.Kind() == reflect.Pointer {
			b.WriteString("&")
		}
		dumpValue(b, v.Elem(), depth+1)
	case reflect.Struct:
		fmt.Fprintf(b, "%s{", v.Type())
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				fmt.Fprintf(b, "%s:", f.Name)
				dumpValue(b, v.Field(i), depth+1)
				b.WriteString(" ")
			}
		}
		b.WriteString("}")
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			fmt.Fprintf(b, "%s(nil)", v.Type())
			return
		}
		fmt.Fprintf(b, "%s[", v.Type())
		for i := range v.Len() {
			dumpValue(b, v.Index(i), depth+1)
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Map:
		if v.IsNil() {
			fmt.Fprintf(b, "%s(nil)", v.Type())
			return
		}
		var all []string
		for i := v.MapRange(); i.Next(); {
			var e strings.Builder
			dumpValue(&e, i.Key(), depth+1)
			e.WriteString(":")
			dumpValue(&e, i.Value(), depth+1)
			all = append(all, e.String())
		}
		slices.Sort(all)
		fmt.Fprintf(b, "%s{%s}", v.Type(), strings.Join(all, " "))
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		b.WriteString(v.Type().String())
	case reflect.String:
		fmt.Fprintf(b, "%s(%q)", v.Type(), v.String())
	default:
		fmt.Fprintf(b, "%s(%v)", v.Type(), v)
	}
}

// sentinels are the errors that applications ask for with errors.Is.
var sentinels = []error{
	gorm.ErrRecordNotFound, gorm.ErrInvalidTransaction, gorm.ErrNotImplemented, gorm.ErrMissingWhereClause, gorm.ErrUnsupportedRelation,
	gorm.ErrPrimaryKeyRequired, gorm.ErrModelValueRequired, gorm.ErrModelAccessibleFieldsRequired, gorm.ErrSubQueryRequired, gorm.ErrInvalidData,
	gorm.ErrUnsupportedDriver, gorm.ErrRegistered, gorm.ErrInvalidField, gorm.ErrEmptySlice, gorm.ErrDryRunModeUnsupported, gorm.ErrInvalidDB,
	gorm.ErrInvalidValue, gorm.ErrInvalidValueOfLength, gorm.ErrPreloadNotAllowed, gorm.ErrDuplicatedKey, gorm.ErrForeignKeyViolated,
	gorm.ErrCheckConstraintViolated, logger.ErrRecordNotFound,
	sql.ErrNoRows, sql.ErrTxDone, sql.ErrConnDone, driver.ErrBadConn, pgx.ErrNoRows, pgx.ErrTxClosed, pgx.ErrTxCommitRollback,
	context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, errApplication,
}

// errApplication is an error of a program's own.
var errApplication = errors.New("the application's own error")

// describe writes down everything that can be told from an error: its types all
// the way down, its text, which errors it is, and what the server said.
func describe(err error) string {
	if err == nil {
		return "nil"
	}
	var is []string
	for _, s := range sentinels {
		if errors.Is(err, s) {
			is = append(is, s.Error())
		}
	}
	text := fmt.Sprintf("%s %q is=%q", chain(err), err.Error(), is)
	var server *pgconn.PgError
	if errors.As(err, &server) {
		text += fmt.Sprintf(" server={%s %s %q detail=%q hint=%q at %d, %s.%s.%s %s %s, %q}", server.Severity, server.Code, server.Message, server.Detail, server.Hint,
			server.Position, server.SchemaName, server.TableName, server.ColumnName, server.ConstraintName, server.Routine, server.Where)
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) {
		text += fmt.Sprintf(" timeout=%v", timeout.Timeout())
	}
	return text
}

// chain names the types of an error and of all that it wraps.
func chain(err error) string {
	switch x := err.(type) { //nolint:errorlint // it is the chain itself that is named
	case interface{ Unwrap() error }:
		if inner := x.Unwrap(); inner != nil {
			return fmt.Sprintf("%T(%s)", err, chain(inner))
		}
	case interface{ Unwrap() []error }:
		var all []string
		for _, e := range x.Unwrap() {
			all = append(all, chain(e))
		}
		return fmt.Sprintf("%T(%s)", err, strings.Join(all, ", "))
	}
	return fmt.Sprintf("%T", err)
}
