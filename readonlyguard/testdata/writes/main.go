// Command writes must not compile: each line that is marked writes through a type that only reads.
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
	r.Create(&order{})                       // wrong
	r.CreateInBatches([]order{}, 10)         // wrong
	r.Save(&order{})                         // wrong
	r.FirstOrCreate(&order{})                // wrong
	r.Update("id", 1)                        // wrong
	r.Updates(order{})                       // wrong
	r.UpdateColumn("id", 1)                  // wrong
	r.UpdateColumns(order{})                 // wrong
	r.Delete(&order{})                       // wrong
	r.Exec("DELETE FROM orders")             // wrong
	r.Begin()                                // wrong
	r.Migrator()                             // wrong
	r.AutoMigrate(&order{})                  // wrong
	r.Connection(nil)                        // wrong
	r.DB()                                   // wrong
	_ = r.Statement                          // wrong
	_ = r.ConnPool                           // wrong
	_ = r.Config                             // wrong
	_ = r.db                                 // wrong
	r.Where("id = 1").Delete(&order{})       // wrong
	r.Raw("SELECT 1").Exec("SELECT 1")       // wrong
	r.Association("Items").Append(&order{})  // wrong
	r.Association("Items").Replace(&order{}) // wrong
	r.Association("Items").Delete(&order{})  // wrong
	r.Association("Items").Clear()           // wrong
	_ = r.Association("Items").DB            // wrong
	_ = r.First(&order{}).Statement          // wrong
	var asDB *gorm.DB = r                    // wrong
	gorm.G[order](r)                         // wrong
	orders := readonlyguard.Of[order](r)
	orders.Create(ctx, &order{})                // wrong
	orders.CreateInBatches(ctx, nil, 10)        // wrong
	orders.Update(ctx, "id", 1)                 // wrong
	orders.Updates(ctx, order{})                // wrong
	orders.Delete(ctx)                          // wrong
	orders.Exec(ctx, "DELETE FROM orders")      // wrong
	orders.Set()                                // wrong
	orders.Where("id = 1").Delete(ctx)          // wrong
	readonlyguard.RawOf[order](r, "").Exec(ctx) // wrong
	_ = asDB
}
