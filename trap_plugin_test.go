package readsplit_test

import (
	"context"
	"io"
	"math"
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// order returns the functions that a processor of GORM's runs, in their order.
func order(t *testing.T, processor any) []string {
	t.Helper()
	fns := reflect.ValueOf(processor).Elem().FieldByName("fns")
	require.True(t, fns.IsValid(), "GORM has moved its compiled callbacks")
	var names []string
	for i := range fns.Len() {
		name := runtime.FuncForPC(fns.Index(i).Pointer()).Name()
		name = name[strings.LastIndex(name, "/")+1:]
		for _, prefix := range []string{"readsplit.(*Plugin).", "readonlyguard.(*guard).", "callbacks.", "RegisterDefaultCallbacks."} {
			name = strings.TrimPrefix(name, prefix)
		}
		names = append(names, strings.TrimSuffix(name, "-fm"))
	}
	return names
}

func TestT06CallbackOrder(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		require.Equal(t, []string{"query", "routeQuery", "wishes", "Query", "settleRead", "Preload", "AfterQuery", "restore"}, order(t, x.Callback().Query()))
		require.Equal(t, []string{"row", "routeRow", "RowQuery", "restore"}, order(t, x.Callback().Row()))
		require.Equal(t, []string{"exec", "routeRaw", "RawExec", "restore"}, order(t, x.Callback().Raw()))
		for name, c := range map[string]struct {
			processor  any
			tx, no, in string // what routing must precede, and settling
		}{
			"create": {x.Callback().Create(), "BeginTransaction", "BeforeCreate", "SaveAfterAssociations"},
			"update": {x.Callback().Update(), "BeginTransaction", "SetupUpdateReflectValue", "SaveAfterAssociations"},
			"delete": {x.Callback().Delete(), "BeginTransaction", "BeforeDelete", "AfterDelete"},
		} {
			names := order(t, c.processor)
			require.Equal(t, []string{"write", "routeWrite"}, names[:2], name)
			want := c.tx
			if x.SkipDefaultTransaction {
				want = c.no
			}
			require.Equal(t, want, names[2], name)
			require.Equal(t, "restoreWrite", names[len(names)-1], name)
			settle := 0
			for i, n := range names {
				if n == "settleWrite" {
					settle = i
				}
			}
			require.Positive(t, settle, name)
			require.True(t, strings.HasPrefix(names[settle+1], c.in), "%s: %v", name, names)
		}
	})
}

func TestT07MissingCallbacks(t *testing.T) {
	x := newTrap(t)
	db := openGORM(t, x, false)
	require.NoError(t, db.Callback().Query().Remove("gorm:preload"))
	require.NoError(t, db.Callback().Row().Remove("gorm:row"))
	err := db.Use(readsplit.New(readsplit.Config{Replicas: x.replicas()}))
	require.ErrorContains(t, err, `"gorm:preload"`)
	require.ErrorContains(t, err, `"gorm:row"`)

	// What is not needed may be gone.
	db = openGORM(t, x, false)
	require.NoError(t, db.Callback().Create().Remove("gorm:save_after_associations"))
	require.NoError(t, db.Callback().Delete().Remove("gorm:after_delete"))
	p := readsplit.New(readsplit.Config{MaxLag: readsplit.Off, MaxSampleAge: longNewsAge, SampleTimeout: 10 * time.Second, Replicas: x.replicas()})
	require.NoError(t, db.Use(p))
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	eventually(t, "reads go to a replica", func() bool { return isReplica(served(t, db)) })
	x.stale(t)
	db = db.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
	reads(t, db, false, "one")
	require.NoError(t, db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&book{Title: "three"}).Error)
	reads(t, db, true, "one", "two", "three")
}

func TestT08TwoRouters(t *testing.T) {
	resolver := func(x *trap) gorm.Plugin {
		return dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{postgres.Open(x.dsn("replica1"))}})
	}
	t.Run("dbresolver after", func(t *testing.T) {
		x := newTrap(t)
		err := x.Use(resolver(x))
		require.ErrorContains(t, err, "readsplit: this plugin is in use already")
		require.ErrorContains(t, err, "dbresolver")
		reads(t, x.DB, false, "one") // and goes on working
	})
	t.Run("dbresolver before", func(t *testing.T) {
		x := newTrap(t)
		db := openGORM(t, x, false)
		require.NoError(t, db.Use(resolver(x)))
		p := readsplit.New(readsplit.Config{Replicas: x.replicas()})
		err := db.Use(p)
		require.ErrorContains(t, err, "readsplit: dbresolver is in use on this gorm.DB")
		require.ErrorContains(t, err, "remove its db.Use")
		require.NoError(t, p.Close(context.Background()))
	})
	t.Run("the same plugin twice", func(t *testing.T) {
		x := newTrap(t)
		other := openGORM(t, x, false)
		require.ErrorContains(t, other.Use(x.plugin), "readsplit: this plugin is in use already: make one with New for each gorm.DB")
		require.ErrorIs(t, x.Use(x.plugin), gorm.ErrRegistered)
		reads(t, x.DB, false, "one")
	})
}

