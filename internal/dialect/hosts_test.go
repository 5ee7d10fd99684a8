package dialect_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/internal/dialect"
)

// wrapped is a dialector around another one, as plugins make them.
type wrapped struct{ gorm.Dialector }

func (w wrapped) Unwrap() gorm.Dialector { return w.Dialector }

// The hosts that a DSN names, in both of its forms, are what pgx would connect to,
// one after the other.
func TestHostsAreThoseOfTheDriver(t *testing.T) {
	for dsn, names := range map[string][]string{
		"host=a,b,c port=1,2,3 user=u password=p dbname=d":                        {"a:1", "b:2", "c:3"},
		"host=a,b port=6432 user=u":                                               {"a:6432", "b:6432"},
		"host=a,b user=u":                                                         {"a:5432", "b:5432"},
		"host=a,b port=1, user=u":                                                 {"a:1", "b:5432"},
		"host='a,b' port = '1,2' password='it\\'s = x' user=u":                    {"a:1", "b:2"},
		`host=a,b password=back\ slash\\ user=u`:                                  {"a:5432", "b:5432"},
		"host=/tmp,/run/pg port=1,2 user=u":                                       {"/tmp:1", "/run/pg:2"},
		"host=::1,fe80::2 port=1,2 user=u":                                        {"[::1]:1", "[fe80::2]:2"},
		"host=a,b target_session_attrs=read-write user=u":                         {"a:5432", "b:5432"},
		"host=a target_session_attrs=standby user=u":                              {"a:5432"},
		"host=a user=u":                                                           {"a:5432"},
		"user=u TimeZone=Europe/Berlin host=a,b":                                  {"a:5432", "b:5432"},
		"postgres://u:p@a:1,b:2,c:3/d?sslmode=disable":                            {"a:1", "b:2", "c:3"},
		"postgresql://u:p@a,b/d":                                                  {"a:5432", "b:5432"},
		"postgres://u@[::1]:1,[2001:db8::1]:2/d?target_session_attrs=read-write":  {"[::1]:1", "[2001:db8::1]:2"},
		"postgres://u:p@/d?host=/tmp,/run&port=1,2&application_name=a%20b":        {"/tmp:1", "/run:2"},
		"postgres://u:p@a:1/d?host=b,c":                                           {"b:1", "c:1"},
		"postgres://u:p%40x@%2Ftmp,b:2/d":                                         {"/tmp:5432", "b:2"},
		"postgres://a:1,b:2":                                                      {"a:1", "b:2"},
		"postgres://a:1,b:2?sslmode=disable&target_session_attrs=prefer-standby":  {"a:1", "b:2"},
		"postgres://u@a:1/d":                                                      {"a:1"},
		"host=a,b,c port=5432 user=u sslmode=disable application_name='one, two'": {"a:5432", "b:5432", "c:5432"},
	} {
		t.Run(dsn, func(t *testing.T) {
			all, err := pgx.ParseConfig(dsn)
			require.NoError(t, err)
			var tried []string
			add := func(host string, port uint16) {
				if s := host + string(rune(port)); len(tried) == 0 || tried[len(tried)-1] != s {
					tried = append(tried, s) // once, not for each way of encrypting
				}
			}
			add(all.Host, all.Port)
			for _, f := range all.Fallbacks {
				add(f.Host, f.Port)
			}

			given := postgres.New(postgres.Config{DSN: dsn, PreferSimpleProtocol: true})
			hosts := dialect.Hosts(wrapped{given})
			require.Len(t, hosts, len(names))
			require.Len(t, tried, len(names))
			for i, h := range hosts {
				assert.Equal(t, names[i], h.Name)
				one, err := pgx.ParseConfig(dialect.Field(h.Dialector, "DSN").String())
				require.NoError(t, err)
				assert.Equal(t, tried[i], one.Host+string(rune(one.Port)))
				for _, f := range one.Fallbacks {
					assert.Equal(t, one.Host, f.Host)
				}
				assert.Nil(t, one.ValidateConnect, "a server of any role can be asked")
				assert.Equal(t, all.User, one.User)
				assert.Equal(t, all.Password, one.Password)
				assert.Equal(t, all.Database, one.Database)
				assert.Equal(t, all.RuntimeParams, one.RuntimeParams)
				assert.True(t, dialect.Field(h.Dialector, "PreferSimpleProtocol").Bool(), "the rest of the configuration stays")
			}
			assert.Equal(t, dsn, dialect.Field(given, "DSN").String(), "the application's own dialector is not changed")
		})
	}
}

func TestHostsOfTheEnvironment(t *testing.T) {
	t.Setenv("PGHOST", "x,y")
	t.Setenv("PGPORT", "1,2")
	t.Setenv("PGTARGETSESSIONATTRS", "read-write")
	hosts := dialect.Hosts(postgres.Open("user=u"))
	require.Len(t, hosts, 2)
	for i, want := range []string{"x:1", "y:2"} {
		assert.Equal(t, want, hosts[i].Name)
		one, err := pgx.ParseConfig(dialect.Field(hosts[i].Dialector, "DSN").String())
		require.NoError(t, err)
		assert.Nil(t, one.ValidateConnect)
		assert.Equal(t, hosts[i].Name[:1], one.Host)
	}
}

func TestNoHosts(t *testing.T) {
	for name, d := range map[string]gorm.Dialector{
		"no DSN that is understood": postgres.Open("host=a,b port"),
		"quotes that do not end":    postgres.Open("host='a,b"),
		"ports for other hosts":     postgres.Open("host=a,b,c port=1,2"),
		"a bracket that stays open": postgres.Open("postgres://[::1,b/d"),
		"a pool of the application": postgres.New(postgres.Config{DSN: "host=a,b", Conn: &gorm.PreparedStmtDB{}}),
	} {
		assert.Nil(t, dialect.Hosts(d), name)
	}
}

// A dialector that is no pointer is copied too.
func TestHostsOfADialectorByValue(t *testing.T) {
	given := postgres.Dialector{Config: &postgres.Config{DSN: "host=a,b user=u"}}
	hosts := dialect.Hosts(given)
	require.Len(t, hosts, 2)
	assert.IsType(t, given, hosts[0].Dialector)
	assert.NotEqual(t, dialect.Field(hosts[0].Dialector, "DSN").String(), dialect.Field(hosts[1].Dialector, "DSN").String())
	assert.Equal(t, "host=a,b user=u", given.DSN)
}
