// Command reads must compile: it uses the types that only reads, as the command writes does.
package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/readonlyguard"
)

type order struct{ ID int64 }

func main() {
	var db *gorm.DB
	ctx := context.Background()
	r := readonlyguard.NewReader(db)
	r.Where("id = 1").First(&order{})
	_ = r.Association("Items").Find(&order{})
	orders := readonlyguard.Of[order](r)
	_, _ = orders.Where("id = 1").Find(ctx)
	_, _ = readonlyguard.RawOf[order](r, "SELECT 1").Find(ctx)
}
