package readsplit_test

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// primary: writes go to Config.Primary, wherever the gorm.DB was opened.
func (f fieldTest) primary(t *testing.T) {
	dialector := postgres.Open(f.c.Primary().DSNFor(f.database) + " application_name=named")
	base, changed := f.both(t, func(c *readsplit.Config) { c.Primary = dialector })
	name := func(d *testDB) (name string) {
		t.Helper()
		ctx := readsplit.Fresh(nobody())
		require.NoError(t, d.WithContext(ctx).Raw("SELECT current_setting('application_name')").Scan(&name).Error)
		return name
	}
	assert.Empty(t, name(base))
	assert.Equal(t, "named", name(changed))
	require.NoError(t, changed.Transaction(func(tx *gorm.DB) error {
		var name string
		require.NoError(t, tx.Raw("SELECT current_setting('application_name')").Scan(&name).Error)
		assert.Equal(t, "named", name)
		return nil
	}))
}

func (f fieldTest) resolvers(t *testing.T) {
	_, changed := f.both(t, func(c *readsplit.Config) {
		c.Resolvers = []readsplit.Resolver{{Tables: []any{"counters"}, Replicas: c.Replicas[:1]}}
		c.Replicas = c.Replicas[1:]
		c.Resolvers[0].Replicas[0].Dialector = postgres.Open(f.c.Server(c.Resolvers[0].Replicas[0].Name).DSNFor(f.database))
	})
	on := func(query string) (server string) {
		t.Helper()
		require.NoError(t, changed.WithContext(nobody()).Raw(query).Scan(&server).Error)
		return server
	}
	eventually(t, "both replicas to serve", func() bool {
		return on("SELECT current_setting('cluster_name') FROM counters LIMIT 1") == "replica1" && on(whoSQL) == "replica2"
	})
	for range 20 {
		assert.Equal(t, "replica1", on("SELECT current_setting('cluster_name') FROM counters LIMIT 1"))
		assert.Equal(t, "replica2", on(whoSQL))
	}
	tx := changed.WithContext(nobody()).Raw("SELECT n FROM counters LIMIT 1").Scan(new(int))
	decision, _ := readsplit.DecisionOf(tx)
	assert.Equal(t, "counters", decision.Resolver)
	st := changed.plugin.Status()
	require.Len(t, st.Resolvers, 1)
	assert.Equal(t, "counters", st.Resolvers[0].Resolver)
	assert.Greater(t, st.Resolvers[0].ReplicaReads, uint64(20))
}

func (f fieldTest) primaryPool(t *testing.T) {
	dialector := func() gorm.Dialector { return postgres.Open(f.c.Primary().DSNFor(f.database)) }
	changed := newDB(t, f.c, inDatabase(f.database), configured(func(c *readsplit.Config) {
		c.Primary, c.PrimaryPool = dialector(), readsplit.Pool{MaxOpen: 3}
		c.Resolvers = []readsplit.Resolver{
			{Name: "a", Primary: dialector()},
			{Name: "b", Primary: dialector(), PrimaryPool: readsplit.Pool{MaxOpen: 2}},
		}
	}))
	most := map[string]int{}
	changed.plugin.Pools(func(resolver, server string, pool *sql.DB) {
		if server == "primary" {
			most[resolver] = pool.Stats().MaxOpenConnections
		}
	})
	assert.Equal(t, map[string]int{"": 3, "a": 3, "b": 2}, most)
}

func (f fieldTest) notFound(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.NotFound = policy.RecheckOnPrimary })
	on := func(d *testDB) readsplit.Decision {
		t.Helper()
		tx := d.WithContext(nobody()).Table("counters").Where("id = -1").Take(&struct{ N int }{})
		require.ErrorIs(t, tx.Error, gorm.ErrRecordNotFound)
		decision, _ := readsplit.DecisionOf(tx)
		return decision
	}
	eventually(t, "replicas to serve", func() bool { return on(base).Replica })
	eventually(t, "the check", func() bool { return on(changed).Reason == policy.ReasonNotFoundRecheck })
}

