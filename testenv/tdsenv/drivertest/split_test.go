package drivertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// note is what the tests of the plugin write and read.
type note struct {
	ID   uint
	Text string `gorm:"size:50"`
}

// heard keeps what the plugin warns of.
type heard struct {
	logger.Interface
	mu    sync.Mutex
	lines []string
}

func (h *heard) LogMode(logger.LogLevel) logger.Interface { return h }

func (h *heard) Warn(_ context.Context, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...)
}

// splitting is a gorm.DB with the plugin, over a cluster.
type splitting struct {
	*gorm.DB
	plugin *readsplit.Plugin
	log    *heard
}

// split opens the primary through the listener, and each secondary by its own address.
func split(t *testing.T, c *tdsenv.Cluster, change func(*readsplit.Config)) *splitting {
	t.Helper()
	s := &splitting{log: &heard{Interface: logger.Discard}}
	primary := c.Primary().DSN()
	if c.Listener() != nil {
		primary = c.Listener().DSN()
	}
	var err error
	s.DB, err = gorm.Open(sqlserver.New(sqlserver.Config{Conn: pool(t, primary)}), &gorm.Config{Logger: s.log})
	require.NoError(t, err)
	require.NoError(t, s.AutoMigrate(&note{}))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	cfg := readsplit.Config{SampleTimeout: 10 * time.Second, MaxSampleAge: 20 * time.Second, MaxLag: readsplit.Off, StickyWindow: window, SampleEvery: 20 * time.Millisecond}
	for _, r := range c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: sqlserver.Open(r.ReadOnlyDSN())})
	}
	if change != nil {
		change(&cfg)
	}
	s.plugin = readsplit.New(cfg)
	require.NoError(t, s.Use(s.plugin))
	t.Cleanup(func() { require.NoError(t, s.plugin.Close(limit(t))) })
	return s
}

// window is for how long a write keeps its session on the primary here.
const window = 700 * time.Millisecond

// readBy reads who serves the reads of a context now, and why.
func readBy(t *testing.T, ctx context.Context, db *gorm.DB) (server string, reason policy.Reason) {
	t.Helper()
	return readByQuery(t, ctx, db, "SELECT @@SERVERNAME")
}

func readByQuery(t *testing.T, ctx context.Context, db *gorm.DB, query string) (server string, reason policy.Reason) {
	t.Helper()
	var name string
	tx := db.WithContext(ctx).Raw(query).Scan(&name)
	require.NoError(t, tx.Error)
	d, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	return name, d.Reason
}

// until waits until the reads of a context are served for a reason.
func until(t *testing.T, ctx context.Context, db *gorm.DB, want policy.Reason) (server string) {
	t.Helper()
	var reason policy.Reason
	require.Eventually(t, func() bool {
		server, reason = readBy(t, ctx, db)
		return reason == want
	}, 30*time.Second, 5*time.Millisecond, "want %v, which was %v last", want, &reason)
	return server
}

func session(t *testing.T) context.Context {
	return readsplit.WithSession(limit(t), readsplit.NewSession())
}

// As long as the window lasts, a position that has passed changes nothing.
func TestWindowOutlastsPosition(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
	db := split(t, c, func(cfg *readsplit.Config) { cfg.StickyWindow = time.Hour })
	until(t, session(t), db.DB, policy.ReasonCaughtUp)
	ctx := session(t)
	require.NoError(t, db.WithContext(ctx).Create(&note{Text: "mine"}).Error)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	server, reason := readBy(t, ctx, db.DB)
	require.Equal(t, policy.ReasonStickyWindow, reason)
	require.Equal(t, c.Primary().Name(), server)
}

// sticks reads, and requires that it is on the primary if the window of a write that
// began then is not over.
func sticks(t *testing.T, ctx context.Context, db *gorm.DB, began time.Time) {
	t.Helper()
	if _, reason := readBy(t, ctx, db); time.Since(began) < window {
		require.Equal(t, policy.ReasonStickyWindow, reason)
	}
}
