package readsplit

import (
	"context"

	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
)

// tellInside tells the observers of a statement inside of a transaction on s, nil for
// the primary.
func (rt *router) tellInside(ctx context.Context, s *server, reason policy.Reason) {
	told := rt.plugin.told.Statements
	if len(told) == 0 {
		return
	}
	e := observe.Statement{Resolver: rt.name, Server: primaryName, Reason: reason}
	if s != nil {
		e.Server, e.Replica = s.name, true
	}
	tellEach(rt.plugin, told, func(o observe.StatementObserver) { o.ObserveStatement(ctx, e) })
}