// once is a plugin that counts its initialisations.
type once struct{ n int }

func (*once) Name() string                { return "once" }
func (o *once) Initialize(*gorm.DB) error { o.n++; return nil }

// doorway forwards connections to a server once it is opened; until then nobody
// listens there.
type doorway struct {
	addr string
	to   *testenv.Server

	listener net.Listener
	conns    sync.WaitGroup
}

func newDoorway(t *testing.T, to *testenv.Server) *doorway {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &doorway{addr: l.Addr().String(), to: to}
	require.NoError(t, l.Close())
	t.Cleanup(func() {
		if d.listener != nil {
			_ = d.listener.Close()
			d.conns.Wait()
		}
	})
	return d
}

func (d *doorway) open(t *testing.T) {
	t.Helper()
	var err error
	d.listener, err = net.Listen("tcp", d.addr)
	require.NoError(t, err)
	d.conns.Go(func() {
		for {
			in, err := d.listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", d.to.Addr())
			if err != nil {
				_ = in.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
				d.conns.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
					_ = pair[1].Close()
				})
			}
		}
	})
}

func TestT10ReplicasAreOpenedApart(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		x := newTrap(t, prepareStmt(prepared))
		db := openGORM(t, x, prepared)
		counted := &once{}
		require.NoError(t, db.Use(counted))
		door := newDoorway(t, x.cluster.Replica(0))
		_, port, err := net.SplitHostPort(door.addr)
		require.NoError(t, err)
		fields := strings.Fields(x.dsn("replica1"))
		for i, f := range fields {
			if strings.HasPrefix(f, "port=") {
				fields[i] = "port=" + port
			}
		}
		p := readsplit.New(readsplit.Config{MaxLag: readsplit.Off, Replicas: []readsplit.Replica{
			{Name: "late", Dialector: postgres.Open(strings.Join(fields, " "))},
		}})
		store := db.ConnPool
		require.NoError(t, db.Use(p), "a dead replica is no error")
		t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
		require.Equal(t, 1, counted.n, "no plugin is initialised again")
		if prepared {
			require.Same(t, store, db.ConnPool, "the store of prepared statements stays where GORM looks for it")
			require.Same(t, store.(*gorm.PreparedStmtDB).Stmts, db.Session(&gorm.Session{PrepareStmt: true}).ConnPool.(*gorm.PreparedStmtDB).Stmts)
		}
		require.Equal(t, "primary", served(t, db))
		require.False(t, p.Status().Replicas[0].Up)

		door.open(t)
		eventually(t, "the replica joins", func() bool { return served(t, db) == "replica1" })
		require.True(t, p.Status().Replicas[0].Up)
		require.Equal(t, 1, counted.n)
	}
}

// A statement through GORM touches neither its settings nor the instance's,
// which allocate at the first touch.
func TestT32HotPath(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		settings := func(tx *gorm.DB) (n int) {
			tx.Statement.Settings.Range(func(any, any) bool { n++; return true })
			return n
		}
		tx := x.Find(&[]book{})
		require.NoError(t, tx.Error)
		require.Zero(t, settings(tx))
		tx = x.Exec("DELETE FROM books WHERE false")
		require.NoError(t, tx.Error)
		require.Zero(t, settings(tx))
		tx = x.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&book{Title: "x"})
		require.NoError(t, tx.Error)
		require.Zero(t, settings(tx))

		// To be routed costs a read one allocation, and one more where its
		// statement is prepared.
		allocations := func(db *gorm.DB) float64 {
			var b book
			read := func() {
				b = book{}
				require.NoError(t, db.First(&b, 1).Error)
			}
			for range 20 {
				read()
			}
			return testing.AllocsPerRun(200, read)
		}
		// Under the race detector sync.Pool forgets by chance, which is no cost of ours.
		plain, bare, routed := openGORM(t, x, x.PrepareStmt), 0.0, math.Inf(1)
		for range 3 {
			bare, routed = max(bare, allocations(plain)), min(routed, allocations(x.DB))
		}
		require.LessOrEqual(t, routed, bare+2)
	}, configured(func(c *readsplit.Config) {
		// Few samples, since theirs are counted too.
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow = time.Second, 10*time.Second, time.Minute
	}))
}