// functions: what the application says of a function wins over the catalogue.
func (f fieldTest) functions(name string, reads bool, change func(*readsplit.Config)) func(t *testing.T) {
	return func(t *testing.T) {
		admin := newDB(t, f.c, inDatabase(f.database), configured(func(c *readsplit.Config) { c.Replicas = nil }))
		volatility := map[bool]string{true: "VOLATILE", false: "STABLE"}[reads]
		require.NoError(t, admin.Exec("CREATE FUNCTION "+name+"() RETURNS int LANGUAGE sql AS 'SELECT 1' "+volatility).Error)
		require.NoError(t, f.c.WaitCaughtUp(t.Context()))
		base, changed := f.both(t, change)
		onReplica := func(d *testDB) bool {
			tx := d.WithContext(nobody()).Raw("SELECT " + name + "()").Scan(new(int))
			require.NoError(t, tx.Error)
			decision, _ := readsplit.DecisionOf(tx)
			return decision.Replica
		}
		eventually(t, "the functions to be known", func() bool { return onReplica(base) != reads && onReplica(changed) == reads })
		for range 10 {
			assert.Equal(t, !reads, onReplica(base))
			assert.Equal(t, reads, onReplica(changed))
		}
	}
}

func (f fieldTest) settings(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) {
		c.Settings = func(context.Context) (map[string]string, error) {
			return map[string]string{"app.tenant": "seven"}, nil
		}
	})
	for d, want := range map[*testDB]string{base: "", changed: "seven"} {
		for _, ctx := range []context.Context{nobody(), readsplit.Fresh(nobody())} {
			var got string
			require.NoError(t, d.WithContext(ctx).Raw("SELECT coalesce(current_setting('app.tenant', true), '')").Scan(&got).Error)
			assert.Equal(t, want, got)
		}
	}
}

// TestConfigEveryResolverField changes every field of a resolver.
func TestConfigEveryResolverField(t *testing.T) {
	c := cluster(t)
	admin := newDB(t, c, configured(func(c *readsplit.Config) { c.Replicas = nil }))
	require.NoError(t, admin.Exec("CREATE TABLE things (n int); CREATE TABLE others (n int); INSERT INTO things VALUES (1); INSERT INTO others VALUES (1)").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	dsn := func(server string) gorm.Dialector {
		return postgres.Open(c.Server(server).DSNFor(admin.name) + " application_name=resolver")
	}
	// where returns the server and the pool that a read of a table went to.
	where := func(d *testDB, ctx context.Context, table string) (resolver, server string) {
		t.Helper()
		var name string
		tx := d.WithContext(ctx).Raw(fmt.Sprintf("SELECT current_setting('cluster_name') || '/' || current_setting('application_name') FROM %s", table)).Scan(&name)
		require.NoError(t, tx.Error)
		decision, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		return decision.Resolver, name
	}
	open := func(r readsplit.Resolver) *testDB {
		return newDB(t, c, inDatabase(admin.name), configured(func(c *readsplit.Config) { c.Resolvers = []readsplit.Resolver{r} }))
	}
	tests := map[string]func(*testing.T){
		"Name": func(t *testing.T) {
			d := open(readsplit.Resolver{Name: "named", Tables: []any{"things"}})
			resolver, server := where(d, nobody(), "things")
			assert.Equal(t, []string{"named", "primary/"}, []string{resolver, server})
		},
		"Tables": func(t *testing.T) {
			d := open(readsplit.Resolver{Tables: []any{"things", &other{}}})
			for _, table := range []string{"things", "public.things", "others"} {
				resolver, server := where(d, nobody(), table)
				assert.Equal(t, []string{"things", "primary/"}, []string{resolver, server}, table)
			}
		},
		"Primary": func(t *testing.T) {
			d := open(readsplit.Resolver{Tables: []any{"things"}, Primary: dsn("primary")})
			_, server := where(d, readsplit.Fresh(nobody()), "things")
			assert.Equal(t, "primary/resolver", server)
			_, server = where(d, readsplit.Fresh(nobody()), "others")
			assert.Equal(t, "primary/", server)
		},
		"PrimaryPool": func(t *testing.T) { // with the limit of Config.PrimaryPool, in its own test
			d := open(readsplit.Resolver{Tables: []any{"things"}, Primary: dsn("primary"), PrimaryPool: readsplit.Pool{MaxOpen: 5}})
			d.plugin.Pools(func(resolver, server string, pool *sql.DB) {
				if resolver == "things" {
					assert.Equal(t, 5, pool.Stats().MaxOpenConnections)
				}
			})
		},
		"Replicas": func(t *testing.T) {
			d := open(readsplit.Resolver{Tables: []any{"things"}, Replicas: []readsplit.Replica{{Name: "replica2", Dialector: dsn("replica2")}}})
			eventually(t, "the replica to serve", func() bool {
				_, server := where(d, nobody(), "things")
				return server == "replica2/resolver"
			})
		},
		"Balancer": func(t *testing.T) {
			d := open(readsplit.Resolver{Tables: []any{"things"}, Balancer: lastOf{}, Replicas: []readsplit.Replica{
				{Name: "replica1", Dialector: dsn("replica1")}, {Name: "replica2", Dialector: dsn("replica2")},
			}})
			eventually(t, "both to be right", func() bool {
				_, server := where(d, nobody(), "things")
				return server == "replica2/resolver"
			})
			for range 20 {
				_, server := where(d, nobody(), "things")
				assert.Equal(t, "replica2/resolver", server)
			}
		},
	}
	typ := reflect.TypeFor[readsplit.Resolver]()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		if assert.NotNil(t, tests[name], "Resolver.%s has no test: what has no effect does not exist", name) {
			t.Run(name, tests[name])
		}
	}
	assert.Len(t, tests, typ.NumField())
}

