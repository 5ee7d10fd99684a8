package engine

import (
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

var name128 = sqlval.NVarCharType(128)

// Version is what the double says it is.
const Version = "Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (a double that speaks TDS, and no SQL Server)"

func (x *execution) global(name string) (*compiled, error) {
	s := x.s
	value := func(typ sqlval.Type, get func() any) (*compiled, error) {
		return &compiled{typ: typ, nullable: true, eval: func(*env) (any, error) { return get(), nil }}, nil
	}
	switch name {
	case "rowcount":
		return value(integer, func() any { return s.rowCount })
	case "trancount":
		return value(integer, func() any { return int64(s.depth) })
	case "error":
		return value(integer, func() any { return int64(s.lastError) })
	case "spid":
		return value(sqlval.Type{Kind: sqlval.SmallInt}, func() any { return int64(s.SPID) })
	case "servername":
		return value(name128, func() any { return s.Host.ServerName() })
	case "version":
		return value(sqlval.NVarCharType(300), func() any { return Version })
	case "identity":
		return value(sqlval.Type{Kind: sqlval.Decimal, Prec: 38}, func() any { return decimal(s.scope) })
	case "lock_timeout":
		return value(integer, func() any {
			if s.opts.lockTimeout < 0 {
				return int64(-1)
			}
			return s.opts.lockTimeout.Milliseconds()
		})
	case "microsoftversion":
		return value(integer, func() any { return int64(0x100003E8) })
	case "language":
		return value(name128, func() any { return "us_english" })
	case "options", "nestlevel", "textsize", "max_precision", "datefirst":
		return nil, sqlval.NotModelled("@@%s", name)
	}
	return nil, undeclared("@" + name)
}

func decimal(v any) any {
	if n, ok := v.(int64); ok {
		return sqlval.DecOf(n)
	}
	return nil
}

func systemFunctions() {
	identity := sqlval.Type{Kind: sqlval.Decimal, Prec: 38}
	add := func(name string, f function) { functions[name] = f }
	session := func(name string, typ sqlval.Type, get func(s *Session) any) {
		add(name, function{typ: typ, call: func(x *execution, _ []any) (any, error) { return get(x.s), nil }})
	}
	session("scope_identity", identity, func(s *Session) any { return decimal(s.scope) })
	session("schema_name", name128, func(*Session) any { return "dbo" })
	session("suser_sname", name128, func(s *Session) any { return s.User })
	session("suser_name", name128, func(s *Session) any { return s.User })
	session("original_login", name128, func(s *Session) any { return s.User })
	session("user_name", name128, func(*Session) any { return "dbo" })
	session("app_name", name128, func(s *Session) any { return s.App })
	session("current_transaction_id", longInt, func(s *Session) any {
		if s.tx == nil {
			return int64(0)
		}
		return int64(s.tx.id)
	})
	session("xact_state", sqlval.Type{Kind: sqlval.SmallInt}, func(s *Session) any {
		if s.tx == nil {
			return int64(0)
		}
		return int64(1)
	})
	add("db_name", function{args: []sqlval.Type{integer}, optional: 1, nulls: true, typ: name128, call: func(x *execution, a []any) (any, error) {
		if a[0] == nil {
			return x.s.db.Name(), nil
		}
		for _, db := range x.s.Host.Databases() {
			if db.ID() == a[0].(int64) {
				return db.Name(), nil
			}
		}
		return nil, nil
	}})
	add("db_id", function{args: []sqlval.Type{name128}, optional: 1, nulls: true, typ: integer, call: func(x *execution, a []any) (any, error) {
		if a[0] == nil {
			return x.s.db.ID(), nil
		}
		if db := x.database(a[0].(string)); db != nil {
			return db.ID(), nil
		}
		return nil, nil
	}})
	add("object_id", function{args: []sqlval.Type{name128, text}, optional: 1, nulls: true, typ: integer, call: func(x *execution, a []any) (any, error) {
		if a[0] == nil {
			return nil, nil
		}
		parts := strings.Split(strings.NewReplacer("[", "", "]", "", `"`, "").Replace(a[0].(string)), ".")
		if t := x.state.tables[strings.ToLower(parts[len(parts)-1])]; t != nil {
			return t.id, nil
		}
		return nil, nil
	}})
	add("object_name", function{args: []sqlval.Type{integer}, typ: name128, call: func(x *execution, a []any) (any, error) {
		for _, t := range x.state.tables {
			if t.id == a[0].(int64) {
				return t.name, nil
			}
		}
		return nil, nil
	}})
	add("ident_current", function{args: []sqlval.Type{name128}, typ: identity, call: func(x *execution, a []any) (any, error) {
		t := x.state.tables[strings.ToLower(a[0].(string))]
		if t == nil || t.identityColumn() < 0 {
			return nil, nil
		}
		return sqlval.DecOf(max(t.identity, 1)), nil
	}})
	add("serverproperty", function{args: []sqlval.Type{name128}, typ: name128, call: func(x *execution, a []any) (any, error) {
		return sqlval.Cast(x.s.Host.Property(strings.ToLower(a[0].(string))), name128)
	}})
	add("databasepropertyex", function{args: []sqlval.Type{name128, name128}, typ: name128, call: func(x *execution, a []any) (any, error) {
		db := x.database(a[0].(string))
		if db == nil {
			return nil, nil
		}
		switch strings.ToLower(a[1].(string)) {
		case "updateability":
			return db.Updateability(), nil
		case "status":
			return "ONLINE", nil
		case "useraccess":
			return "MULTI_USER", nil
		case "recovery":
			return "FULL", nil
		case "collation":
			return "SQL_Latin1_General_CP1_CI_AS", nil
		}
		return nil, nil
	}})
	primary := function{args: []sqlval.Type{name128}, typ: sqlval.BitType, call: func(x *execution, a []any) (any, error) {
		return x.s.Host.IsPrimary(a[0].(string)), nil
	}}
	add("sys.fn_hadr_is_primary_replica", primary)
	add("master.sys.fn_hadr_is_primary_replica", primary)
}

func (x *execution) database(name string) Database {
	for _, db := range x.s.Host.Databases() {
		if strings.EqualFold(db.Name(), name) {
			return db
		}
	}
	return nil
}
