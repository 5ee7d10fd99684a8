package session_test

import (
	"context"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

func ExampleMemory() {
	ctx := context.Background()
	store := session.NewMemory(session.MemoryOptions{Lifetime: -1}) // nothing was before it
	defer store.Close()

	wrote := func(at lsn.LSN) session.Token { // Session.Export says it
		history := lsn.History{System: 7, Timeline: 1, Incarnation: 1}
		return session.Token{Expires: time.Now().Add(time.Hour), Positions: []lsn.Position{{History: history, LSN: at}}}
	}
	_ = store.Advance(ctx, "ann", wrote(0x3000060))
	_ = store.Advance(ctx, "ann", wrote(0x3000028)) // a slower request: it takes nothing back

	token, err := store.Load(ctx, "ann")
	fmt.Println(token.Positions[0].LSN, err)
	token, err = store.Load(ctx, "bob")
	fmt.Println(len(token.Positions), err)
	// Output:
	// 0/3000060 <nil>
	// 0 <nil>
}
