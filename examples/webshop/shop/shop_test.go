package shop_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/examples/webshop/shop"
	"github.com/readsplit/readsplit/testenv"
)

var db *gorm.DB

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run has one server for all tests: the shop knows no more of them.
func run(m *testing.M) int {
	ctx := context.Background()
	cluster, err := testenv.New(ctx, testenv.Config{Replicas: -1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer cluster.Close(ctx)
	if db, err = gorm.Open(postgres.Open(cluster.Primary().DSN()), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)}); err == nil {
		err = shop.Open(ctx, db)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func TestOrders(t *testing.T) {
	ctx := t.Context()
	carts, checkout, orders := shop.NewCarts(db), shop.NewCheckout(db), shop.NewOrders(db)
	key := rand.Text() // of this run: the database may have seen others
	ada := signIn(t, "Ada "+key)
	again := signIn(t, "Ada "+key)
	assert.Equal(t, ada, again, "whoever comes back is who they were")

	_, err := checkout.Cart(ctx, ada.ID, key+"-0")
	require.ErrorIs(t, err, shop.ErrCartEmpty)

	require.NoError(t, carts.Add(ctx, ada.ID, 1, 1))
	require.NoError(t, carts.Add(ctx, ada.ID, 1, 2))
	require.NoError(t, carts.Add(ctx, ada.ID, 2, 1))
	require.NoError(t, carts.Add(ctx, ada.ID, 3, 1))
	require.NoError(t, carts.Remove(ctx, ada.ID, 3))
	lines, err := carts.Lines(ctx, ada.ID)
	require.NoError(t, err)
	require.Len(t, lines, 2)
	assert.EqualValues(t, 3, lines[0].Quantity)
	assert.EqualValues(t, 3*640, lines[0].Cents())
	before := stock(t, 1)

	order, err := checkout.Cart(ctx, ada.ID, key+"-1")
	require.NoError(t, err)
	assert.EqualValues(t, 3*640+1290, order.Cents)
	assert.Equal(t, before-3, stock(t, 1))
	lines, err = carts.Lines(ctx, ada.ID)
	require.NoError(t, err)
	assert.Empty(t, lines, "what was ordered is in the cart no more")

	twice, err := checkout.Cart(ctx, ada.ID, key+"-1")
	require.NoError(t, err)
	assert.Equal(t, order.ID, twice.ID, "the form was sent twice, and is one order")
	assert.Equal(t, before-3, stock(t, 1))

	second, err := checkout.One(ctx, ada.ID, key+"-2", 2, 1)
	require.NoError(t, err)
	list, err := orders.Of(ctx, ada.ID)
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, []int64{second.ID, order.ID}, []int64{list[0].ID, list[1].ID}, "the newest first")
	require.Len(t, list[1].Lines, 2)
	assert.Equal(t, "Assam Hills", list[1].Lines[0].Product.Name)

	others, err := orders.Of(ctx, signIn(t, "Grace "+key).ID)
	require.NoError(t, err)
	assert.Empty(t, others, "nobody sees another's orders")
}

func TestSoldOut(t *testing.T) {
	ctx := t.Context()
	key := rand.Text()
	checkout, customer := shop.NewCheckout(db), signIn(t, "Alan "+key)
	require.NoError(t, db.Model(&shop.Product{ID: 5}).Update("stock", 2).Error)
	_, err := checkout.One(ctx, customer.ID, key, 5, 3)
	var soldOut *shop.SoldOutError
	require.ErrorAs(t, err, &soldOut)
	assert.Equal(t, shop.SoldOutError{Product: "Darjeeling First Flush", Left: 2}, *soldOut)
	_, err = checkout.One(ctx, customer.ID, key, 5, 2)
	require.NoError(t, err)
	assert.Zero(t, stock(t, 5))
	list, err := shop.NewOrders(db).Of(ctx, customer.ID)
	require.NoError(t, err)
	assert.Len(t, list, 1, "an order that could not be had is none")
}

func TestSales(t *testing.T) {
	ctx := t.Context()
	before, err := shop.NewReports(db).Sales(ctx)
	require.NoError(t, err)
	key := rand.Text()
	_, err = shop.NewCheckout(db).One(ctx, signIn(t, "Edsger "+key).ID, key, 17, 50)
	require.NoError(t, err)
	after, err := shop.NewReports(db).Sales(ctx)
	require.NoError(t, err)
	assert.Equal(t, before.Orders+1, after.Orders)
	assert.Equal(t, before.Packets+50, after.Packets)
	assert.Equal(t, before.Cents+50*1690, after.Cents)
	require.NotEmpty(t, after.Best)
	best := shop.Sold{Name: "Silver Needle", Kind: "white", Packets: 50, Cents: 50 * 1690}
	if len(before.Best) > 0 && before.Best[0].Name == best.Name {
		best.Packets, best.Cents = best.Packets+before.Best[0].Packets, best.Cents+before.Best[0].Cents
	}
	assert.Equal(t, best, after.Best[0])
}

func TestCatalogue(t *testing.T) {
	products, err := shop.NewCatalogue(db).Products(t.Context())
	require.NoError(t, err)
	require.Len(t, products, 18)
	assert.Equal(t, "Assam Hills", products[0].Name)
	p, err := shop.NewCatalogue(db).Product(t.Context(), products[3].ID)
	require.NoError(t, err)
	assert.Equal(t, "Chamomile", p.Name)
	_, err = shop.NewCatalogue(db).Product(t.Context(), 4711)
	assert.ErrorIs(t, err, gorm.ErrRecordNotFound)
}

func signIn(t *testing.T, name string) shop.Customer {
	c, err := shop.NewCustomers(db).SignIn(t.Context(), name)
	require.NoError(t, err)
	require.NotZero(t, c.ID)
	return c
}

func stock(t *testing.T, product int64) int64 {
	p, err := shop.NewCatalogue(db).Product(t.Context(), product)
	require.NoError(t, err)
	return p.Stock
}

// TestTheShopKnowsNothingOfReplicas: the same code runs with every plugin and with
// none, or what is shown with it shows nothing.
func TestTheShopKnowsNothingOfReplicas(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := make(map[string]bool)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if strings.Contains(path, ".") {
				seen[path] = true
			}
		}
	}
	assert.Equal(t, map[string]bool{"gorm.io/gorm": true, "gorm.io/gorm/clause": true}, seen, "the only imports besides the standard library")
}
