package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/examples/webshop/shop"
)

func TestLogin(t *testing.T) {
	l := logins{[]byte("sixteen bytes and more")}
	ada := shop.Customer{ID: 7, Name: "Ada"}
	who := func(value string) *shop.Customer {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		if value != "" {
			r.AddCookie(&http.Cookie{Name: loginCookie, Value: value})
		}
		return l.of(r)
	}
	value := l.cookie(ada, false).Value
	assert.Equal(t, &ada, who(value))
	assert.Nil(t, who(""))
	assert.Nil(t, who("x"))
	assert.Nil(t, who(value+"x"), "another signature")
	assert.Nil(t, who("x"+value), "another customer")
	assert.Nil(t, who((&logins{[]byte("another key of some length")}).cookie(ada, false).Value))
}

func TestRedirectsStayInTheShop(t *testing.T) {
	for path, want := range map[string]string{
		"/cart": "/cart", "/orders?placed=1": "/orders?placed=1",
		"": "/", "cart": "/", "//example.com": "/", "https://example.com/": "/", `/\example.com`: "/", "/\n": "/",
	} {
		assert.Equal(t, want, within(path), path)
	}
}

// TestPagesWithoutADatabase: those that ask none.
func TestPagesWithoutADatabase(t *testing.T) {
	site := New(nil, []byte("sixteen bytes and more"), "one process").Handler()
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
		return w
	}
	form := ask(http.MethodGet, "/login?then=%22%3E%3Cb%3E")
	assert.Equal(t, http.StatusOK, form.Code)
	assert.Contains(t, form.Body.String(), `value="&#34;&gt;&lt;b&gt;"`)
	assert.Contains(t, form.Body.String(), "one process")
	assert.Equal(t, "no-store", form.Header().Get("Cache-Control"))

	style := ask(http.MethodGet, "/style.css")
	assert.Equal(t, "text/css; charset=utf-8", style.Header().Get("Content-Type"))

	for path, method := range map[string]string{"/cart": http.MethodGet, "/orders": http.MethodGet} {
		w := ask(method, path)
		require.Equal(t, http.StatusSeeOther, w.Code, path)
		assert.Equal(t, "/login?then=%2F"+path[1:], w.Header().Get("Location"))
	}
	assert.Equal(t, "/login?then=%2F", ask(http.MethodPost, "/orders").Header().Get("Location"), "a form is not sent again")
	assert.Equal(t, http.StatusNotFound, ask(http.MethodGet, "/products/earl-grey").Code)
	assert.Equal(t, http.StatusNotFound, ask(http.MethodGet, "/nothing").Code)
}
