package around

import (
	"context"
	"net/http"
	"testing"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

var cluster *testenv.Cluster

type book struct {
	ID    int64
	Title string
}

type browser struct{}

func (browser) post(t *testing.T, title string)
func (browser) list(t *testing.T) string

func newCluster(ctx context.Context, version string) (*testenv.Cluster, error)
func newDatabase(t *testing.T) (db *gorm.DB, name string)
func shop(db *gorm.DB) http.Handler
func use(t *testing.T, db *gorm.DB, name string) *readsplit.Plugin
func newBrowser(t *testing.T, app http.Handler) browser
