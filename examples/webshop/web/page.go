package web

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"github.com/readsplit/readsplit/examples/webshop/shop"
	"github.com/readsplit/readsplit/examples/webshop/trace"
)

//go:embed pages
var files embed.FS

var funcs = template.FuncMap{
	"price": func(cents int64) string { return fmt.Sprintf("%d.%02d €", cents/100, cents%100) },
}

// templates are the pages, each with the layout around it.
var templates = func() map[string]*template.Template {
	names := []string{"products.html", "product.html", "login.html", "cart.html", "orders.html", "report.html", "refusal.html"}
	all := make(map[string]*template.Template, len(names))
	for _, name := range names {
		all[name] = template.Must(template.New("layout.html").Funcs(funcs).ParseFS(files, "pages/layout.html", "pages/"+name))
	}
	return all
}()

var css = func() []byte {
	text, err := files.ReadFile("pages/style.css")
	if err != nil {
		panic(err) // it was there when the program was built
	}
	return text
}()

func style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(css) // who hangs up needs no style
}

// visitor is who sent a request.
type visitor struct {
	customer  *shop.Customer // nil: nobody who signed in
	setCookie *http.Cookie   // signs them in
}

// answer is what an endpoint answers with: a page or a redirect.
type answer struct {
	status   int
	page     string
	title    string
	data     any
	redirect string
	forget   bool // signs the visitor out
}

func show(page, title string, data any) answer {
	return answer{status: http.StatusOK, page: page, title: title, data: data}
}

func to(path string) answer { return answer{status: http.StatusSeeOther, redirect: path} }

func refuse(status int, why string) answer {
	return answer{status: status, page: "refusal.html", title: "Sorry", data: why}
}

type endpoint func(r *http.Request, v *visitor) (answer, error)

// page makes a handler of an endpoint.
func (s *Site) page(run endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, reads := trace.With(r.Context())
		v := &visitor{customer: s.logins.of(r)}
		a, err := run(r.WithContext(ctx), v)
		if err != nil {
			a = failed(ctx, err)
		}
		s.write(ctx, w, v, a, reads)
	})
}

// customersOnly is page for those who signed in; others are asked to.
func (s *Site) customersOnly(run endpoint) http.Handler {
	return s.page(func(r *http.Request, v *visitor) (answer, error) {
		if v.customer != nil {
			return run(r, v)
		}
		then := r.URL.Path
		if r.Method != http.MethodGet {
			then = "/"
		}
		return to("/login?then=" + url.QueryEscape(then)), nil
	})
}

// write sends the answer. The page is made before its first byte goes out, so that
// an error has a status of its own.
func (s *Site) write(ctx context.Context, w http.ResponseWriter, v *visitor, a answer, reads *trace.Reads) {
	var body bytes.Buffer
	if a.page != "" {
		err := templates[a.page].Execute(&body, map[string]any{
			"Title": a.title, "Page": a.page, "Customer": v.customer, "Data": a.data, "Process": s.name, "Reads": reads.All(),
		})
		if err != nil {
			http.Error(w, failed(ctx, err).data.(string), http.StatusInternalServerError)
			return
		}
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if timing := reads.Header(); timing != "" {
		h.Set("Server-Timing", timing)
	}
	if v.setCookie != nil {
		http.SetCookie(w, v.setCookie)
	}
	if a.forget {
		http.SetCookie(w, &http.Cookie{Name: loginCookie, Path: "/", MaxAge: -1})
	}
	if a.redirect != "" {
		h.Set("Location", a.redirect)
	} else {
		h.Set("Content-Type", "text/html; charset=utf-8")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body.Bytes()) // who hangs up needs no page
}
