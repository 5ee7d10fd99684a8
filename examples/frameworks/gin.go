package frameworks

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/readsplit/readsplit/session/httpsession"
)

// Gin is the shop with gin. The sessions stand around all of gin, which is an
// http.Handler. Handlers give c.Request.Context() to the shop; the *gin.Context itself
// is a context too, but knows neither session nor marks unless
// Engine.ContextWithFallback is set.
func Gin(s *Shop, sessions *httpsession.Sessions) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.Use(gin.CustomRecoveryWithWriter(nil, func(c *gin.Context, _ any) { c.AbortWithStatus(http.StatusInternalServerError) }))
	list := func(c *gin.Context) {
		found, err := s.Orders(c.Request.Context())
		if err != nil {
			_ = c.AbortWithError(http.StatusInternalServerError, err)
			return
		}
		c.String(http.StatusOK, "%s", found)
	}
	e.POST("/orders", func(c *gin.Context) {
		if err := s.Order(c.Request.Context(), c.PostForm("title")); err != nil {
			c.AbortWithStatusJSON(http.StatusConflict, gin.H{"error": err.Error()})
			return
		}
		c.Redirect(http.StatusSeeOther, c.PostForm("next"))
	})
	e.POST("/stream", func(c *gin.Context) {
		if err := s.Order(c.Request.Context(), "streamed"); err != nil {
			_ = c.AbortWithError(http.StatusConflict, err)
			return
		}
		parts := []string{"one", " two"}
		c.Stream(func(w io.Writer) bool { // flushes after each
			_, _ = io.WriteString(w, parts[0])
			parts = parts[1:]
			return len(parts) > 0
		})
	})
	e.GET("/stock", list)
	e.GET("/orders", ginMark(httpsession.UseReplica), list)         // one endpoint
	reports := e.Group("/reports", ginMark(httpsession.UseReplica)) // a group
	reports.GET("/daily", list)
	return sessions.Handler(e)
}

// ginMark makes gin's middleware of a mark. Marks change the request's context alone.
func ginMark(mark httpsession.Mark) gin.HandlerFunc {
	return func(c *gin.Context) {
		mark(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			c.Request = r
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
	}
}
