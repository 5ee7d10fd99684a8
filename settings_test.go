package readsplit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

type tenantKey struct{}

func tenant(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, tenantKey{}, strconv.Itoa(n))
}

func tenantSettings(ctx context.Context) (map[string]string, error) {
	if t, ok := ctx.Value(tenantKey{}).(string); ok {
		return map[string]string{"app.tenant": t, "TimeZone": "Etc/GMT-" + t}, nil
	}
	return nil, nil
}

// rlsSchema is read by a role that row-level security holds for.
const rlsSchema = `
CREATE TABLE notes (id bigserial PRIMARY KEY, tenant text NOT NULL, body text);
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (tenant = current_setting('app.tenant', true));
INSERT INTO notes (tenant, body) SELECT t::text, 'of ' || t FROM generate_series(1, 8) t, generate_series(1, 5);
DO $$ BEGIN CREATE ROLE app LOGIN PASSWORD 'app'; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT ALL ON notes TO app;
GRANT USAGE ON SEQUENCE notes_id_seq TO app;`

type note struct {
	ID     int64
	Tenant string
	Body   string
}

// newTenants opens a database with row-level security as a role that it holds for.
func newTenants(t *testing.T, config gorm.Config, change func(*readsplit.Config)) *testDB {
	t.Helper()
	c := cluster(t)
	admin := newDB(t, c, configured(func(c *readsplit.Config) { c.Replicas = nil }))
	require.NoError(t, admin.Exec(rlsSchema).Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d := newDB(t, c, inDatabase(admin.name), connected("user=app password=app"),
		gormConfigured(func(c *gorm.Config) {
			c.PrepareStmt, c.SkipDefaultTransaction = config.PrepareStmt, config.SkipDefaultTransaction
		}),
		configured(func(rc *readsplit.Config) {
			rc.Settings = tenantSettings
			for i := range rc.Replicas {
				rc.Replicas[i].Dialector = postgres.Open(c.Server(rc.Replicas[i].Name).DSNFor(admin.name) + " user=app password=app")
			}
			if change != nil {
				change(rc)
			}
		}))
	d.eligible(t, "replica1", "replica2")
	return d
}

// tenantsSeen reads all notes that ctx shows and returns whose they are.
func tenantsSeen(t testing.TB, db *gorm.DB) map[string]int {
	var notes []note
	assert.NoError(t, db.Find(&notes).Error)
	seen := map[string]int{}
	for _, n := range notes {
		seen[n.Tenant]++
	}
	return seen
}

// A read never sees the rows of another tenant, on the primary or on a replica,
// whatever ran on its connection before; without a tenant it sees none.
func TestSettingsRowLevelSecurity(t *testing.T) {
	for _, config := range []gorm.Config{{}, {PrepareStmt: true}, {SkipDefaultTransaction: true}} {
		t.Run(fmt.Sprintf("prepare=%v,skip=%v", config.PrepareStmt, config.SkipDefaultTransaction), func(t *testing.T) {
			// Few connections, so that they change hands.
			d := newTenants(t, config, func(c *readsplit.Config) { c.Pool.MaxOpen = 2 })
			pool, err := d.DB.DB()
			require.NoError(t, err)
			pool.SetMaxOpenConns(3)
			var all sync.WaitGroup
			for n := 1; n <= 8; n++ {
				all.Go(func() {
					ctx := tenant(readsplit.WithSession(context.Background(), readsplit.NewSession()), n)
					want := map[string]int{strconv.Itoa(n): 5}
					for i := range 20 {
						switch i % 5 {
						case 0:
							assert.Equal(t, want, tenantsSeen(t, d.WithContext(readsplit.Fresh(ctx))), "primary")
						case 1:
							assert.Empty(t, tenantsSeen(t, d.WithContext(nobody())), "nobody's")
						case 2:
							rolledBack := errors.New("rolled back")
							assert.ErrorIs(t, d.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
								assert.Equal(t, want, tenantsSeen(t, tx), "transaction")
								other := tx.WithContext(tenant(ctx, n%8+1))
								assert.Equal(t, want, tenantsSeen(t, other), "a transaction keeps what it began with")
								return rolledBack
							}), rolledBack)
						case 3:
							assert.NoError(t, d.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
								assert.Equal(t, want, tenantsSeen(t, tx), "read-only transaction")
								return nil
							}, &sql.TxOptions{ReadOnly: true}))
						default:
							assert.Equal(t, want, tenantsSeen(t, d.WithContext(ctx)), "replica")
						}
					}
				})
			}
			all.Wait()
			st := d.plugin.Status()
			assert.Greater(t, st.ReplicaReads, uint64(20), "some of it ran on replicas")

			// Own writes, under the policy.
			ctx := tenant(nobody(), 3)
			require.NoError(t, d.WithContext(ctx).Create(&note{Tenant: "3", Body: "new"}).Error)
			assert.Equal(t, map[string]int{"3": 6}, tenantsSeen(t, d.WithContext(ctx)))
			require.ErrorContains(t, d.WithContext(ctx).Create(&note{Tenant: "4"}).Error, "row-level security")

			// What comes back to the application's pool is as it was.
			pool.SetMaxOpenConns(1)
			require.NoError(t, d.WithContext(readsplit.Fresh(ctx)).First(&note{}).Error)
			var left, zone string
			require.NoError(t, pool.QueryRow("SELECT coalesce(current_setting('app.tenant', true), ''), current_setting('TimeZone')").Scan(&left, &zone))
			assert.Empty(t, left)
			assert.NotContains(t, zone, "GMT-3")
		})
	}
}

