package frameworks

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/readsplit/readsplit/session/httpsession"
)

// Echo is the shop with echo. The sessions stand around all of echo, which is an
// http.Handler, so that its error handler is inside of them.
func Echo(s *Shop, sessions *httpsession.Sessions) http.Handler {
	return sessions.Handler(echoShop(s))
}

// EchoMiddleware is the shop with the sessions as a middleware of echo: also right.
func EchoMiddleware(s *Shop, sessions *httpsession.Sessions) http.Handler {
	return echoShop(s, echo.WrapMiddleware(sessions.Handler))
}

func echoShop(s *Shop, first ...echo.MiddlewareFunc) http.Handler {
	e := echo.New()
	e.Use(append(first, middleware.Recover())...)
	list := func(c echo.Context) error {
		found, err := s.Orders(c.Request().Context())
		if err != nil {
			return err
		}
		return c.String(http.StatusOK, found)
	}
	e.POST("/orders", func(c echo.Context) error {
		if err := s.Order(c.Request().Context(), c.FormValue("title")); err != nil {
			return echo.NewHTTPError(http.StatusConflict, err.Error())
		}
		return c.Redirect(http.StatusSeeOther, c.FormValue("next"))
	})
	e.POST("/stream", func(c echo.Context) error {
		if err := s.Order(c.Request().Context(), "streamed"); err != nil {
			return err
		}
		w := c.Response()
		if _, err := w.Write([]byte("one")); err != nil {
			return err
		}
		w.Flush()
		_, err := w.Write([]byte(" two"))
		return err
	})
	e.GET("/stock", list)
	e.GET("/orders", list, echo.WrapMiddleware(httpsession.UseReplica))         // one endpoint
	reports := e.Group("/reports", echo.WrapMiddleware(httpsession.UseReplica)) // a group
	reports.GET("/daily", list)
	return e
}
