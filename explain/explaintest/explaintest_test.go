package explaintest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/explain/explaintest"
	"github.com/readsplit/readsplit/policy"
)

type order struct{ ID int64 }

// failed is a test that fails.
type failed struct {
	testing.TB
	text string
}

func (*failed) Helper() {}

func (f *failed) Fatalf(format string, args ...any) {
	if f.text == "" {
		f.text = fmt.Sprintf(format, args...)
	}
}

// Servers that nobody can reach are enough: a question for them would fail.
func unreachable(t *testing.T) *gorm.DB {
	t.Helper()
	const nowhere = "host=127.0.0.1 port=1 user=nobody dbname=nothing connect_timeout=1 sslmode=disable"
	db, err := gorm.Open(postgres.Open(nowhere), &gorm.Config{DisableAutomaticPing: true, Logger: logger.Discard})
	require.NoError(t, err)
	p := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{{Name: "replica", Dialector: postgres.Open(nowhere)}}})
	require.NoError(t, db.Use(p))
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	return db
}

func TestAssertions(t *testing.T) {
	db := unreachable(t)
	find := func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]order{}) }
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())

	explaintest.UsesPrimary(t, readsplit.Fresh(ctx), db, policy.ReasonFresh, find)
	explaintest.UsesPrimary(t, ctx, db, policy.ReasonWrite, func(tx *gorm.DB) *gorm.DB { return tx.Create(&order{ID: 1}) })

	var f failed
	explaintest.UsesPrimary(&f, readsplit.Fresh(ctx), db, policy.ReasonWrite, find)
	assert.Contains(t, f.text, "statement 1 of 1 does not go to the primary for the reason write:\nSELECT * FROM \"orders\"\n")
	assert.Contains(t, f.text, policy.ReasonFresh.Sentence())

	f = failed{}
	explaintest.MayUseReplica(&f, readsplit.Fresh(ctx), db, find)
	assert.Contains(t, f.text, "no replica may serve statement 1 of 1:\nSELECT")

	f = failed{}
	explaintest.MayUseReplica(&f, ctx, db, func(tx *gorm.DB) *gorm.DB { return tx })
	assert.Contains(t, f.text, "nothing was explained")

	f = failed{}
	explaintest.MayUseReplica(&f, ctx, db, func(*gorm.DB) *gorm.DB { return &gorm.DB{Error: gorm.ErrInvalidField} })
	assert.Contains(t, f.text, gorm.ErrInvalidField.Error())

	report, err := readsplit.Explain(ctx, db, find)
	require.NoError(t, err)
	assert.Equal(t, []string{"primary"}, report.Statements[0].Servers)
	assert.False(t, report.Statements[0].MayRunOn("replica"))
}

func ExampleMayUseReplica() {
	var t *testing.T // of the test
	var db *gorm.DB  // of the application, with readsplit
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())

	explaintest.MayUseReplica(t, ctx, db, func(tx *gorm.DB) *gorm.DB {
		return tx.Preload("Lines").Find(&[]order{})
	})
	explaintest.UsesPrimary(t, readsplit.Fresh(ctx), db, policy.ReasonFresh, func(tx *gorm.DB) *gorm.DB {
		return tx.Find(&[]order{})
	})
}
