package readsplit_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// What becomes of reads whose group has no replica for them is the group's rule, with a
// reason of its own: out of service, and gone for good.
func TestGroupOtherwise(t *testing.T) {
	for name, tt := range map[string]struct {
		otherwise       groups.Otherwise
		unhealthy, gone answer
	}{
		"the primary":   {groups.Primary, answer{"primary", policy.ReasonGroupOnPrimary}, answer{"primary", policy.ReasonGroupEmpty}},
		"any replica":   {groups.AnyReplica, answer{"replica1", policy.ReasonOutsideGroup}, answer{"replica1", policy.ReasonOutsideGroup}},
		"a typed error": {groups.Refuse, answer{"", policy.ReasonGroupRefused}, answer{"", policy.ReasonGroupRefused}},
	} {
		t.Run(name, func(t *testing.T) {
			x := grouped(t, []groups.Group{{Name: "reports", Otherwise: tt.otherwise, Tables: []any{"books"}, Pool: groups.Pool{MaxOpen: 5}}})
			read := func(ctx context.Context) answer {
				var books []book
				tx := x.WithContext(ctx).Find(&books)
				if tt.otherwise == groups.Refuse && tx.Error != nil {
					require.ErrorIs(t, tx.Error, groups.ErrRefused)
					assert.ErrorContains(t, tx.Error, `group "reports"`)
					return answer{"", policy.ReasonGroupRefused}
				}
				require.NoError(t, tx.Error)
				return answer{books[0].Server, reason(t, tx)}
			}
			require.Equal(t, "replica2", read(nobody()).server)
			require.NoError(t, x.plugin.Drain(limit(t), "replica2"))
			for _, ctx := range []context.Context{nobody(), reports(nobody()), readsplit.Stale(nobody())} {
				assert.Equal(t, tt.unhealthy, read(ctx))
			}
			require.NoError(t, x.plugin.RemoveReplica(limit(t), "replica2"))
			assert.Equal(t, tt.gone, read(nobody()))
			assert.Equal(t, answer{"primary", policy.ReasonFresh}, read(readsplit.Fresh(nobody())), "who asks for the primary gets it")

			st := x.groupOf(t, "reports")
			assert.EqualValues(t, 1, st.Served)
			assert.Equal(t, uint64(3), st.Because[policy.ReasonDrained])
			assert.Zero(t, st.Replicas)
			wants := map[groups.Otherwise][3]uint64{groups.Primary: {0, 4, 0}, groups.AnyReplica: {4, 0, 0}, groups.Refuse: {0, 0, 4}}[tt.otherwise]
			assert.Equal(t, [3]uint64{st.Outside, st.OnPrimary, st.Refused}, wants)
			refused := x.plugin.Status().RefusedReasons[policy.ReasonGroupRefused]
			assert.Equal(t, wants[2], refused)
			if tt.otherwise == groups.AnyReplica {
				r := x.plugin.Status().Replicas[0]
				require.Len(t, r.Groups, 1)
				assert.EqualValues(t, 4, r.Groups[0].Reads, "not in the site's pool there either")
				assert.Equal(t, 5, r.Groups[0].Pool.MaxOpenConnections)
			}
		})
	}
}

// A report that fails on every replica of its group does not fall on the primary where
// the group's rule says so, whatever its replicas said.
func TestGroupOtherwiseAfterFailures(t *testing.T) {
	const schema = `CREATE FUNCTION standby_fails(code text) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN
		IF current_setting('cluster_name') = 'replica2' THEN RAISE EXCEPTION 'not here' USING ERRCODE = code; END IF;
		RETURN current_setting('cluster_name'); END $$`
	for name, tt := range map[string]struct {
		otherwise groups.Otherwise
		code      string
		want      answer
	}{
		"fails, the primary":           {groups.Primary, "58030", answer{"primary", policy.ReasonGroupOnPrimary}},
		"fails, any replica":           {groups.AnyReplica, "58030", answer{"replica1", policy.ReasonOutsideGroup}},
		"fails, an error":              {groups.Refuse, "58030", answer{}},
		"lacks a table, the primary":   {groups.Primary, "42P01", answer{"primary", policy.ReasonSchemaBehind}},
		"lacks a table, any replica":   {groups.AnyReplica, "42P01", answer{"replica1", policy.ReasonOutsideGroup}},
		"lacks a table, an error":      {groups.Refuse, "42P01", answer{}},
		"refuses a write, the primary": {groups.Refuse, "25006", answer{"primary", policy.ReasonRefusedByReplica}},
	} {
		t.Run(name, func(t *testing.T) {
			x := grouped(t, []groups.Group{{Name: "reports", Otherwise: tt.otherwise}}, saidToRead("standby_fails"), configured(func(c *readsplit.Config) { c.Health.Strikes = -1 }))
			x.past(t, schema)
			require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
			var server string
			tx := x.WithContext(reports(nobody())).Raw("SELECT standby_fails(?)", tt.code).Scan(&server)
			if tt.want == (answer{}) {
				require.ErrorIs(t, tx.Error, groups.ErrRefused)
				var said *pgconn.PgError
				require.ErrorAs(t, tx.Error, &said, "the server's own error is not lost")
				assert.Equal(t, tt.code, said.Code)
				assert.EqualValues(t, 1, x.groupOf(t, "reports").Refused)
				return
			}
			require.NoError(t, tx.Error)
			assert.Equal(t, tt.want, answer{server, reason(t, tx)})
		})
	}
}

// Where no other replica is right either, AnyReplica ends on the primary.
func TestGroupOtherwiseNobodyElse(t *testing.T) {
	x := grouped(t, []groups.Group{{Name: "reports", Otherwise: groups.AnyReplica}}, configured(func(c *readsplit.Config) { c.Default = readsplit.PreferPrimary }))
	require.NoError(t, x.plugin.Drain(limit(t), "replica2"))
	assert.Equal(t, answer{"replica1", policy.ReasonOutsideGroup}, booksFrom(t, x.WithContext(reports(nobody()))), "it wanted a replica")
	require.NoError(t, x.plugin.Drain(limit(t), "replica1"))
	assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, booksFrom(t, x.WithContext(reports(nobody()))))
}

// A group may be described before any replica is in it.
func TestGroupOfNobodyYet(t *testing.T) {
	x := newTrap(t, configured(calmly), configured(func(c *readsplit.Config) {
		c.Groups = []groups.Group{{Name: "reports", Otherwise: groups.Refuse}}
		c.Replicas = c.Replicas[:1]
	}))
	tx := x.WithContext(reports(nobody())).Find(&[]book{})
	require.ErrorIs(t, tx.Error, groups.ErrRefused)
	require.NotErrorIs(t, tx.Error, readsplit.ErrUnknownGroup)
	r := x.replicas()[1]
	r.Groups = []string{"reports", "search"}
	require.NoError(t, x.plugin.AddReplica("", r))
	x.bothServe(t)
	assert.Equal(t, "replica2", booksFrom(t, x.WithContext(reports(nobody()))).server)
	assert.Equal(t, "replica2", booksFrom(t, x.WithContext(readsplit.Group(nobody(), "search"))).server, "one that nobody described")
}
