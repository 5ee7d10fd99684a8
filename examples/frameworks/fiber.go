package frameworks

import (
	"context"
	"io"
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v2/middleware/recover"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/httpsession"
)

// Fiber is the shop with fiber, which is no http.Handler. Handlers of fiber's own get
// the session by fiberSessions and find it in c.UserContext(). A handler of net/http is
// mounted with its sessions by fiber's adaptor. adaptor.HTTPMiddleware does not do:
// there a middleware ends before the handler begins.
func Fiber(s *Shop, sessions *httpsession.Sessions) *fiber.App {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(recover.New())
	// Of net/http, and so before fiberSessions: it has sessions of its own.
	app.Post("/stream", adaptor.HTTPHandler(fiberDetached(sessions.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.Order(r.Context(), "streamed"); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		_, _ = io.WriteString(w, "one two")
	})))))
	app.Use(fiberSessions(sessions))
	list := func(c *fiber.Ctx) error {
		found, err := s.Orders(c.UserContext())
		if err != nil {
			return err
		}
		return c.SendString(found)
	}
	app.Post("/orders", func(c *fiber.Ctx) error {
		if err := s.Order(c.UserContext(), c.FormValue("title")); err != nil {
			return fiber.NewError(fiber.StatusConflict, err.Error())
		}
		return c.Redirect(c.FormValue("next"), fiber.StatusSeeOther)
	})
	app.Get("/stock", list)
	app.Get("/orders", fiberUseReplica, list)         // one endpoint
	reports := app.Group("/reports", fiberUseReplica) // a group
	reports.Get("/daily", list)
	return app
}

// fiberSessions gives fiber's handlers a session. What httpsession puts into the header
// of an answer that its handler has not written itself is put into fiber's. A body that
// is streamed (SetBodyStreamWriter) runs after that: write to the database before.
func fiberSessions(sessions *httpsession.Sessions) fiber.Handler {
	return func(c *fiber.Ctx) (err error) {
		r, err := adaptor.ConvertRequest(c, true)
		if err != nil {
			return err
		}
		r = r.WithContext(c.UserContext()) // see fiberDetached
		w := header{}
		// Deferred: a panic that is recovered from outside has an answer too.
		defer func() {
			for name, lines := range w {
				c.Response().Header.Del(name)
				for _, line := range lines {
					c.Response().Header.Add(name, line)
				}
			}
		}()
		sessions.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			c.SetUserContext(r.Context())
			err = c.Next()
		})).ServeHTTP(w, r)
		return err
	}
}

// fiberDetached gives a handler a context that ends with no server. The one that the
// adaptor makes is fasthttp's own of the request: its Done races with Shutdown, and it
// is used again for the next request.
func fiberDetached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	})
}

// header is an http.ResponseWriter that nobody writes to.
type header http.Header

func (h header) Header() http.Header         { return http.Header(h) }
func (h header) Write(p []byte) (int, error) { return len(p), nil }
func (h header) WriteHeader(int)             {}

// fiberUseReplica is a mark: fiber has contexts, and a mark is one.
func fiberUseReplica(c *fiber.Ctx) error {
	c.SetUserContext(readsplit.UseReplica(c.UserContext()))
	return c.Next()
}
