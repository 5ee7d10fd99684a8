package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// Column is a column of a result.
type Column struct {
	Name     string
	Type     sqlval.Type
	Nullable bool
}

// Rowset is a result, or a view of the system.
type Rowset struct {
	Cols []Column
	Rows [][]any
}

// Database is a database as a session on one server has it.
type Database interface {
	Name() string
	ID() int64
	// State is what readers see now.
	State() (*State, error)
	// Writer is nil on a server that may not write.
	Writer() (*Writer, error)
	Updateability() string
}

// Host is the server of a session.
type Host interface {
	ServerName() string
	// Database finds a database for a session, or says why it may not have it.
	Database(name string) (Database, error)
	// Databases are all that the server has.
	Databases() []Database
	// View is a view of the server's state by its name in lower case, such as
	// sys.dm_hadr_database_replica_states; nil when there is none of this name.
	View(name string, db Database) (*Rowset, error)
	// IsPrimary is fn_hadr_is_primary_replica; nil for a database in no group.
	IsPrimary(database string) any
	// Properties is SERVERPROPERTY.
	Property(name string) any
}

// Commands of DONE tokens.
const (
	CmdSelect uint16 = 0xC1
	CmdInsert uint16 = 0xC3
	CmdDelete uint16 = 0xC4
	CmdUpdate uint16 = 0xC5
	CmdMerge  uint16 = 0x117
	CmdOther  uint16 = 0xFD
)

// Event is what becomes of a transaction.
type Event uint8

// The events, with the numbers that they have on the wire.
const (
	Began      Event = 8
	Committed  Event = 9
	RolledBack Event = 10
)

// Sink takes what a batch answers.
type Sink interface {
	Columns(cols []Column) error
	Row(row []any) error
	// Done ends a statement; count is -1 where nothing was counted.
	Done(cmd uint16, count int64, failed bool) error
	Error(e *sqlval.Error) error
	Info(text string) error
	Transaction(e Event, id uint64) error
	Database(name, old string) error
}

// Session is a connection's state. It serves one request at a time.
type Session struct {
	Host  Host
	User  string
	App   string
	SPID  int
	db    Database
	tx    *Tx
	depth int // @@TRANCOUNT
	opts  options
	vars  map[string]*variable
	nest  int

	rowCount  int64
	lastError int32
	scope     any // SCOPE_IDENTITY()
	now       time.Time
}

type variable struct {
	typ   sqlval.Type
	value any
}

type options struct {
	isolation    string
	xactAbort    bool
	noCount      bool
	lockTimeout  time.Duration
	identityInto string
}

// NewSession starts a session in a database.
func NewSession(host Host, db Database) *Session {
	s := &Session{Host: host, db: db}
	s.opts = options{isolation: "read committed", lockTimeout: -1}
	return s
}

// DB is the session's database.
func (s *Session) DB() Database { return s.db }

// Close ends an open transaction.
func (s *Session) Close() { s.drop() }

// Reset is what a client asks for when it takes a connection from its pool.
func (s *Session) Reset(out Sink) error {
	err := s.rollbackAll(out)
	s.opts = options{isolation: "read committed", lockTimeout: -1}
	s.scope, s.rowCount, s.lastError = nil, 0, 0
	return err
}

func (s *Session) drop() {
	if s.tx != nil {
		s.tx.rollback()
	}
	s.tx, s.depth = nil, 0
}

// Param is a parameter of sp_executesql.
type Param struct {
	Name  string
	Type  sqlval.Type
	Value any
}

// errBatch ends a batch whose error the client has been told of.
var errBatch = errors.New("the batch has ended")

