package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/readsplit/readsplit/examples/webshop/shop"
)

// loginCookie is the shop's own cookie: who signed in, signed. No process has to
// remember anybody.
const loginCookie = "login"

type logins struct{ key []byte }

func (l logins) cookie(c shop.Customer, secure bool) *http.Cookie {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // a number and a string
	}
	who := base64.RawURLEncoding.EncodeToString(text)
	return &http.Cookie{
		Name: loginCookie, Value: who + "." + l.sign(who), Path: "/", Expires: time.Now().AddDate(0, 1, 0),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}
}

func (l logins) sign(who string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(who))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// of returns who sent the request; nil: nobody who signed in.
func (l logins) of(r *http.Request) *shop.Customer {
	cookie, err := r.Cookie(loginCookie)
	if err != nil {
		return nil
	}
	who, signature, _ := strings.Cut(cookie.Value, ".")
	if !hmac.Equal([]byte(signature), []byte(l.sign(who))) {
		return nil
	}
	var customer shop.Customer
	text, err := base64.RawURLEncoding.DecodeString(who)
	if err != nil || json.Unmarshal(text, &customer) != nil {
		return nil
	}
	return &customer
}

// newKey names a form that may be sent twice.
func newKey() string { return rand.Text() }
