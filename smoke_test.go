package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

type item struct {
	ID   int64
	Name string
}

func TestSmoke(t *testing.T) {
	c := testenv.Start(t)
	db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{})
	require.NoError(t, err)
	p := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
		{Name: "pg2", Dialector: postgres.Open(c.Replica(0).DSN())},
		{Name: "pg3", Dialector: postgres.Open(c.Replica(1).DSN())},
	}})
	begin := time.Now()
	require.NoError(t, db.Use(p))
	t.Log("use", time.Since(begin))
	defer p.Close(context.Background())
	require.NoError(t, db.AutoMigrate(&item{}))
	st := p.Status()
	t.Logf("%+v", st)
	miss, reps := 0, 0
	reasons := map[string]int{}
	begin = time.Now()
	for i := 0; i < 1000; i++ {
		it := item{Name: "x"}
		require.NoError(t, db.Create(&it).Error)
		var got item
		tx := db.Limit(1).Find(&got, it.ID)
		require.NoError(t, tx.Error)
		if got.ID == 0 {
			miss++
		}
		d, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		reasons[d.Reason.String()]++
		if d.Replica {
			reps++
		}
	}
	t.Log("loop", time.Since(begin)/1000, "miss", miss, "replica", reps, reasons)
	t.Logf("%+v", p.Status())
}