// Run runs a batch. Errors of statements go to the sink; what Run returns is an error of the
// connection or of the context.
func (s *Session) Run(ctx context.Context, text string, params []Param, out Sink) error {
	outer := s.vars
	s.vars = map[string]*variable{}
	defer func() { s.vars = outer }()
	s.now = time.Now()
	for _, p := range params {
		v, err := sqlval.Cast(p.Value, p.Type)
		if err != nil {
			return s.tell(err, out)
		}
		s.vars[strings.ToLower(p.Name)] = &variable{p.Type, v}
	}
	stmts, err := tsql.Parse(text)
	if err != nil {
		return s.tell(err, out)
	}
	err = s.runAll(ctx, stmts, out)
	if errors.Is(err, errBatch) {
		return nil
	}
	return err
}

// tell sends an error that no statement of its own has.
func (s *Session) tell(err error, out Sink) error {
	var e *sqlval.Error
	if !errors.As(err, &e) {
		return err
	}
	for ; e != nil; e = e.Next {
		s.lastError = e.Number
		if err := out.Error(e); err != nil {
			return err
		}
	}
	return out.Done(CmdOther, -1, true)
}

func (s *Session) runAll(ctx context.Context, stmts []tsql.Stmt, out Sink) error {
	for _, stmt := range stmts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.statement(ctx, stmt, out); err != nil {
			return err
		}
	}
	return nil
}

// statement runs one statement with all that its failure entails.
func (s *Session) statement(ctx context.Context, stmt tsql.Stmt, out Sink) error {
	before := 0
	if s.tx != nil {
		before = len(s.tx.changes)
	}
	err := s.dispatch(ctx, stmt, out)
	if err == nil {
		s.lastError = 0
		return nil
	}
	if s.tx != nil {
		s.tx.cutTo(before)
	}
	var e *sqlval.Error
	if !errors.As(err, &e) { // the client's cancel, or the connection
		if s.opts.xactAbort && ctx.Err() != nil {
			s.drop()
		}
		return err
	}
	if terr := s.tell(e, out); terr != nil {
		return terr
	}
	if s.tx != nil && (dooms(e) || s.opts.xactAbort && e.Class > 10) {
		if rerr := s.rollbackAll(out); rerr != nil {
			return rerr
		}
		return errBatch
	}
	if continues(e.Number) && !s.opts.xactAbort {
		return nil
	}
	return errBatch
}

// continues lists the errors after which the rest of a batch runs.
func continues(number int32) bool {
	switch number {
	case 515, 544, 547, 1222, 2601, 2627, 2628, 3902, 3903, 3906, 6401, 8134, 50000:
		return true
	}
	return false
}

func (s *Session) dispatch(ctx context.Context, stmt tsql.Stmt, out Sink) error {
	switch x := stmt.(type) {
	case *tsql.Select:
		return s.selectStmt(ctx, x, out)
	case *tsql.Insert, *tsql.Update, *tsql.Delete, *tsql.Merge:
		return s.write(ctx, x, out)
	case *tsql.CreateTable, *tsql.DropTable, *tsql.AlterTable, *tsql.CreateIndex, *tsql.DropIndex, *tsql.Truncate:
		return s.define(ctx, x, out)
	case *tsql.Begin, *tsql.Commit, *tsql.Rollback, *tsql.Save:
		if err := s.transaction(x, out); err != nil {
			return err
		}
		return out.Done(CmdOther, -1, false)
	case *tsql.SetOption:
		if err := s.setOption(x); err != nil {
			return err
		}
		return out.Done(CmdOther, -1, false)
	case *tsql.Declare:
		if s.vars[x.Name] != nil {
			return sqlval.Errorf(134, "The variable name '@%s' has already been declared.", x.Name)
		}
		s.vars[x.Name] = &variable{typ: x.Type}
		if x.Init == nil {
			return nil
		}
		return s.assign(ctx, x.Name, x.Init)
	case *tsql.SetVar:
		return s.assign(ctx, x.Set.Col, x.Set.Value)
	case *tsql.If:
		yes, err := s.value(ctx, x.Cond, true)
		if err != nil {
			return err
		}
		if yes == true {
			return s.runAll(ctx, x.Then, out)
		}
		return s.runAll(ctx, x.Else, out)
	case *tsql.WaitFor:
		return s.waitFor(ctx, x, out)
	case *tsql.Use:
		db, err := s.Host.Database(x.Database)
		if err != nil {
			return err
		}
		old := s.db.Name()
		s.db = db
		if err := out.Database(db.Name(), old); err != nil {
			return err
		}
		return out.Done(CmdOther, -1, false)
	case *tsql.Print:
		v, err := s.value(ctx, x.X, false)
		if err != nil {
			return err
		}
		text, err := sqlval.Cast(v, sqlval.NVarCharType(4000))
		if err != nil {
			return err
		}
		if text == nil {
			text = ""
		}
		return out.Info(text.(string))
	case *tsql.Raise:
		return s.raise(ctx, x)
	case *tsql.Exec:
		return s.exec(ctx, x, out)
	}
	return sqlval.NotModelled("this statement")
}

