package redisstore_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/redisstore"
)

// A store that all processes share; httpsession.Options.Store takes it. While Redis
// cannot be reached nobody gets an error: what Load returns keeps the user on the primary.
func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody answers there
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close(context.Background())

	var users session.Store = store
	token, err := users.Load(context.Background(), "carol")
	fmt.Println(err != nil, !token.Unsure.IsZero())
	// Output: true true
}
