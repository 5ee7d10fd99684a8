package readsplit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// A session for each user: a read waits for what its own user wrote, and for no other
// session.
func ExampleWithSession() {
	db, _, done := exampleDB(readsplit.Config{}) // gorm.Open and db.Use(readsplit.New(config))
	defer done()

	alice := readsplit.WithSession(context.Background(), readsplit.NewSession())
	bob := readsplit.WithSession(context.Background(), readsplit.NewSession())

	db.WithContext(alice).Create(&Order{Customer: "alice", Title: "a lamp"})

	var n int64
	db.WithContext(alice).Model(&Order{}).Where("customer = ?", "alice").Count(&n)
	fmt.Println("alice sees her order:", n)

	d, _ := readsplit.DecisionOf(db.WithContext(bob).Find(&[]Order{}))
	fmt.Println("bob does not wait for it:", d.Server)
	// Output:
	// alice sees her order: 1
	// bob does not wait for it: pg2
}

// The token of a session goes to another process as a small text, in a cookie, a header
// or a message; there a session joins it. Both have the same keys.
func ExampleSession_Token() {
	keys := [][]byte{[]byte("use sixteen random bytes or more")}
	here, _, done := exampleDB(readsplit.Config{TokenKeys: keys})
	defer done()
	there, _, doneThere := exampleDB(readsplit.Config{TokenKeys: keys}) // another process
	defer doneThere()

	s := readsplit.NewSession()
	ctx := readsplit.WithSession(context.Background(), s)
	here.WithContext(ctx).Create(&Order{Customer: "tom", Title: "a train"})
	token, err := s.Token(ctx)
	if err != nil {
		fmt.Println(err) // a transaction of the session is open
		return
	}

	joined := readsplit.NewSession()
	joined.Join(token) // never fails: what cannot be trusted reads from the primary
	ctx = readsplit.WithSession(context.Background(), joined)
	var n int64
	there.WithContext(ctx).Model(&Order{}).Where("customer = ?", "tom").Count(&n)
	fmt.Println(n, len(token) < 200)
	// Output: 1 true
}

// Code that is handed a context needs not know whether there is a session in it.
func ExampleSessionFrom() {
	token := func(ctx context.Context) string {
		text, err := readsplit.SessionFrom(ctx).Token(ctx)
		if err != nil {
			return ""
		}
		return text
	}
	fmt.Printf("%q\n", token(context.Background()))
	// Output: ""
}

// A session by hand, where what must be seen is kept by the application: it is exported
// when the session has something to tell, after the commit.
func ExampleSession_Export() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()
	store := session.NewMemory(session.MemoryOptions{Lifetime: -1}) // sure of everybody from the start

	serve := func(user string, work func(ctx context.Context)) {
		ctx := context.Background()
		s := readsplit.NewSession()
		if t, err := store.Load(ctx, user); err == nil {
			s.JoinToken(t)
		} else {
			s.Doubt() // the primary for StickyWindow
		}
		work(readsplit.WithSession(ctx, s))
		if !s.Changed() {
			fmt.Println("nothing to tell")
			return
		}
		t, err := s.Export(ctx)
		if err == nil {
			err = store.Advance(ctx, user, t)
		}
		fmt.Println("told", err)
	}
	serve("ruth", func(ctx context.Context) {
		db.WithContext(ctx).Create(&Order{Customer: "ruth", Title: "a kite"})
	})
	serve("ruth", func(ctx context.Context) {
		var n int64
		db.WithContext(ctx).Model(&Order{}).Where("customer = ?", "ruth").Count(&n)
		fmt.Println(n)
	})
	// Output:
	// told <nil>
	// 1
	// nothing to tell
}

// One user who must never see anything disappear again, in an application that is content
// with ReadYourWrites for the others; and whose reads prefer the replica that has served
// them before.
func ExampleSession_SetGuarantee() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()

	auditor := readsplit.NewSession()
	auditor.SetGuarantee(session.MonotonicReads)
	auditor.Prefer("auditor 17")
	ctx := readsplit.WithSession(context.Background(), auditor)

	db.WithContext(ctx).Find(&[]Order{})
	fmt.Println("what a read has shown is in the token:", auditor.Changed())
	// Output: what a read has shown is in the token: true
}

// Looking into a token, with the keys that the plugin has.
func ExampleConfig_ParseToken() {
	config := readsplit.Config{TokenKeys: [][]byte{[]byte("use sixteen random bytes or more")}}
	db, _, done := exampleDB(config)
	defer done()

	s := readsplit.NewSession()
	ctx := readsplit.WithSession(context.Background(), s)
	db.WithContext(ctx).Create(&Order{Customer: "paul", Title: "a pen"})
	text, err := s.Token(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, err := config.ParseToken(text)
	fmt.Println(len(token.Positions), token.Expires.Sub(token.Issued) > time.Minute, err)

	_, err = config.ParseToken("x" + text)
	fmt.Println(errors.Is(err, session.ErrToken))
	// Output:
	// 1 true <nil>
	// true
}
