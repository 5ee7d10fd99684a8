package shop

import (
	"context"
	"fmt"

	"gorm.io/gorm"
)

// Open makes the tables and fills the shelves. db is the primary, and nothing else.
func Open(ctx context.Context, db *gorm.DB) error {
	db = db.WithContext(ctx)
	if err := db.AutoMigrate(&Customer{}, &Product{}, &CartLine{}, &Order{}, &OrderLine{}); err != nil {
		return fmt.Errorf("shop: make the tables: %w", err)
	}
	products := teas()
	if err := db.Create(&products).Error; err != nil {
		return fmt.Errorf("shop: fill the shelves: %w", err)
	}
	return nil
}

// packets is how many of each there are: more than anybody will buy here.
const packets = 1_000_000

func teas() (products []Product) {
	for _, t := range []struct {
		name, kind, blurb string
		cents             int64
	}{
		{"Assam Hills", "black", "Malty and strong, takes milk well.", 640},
		{"Bai Mudan", "white", "Soft, with a note of peony.", 1290},
		{"Breakfast Blend", "black", "Assam and Ceylon, for early hours.", 520},
		{"Chamomile", "herbal", "Whole flowers, for the evening.", 480},
		{"Darjeeling First Flush", "black", "Light and flowery, of this spring.", 1450},
		{"Dong Ding", "oolong", "Rolled leaves, a little roasted.", 1180},
		{"Earl Grey", "black", "With oil of real bergamot.", 590},
		{"Genmaicha", "green", "Green tea with toasted rice.", 720},
		{"Gunpowder", "green", "Tight pearls, the base of mint tea.", 460},
		{"Jasmine Pearls", "green", "Scented six times with fresh flowers.", 1390},
		{"Keemun", "black", "Cocoa and a little smoke.", 890},
		{"Lapsang Souchong", "black", "Dried over pine fires.", 840},
		{"Lemon Verbena", "herbal", "Clear and fresh, hot or cold.", 510},
		{"Mint", "herbal", "Spearmint, cut large.", 450},
		{"Rooibos", "herbal", "Red, round, without caffeine.", 490},
		{"Sencha", "green", "Steamed, grassy, bright.", 780},
		{"Silver Needle", "white", "Buds and nothing else.", 1690},
		{"Tie Guan Yin", "oolong", "Orchid, long in the mouth.", 1240},
	} {
		products = append(products, Product{Name: t.name, Kind: t.kind, Blurb: t.blurb, Cents: t.cents, Stock: packets})
	}
	return products
}
