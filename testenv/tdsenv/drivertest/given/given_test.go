package given_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/conformance"
	"github.com/readsplit/readsplit/testenv/tdsenv"
	"github.com/readsplit/readsplit/testenv/tdsenv/drivertest/given"
)

// double names the servers of the double as somebody names real ones.
func double(c *tdsenv.Cluster) map[string]string {
	env := map[string]string{given.EnvPrimary: c.Listener().DSN(), given.EnvAdminGroup: "ag"}
	for _, r := range c.Replicas() {
		name := "secondary" + strings.TrimPrefix(r.Name(), "SQL")
		env[given.EnvReplicas] += name + "=" + r.ReadOnlyDSN() + "\n"
		env[given.EnvAdminReplicas] += name + "=" + r.DSNFor("master") + "\n"
	}
	return env
}

// What runs on real servers runs here against the double, by nothing but its DSNs, and leaves
// unproven what nobody can do to a real server.
func TestAdapter(t *testing.T) {
	env := double(tdsenv.Start(t, tdsenv.Config{}))
	b, closeAll, err := given.New(t.Context(), func(name string) string { return env[name] })
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, closeAll()) })
	require.Equal(t, []string{"SQL1", "SQL2", "SQL3"}, b.Servers)
	var lacking []string
	for _, line := range conformance.Run(t, b) {
		if what, ok := strings.CutPrefix(line, "not proven here: "); ok {
			lacking = append(lacking, what)
		}
	}
	require.Equal(t, []string{
		"marks of a context (needs a replica that stands still)",
		"bounds on staleness (needs a replica that stands still)",
		"writes that cannot be seen (needs a replica that stands still)",
		"what each server is sent (needs what each server is sent)",
		"errors by their number (needs errors on command)",
		"nothing is run again inside of a transaction (needs errors on command)",
		"errors in the middle of the rows (needs errors on command)",
		"a schema that is not there yet (needs a replica that stands still)",
		"severed connections (needs connections that are severed)",
		"a COMMIT that nobody acknowledges (needs a COMMIT that nobody acknowledges)",
		"a replica that dies (needs a replica that dies and comes back)",
	}, lacking)
}

// What is missing, or is not what it is said to be, is said, and no DSN with it.
func TestAdapterRefusals(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{})
	for what, change := range map[string]func(env map[string]string){
		"are not both set":                  func(env map[string]string) { delete(env, given.EnvPrimary) },
		"READSPLIT_SQLSERVER_REPLICAS to a": func(env map[string]string) { delete(env, given.EnvReplicas) },
		"line 1: it is no name=DSN":         func(env map[string]string) { env[given.EnvReplicas] = c.Replica(0).ReadOnlyDSN() },
		"line 2: the name a is there twice": func(env map[string]string) { env[given.EnvReplicas] = "a=b\na=c" },
		"is READ_WRITE, and must be READ_ONLY": func(env map[string]string) {
			env[given.EnvReplicas] = "secondary2=" + c.Primary().ReadOnlyDSN()
		},
		"the primary (SQL2) is READ_ONLY": func(env map[string]string) { env[given.EnvPrimary] = c.Replica(0).DSN() },
		"which another DSN leads to already": func(env map[string]string) {
			env[given.EnvReplicas] = "a=" + c.Replica(0).ReadOnlyDSN() + "\nb=" + c.Replica(0).ReadOnlyDSN()
		},
		"does not name each replica": func(env map[string]string) { env[given.EnvAdminReplicas] = "x=" + c.Replica(0).DSN() },
		"is set without":             func(env map[string]string) { delete(env, given.EnvAdminReplicas) },
		"does not answer": func(env map[string]string) {
			env[given.EnvPrimary] = strings.Replace(c.Primary().DSN(), c.Password(), "wrong", 1)
		},
	} {
		env := double(c)
		change(env)
		_, _, err := given.New(t.Context(), func(name string) string { return env[name] })
		require.ErrorContains(t, err, what)
		require.NotContains(t, err.Error(), c.Password())
	}
}
