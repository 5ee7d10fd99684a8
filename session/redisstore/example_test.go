package redisstore_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/redisstore"
)

func Example() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	store, err := redisstore.New(client, redisstore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close(context.Background())

	// Shared by all processes; httpsession.Options.Store takes it.
	var _ session.Store = store
}