// Settings that cannot be had or set fail the statement, on whichever server, and
// nothing runs without them.
func TestSettingsErrors(t *testing.T) {
	refuse := errors.New("no tenant")
	given := map[string]string{}
	var err error
	d := newTenants(t, gorm.Config{}, func(c *readsplit.Config) {
		c.Settings = func(ctx context.Context) (map[string]string, error) {
			if ctx.Value(tenantKey{}) == nil {
				return nil, nil
			}
			return given, err
		}
	})
	ctx := tenant(nobody(), 1)
	for _, on := range []context.Context{ctx, readsplit.Fresh(ctx)} {
		run := func() error { return d.WithContext(on).First(&note{}).Error }
		given, err = nil, refuse
		require.ErrorIs(t, run(), refuse)
		require.ErrorContains(t, run(), "Config.Settings")
		given, err = map[string]string{"Default_Transaction_Read_Only": "off"}, nil
		require.ErrorContains(t, run(), "leave it out")
		given = map[string]string{"session_authorization": "app"}
		require.ErrorContains(t, run(), "return role instead")
		given = map[string]string{"app.tenant": "1", "App.Tenant": "2"}
		require.ErrorContains(t, run(), "twice")
		given = map[string]string{"TimeZone": "Nowhere/Land"}
		require.ErrorContains(t, run(), "cannot be set")
		given = map[string]string{"no setting": "x"}
		require.ErrorContains(t, run(), "cannot be set")
		given = map[string]string{"app.tenant": "1"}
		require.NoError(t, run())
	}
	require.ErrorIs(t, d.WithContext(ctx).First(&note{}, "id = -1").Error, gorm.ErrRecordNotFound)
}

// A panic of the application's is an error of the statement, and costs no
// connection: database/sql would never get it back.
func TestSettingsPanic(t *testing.T) {
	bad := false
	d := newTenants(t, gorm.Config{}, func(c *readsplit.Config) {
		c.Pool.MaxOpen = 2
		c.Settings = func(ctx context.Context) (map[string]string, error) {
			if bad {
				panic("no tenant")
			}
			return tenantSettings(ctx)
		}
	})
	pool, err := d.DB.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(2)
	ctx := tenant(nobody(), 1)
	bad = true
	for range 5 {
		for _, on := range []context.Context{ctx, readsplit.Fresh(ctx)} {
			require.ErrorContains(t, d.WithContext(on).First(&note{}).Error, "Config.Settings panicked: no tenant")
			require.ErrorContains(t, d.WithContext(on).Begin().Error, "Config.Settings panicked: no tenant")
		}
	}
	bad = false
	require.Zero(t, pool.Stats().InUse)
	require.Equal(t, map[string]int{"1": 5}, tenantsSeen(t, d.WithContext(ctx)))
	require.Equal(t, map[string]int{"1": 5}, tenantsSeen(t, d.WithContext(readsplit.Fresh(ctx))))
}

// Tables of one name and different shape, behind one text, on one connection.
func TestSettingsSearchPathOfOtherShape(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(func(c *readsplit.Config) {
		c.Pool.MaxOpen = 1
		c.Settings = func(ctx context.Context) (map[string]string, error) {
			if t, ok := ctx.Value(tenantKey{}).(string); ok {
				return map[string]string{[]string{"search_path", "Search_Path"}[len(t)%2]: "s" + t}, nil
			}
			return nil, nil
		}
	}))
	require.NoError(t, d.Exec("CREATE SCHEMA s1; CREATE SCHEMA s2; CREATE TABLE s1.things (n int); CREATE TABLE s2.things (n text, m int)").Error)
	require.NoError(t, d.Exec("INSERT INTO s1.things VALUES (1); INSERT INTO s2.things VALUES ('2', 2)").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	pool, err := d.DB.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(1)
	const all = "SELECT * FROM things"
	for i := range 6 {
		n := i%2 + 1
		db := d.WithContext(tenant(nobody(), n))
		columns := func(tx *gorm.DB) error {
			var rows []map[string]any
			err := tx.Scan(&rows).Error
			if err == nil {
				assert.Len(t, rows[0], n)
			}
			return err
		}
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return columns(tx.Raw(all)) }))
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return columns(tx.Raw(all)) }, &sql.TxOptions{ReadOnly: true}))
		require.NoError(t, columns(db.Raw("INSERT INTO things (n) VALUES ('7') RETURNING *")))
		require.NoError(t, columns(d.WithContext(readsplit.Fresh(tenant(nobody(), n))).Raw(all)))
	}
}

// A search path decides what a name means, also for statements that were prepared
// under another one.
func TestSettingsSearchPath(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(func(c *readsplit.Config) {
		c.Pool.MaxOpen = 1
		c.Settings = func(ctx context.Context) (map[string]string, error) {
			if t, ok := ctx.Value(tenantKey{}).(string); ok {
				return map[string]string{"search_path": "s" + t}, nil
			}
			return nil, nil
		}
	}), gormConfigured(func(c *gorm.Config) { c.PrepareStmt = true }))
	require.NoError(t, d.Exec("CREATE SCHEMA s1; CREATE SCHEMA s2; CREATE TABLE s1.things (n int); CREATE TABLE s2.things (n text, m int)").Error)
	require.NoError(t, d.Exec("INSERT INTO s1.things VALUES (1)").Error)
	require.NoError(t, d.Exec("INSERT INTO s2.things VALUES ('two', 2)").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	for i := range 12 {
		n := i%2 + 1
		var got []string
		ctx := tenant(nobody(), n)
		if i%3 == 0 {
			ctx = readsplit.Fresh(ctx)
		}
		require.NoError(t, d.WithContext(ctx).Raw("SELECT n::text FROM things").Scan(&got).Error)
		assert.Equal(t, []string{[]string{"1", "two"}[n-1]}, got)
	}
}