type other struct{ N int }

// lastOf is a balancer that takes the last candidate by name.
type lastOf struct{}

func (lastOf) Name() string { return "last" }

func (lastOf) Pick(_ *policy.Query, c []policy.Candidate) int {
	last := 0
	for i := range c {
		if c[i].Replica.Name > c[last].Replica.Name {
			last = i
		}
	}
	return last
}

// What a session writes through one resolver is read through every other one over
// the same primary, and binds nothing elsewhere.
func TestResolversShareWhatASessionWrote(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless), configured(func(rc *readsplit.Config) {
		rc.Resolvers = []readsplit.Resolver{{Tables: []any{"things"}}}
	}))
	require.NoError(t, d.Exec("CREATE TABLE things (n int); CREATE TABLE others (n int)").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	again := newDB(t, c, inDatabase(d.name), configured(boundless), configured(func(rc *readsplit.Config) {
		rc.Resolvers = []readsplit.Resolver{{
			Tables: []any{"things"}, Primary: postgres.Open(c.Primary().DSNFor(d.name)),
			Replicas: []readsplit.Replica{{Name: "replica1", Dialector: postgres.Open(c.Server("replica1").DSNFor(d.name))}},
		}}
	}))
	replicasServe(t, again.WithContext(nobody()))
	count := func(ctx context.Context, table string) (n int) {
		t.Helper()
		require.NoError(t, again.WithContext(ctx).Raw("SELECT count(*) FROM "+table).Scan(&n).Error)
		return n
	}
	ctx := nobody()
	eventually(t, "both to serve", func() bool {
		tx := again.WithContext(nobody()).Raw("SELECT count(*) FROM things").Scan(new(int))
		decision, _ := readsplit.DecisionOf(tx)
		return decision.Replica
	})
	defer still(t, c)()
	require.NoError(t, again.WithContext(ctx).Exec("INSERT INTO things VALUES (1)").Error)
	require.NoError(t, again.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return tx.Exec("INSERT INTO others VALUES (1)").Error
	}))
	assert.Equal(t, 1, count(ctx, "things"))
	assert.Equal(t, 1, count(ctx, "others"))
	require.NoError(t, again.WithContext(ctx).Exec("INSERT INTO others SELECT n FROM things").Error)
	assert.Equal(t, 2, count(ctx, "others"))
	assert.Zero(t, count(readsplit.Stale(nobody()), "things"), "another session reads what a replica has")
}
