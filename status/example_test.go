package status_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/status"
)

// The page is mounted like net/http/pprof, where administrators alone come. It can change
// nothing unless Options.Authorize says who may.
func ExampleNew() {
	ring := observe.NewRing(200)
	plugin := readsplit.New(readsplit.Config{Observers: []any{ring}}) // and db.Use(plugin)

	page, err := status.New(plugin, status.Options{Ring: ring})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/readsplit/", page)

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/readsplit/status.json", nil))
	var report status.Report
	err = json.Unmarshal(answer.Body.Bytes(), &report)
	fmt.Println(report.Headline.Level, report.MayOperate, err)
	// Output: unknown false <nil>
}