func (s *Session) assign(ctx context.Context, name string, x tsql.Expr) error {
	v := s.vars[name]
	if v == nil {
		return undeclared(name)
	}
	value, err := s.value(ctx, x, false)
	if err != nil {
		return err
	}
	v.value, err = sqlval.Cast(value, v.typ)
	return err
}

func undeclared(name string) *sqlval.Error {
	return sqlval.Errorf(137, "Must declare the scalar variable \"@%s\".", name)
}

func (s *Session) setOption(o *tsql.SetOption) error {
	switch o.Name {
	case "isolation":
		s.opts.isolation = o.Value
	case "xact_abort":
		s.opts.xactAbort = o.On
	case "nocount":
		s.opts.noCount = o.On
	case "lock_timeout":
		ms, err := strconv.Atoi(o.Value)
		if err != nil {
			return sqlval.Errorf(102, "Incorrect syntax near '%s'.", o.Value)
		}
		s.opts.lockTimeout = time.Duration(ms) * time.Millisecond
	case "rowcount":
		if o.Value != "0" {
			return sqlval.NotModelled("SET ROWCOUNT")
		}
	case "identity_insert":
		name, err := s.tableName(o.Table)
		if err != nil {
			return err
		}
		switch {
		case !o.On:
			s.opts.identityInto = ""
		case s.opts.identityInto != "" && s.opts.identityInto != name:
			return sqlval.Errorf(8107, "IDENTITY_INSERT is already ON for table '%s'. Cannot perform SET operation for table '%s'.", s.opts.identityInto, name)
		default:
			s.opts.identityInto = name
		}
	}
	return nil
}

func (s *Session) waitFor(ctx context.Context, x *tsql.WaitFor, out Sink) error {
	v, err := s.value(ctx, x.Delay, false)
	if err != nil {
		return err
	}
	t, err := sqlval.Cast(v, sqlval.Type{Kind: sqlval.Time, Scale: 3})
	if err != nil || t == nil {
		return sqlval.Errorf(148, "Incorrect time syntax in time string '%v' used with WAITFOR.", v)
	}
	at := t.(time.Time)
	timer := time.NewTimer(at.Sub(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return out.Done(CmdOther, -1, false)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) raise(ctx context.Context, x *tsql.Raise) error {
	number := func(e tsql.Expr, otherwise int64) (int64, error) {
		if e == nil {
			return otherwise, nil
		}
		v, err := s.value(ctx, e, false)
		if err != nil {
			return 0, err
		}
		n, err := sqlval.Cast(v, sqlval.IntType)
		if err != nil || n == nil {
			return otherwise, err
		}
		return n.(int64), nil
	}
	text, err := s.value(ctx, x.Message, false)
	if err != nil {
		return err
	}
	n, err := number(x.Number, 50000)
	if err != nil {
		return err
	}
	class, err := number(x.Class, 16)
	if err != nil {
		return err
	}
	state, err := number(x.State, 1)
	if err != nil {
		return err
	}
	message, err := sqlval.Cast(text, sqlval.NVarCharType(2048))
	if err != nil {
		return err
	}
	m, _ := message.(string)
	return &sqlval.Error{Number: int32(n), Class: uint8(class), State: uint8(state), Message: m}
}
