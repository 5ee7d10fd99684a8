package frameworks

import (
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/readsplit/readsplit/session/httpsession"
)

// Chi is the shop with chi. Marks are middleware as chi has it.
func Chi(s *Shop, sessions *httpsession.Sessions) http.Handler {
	r := chi.NewRouter()
	r.Use(sessions.Handler, middleware.Recoverer)
	list := func(w http.ResponseWriter, r *http.Request) {
		found, err := s.Orders(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, found)
	}
	r.Post("/orders", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Order(r.Context(), r.FormValue("title")); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		http.Redirect(w, r, r.FormValue("next"), http.StatusSeeOther)
	})
	r.Post("/stream", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Order(r.Context(), "streamed"); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		_, _ = io.WriteString(w, "one")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, " two")
	})
	r.Get("/stock", list)                               // primary, by Config.Default
	r.With(httpsession.UseReplica).Get("/orders", list) // one endpoint
	r.Route("/reports", func(r chi.Router) {            // a group
		r.Use(httpsession.UseReplica)
		r.Get("/daily", list)
	})
	return r
}
