module github.com/readsplit/readsplit/session/redisstore

go 1.25.0

require (
	github.com/readsplit/readsplit v0.0.0
	github.com/redis/go-redis/v9 v9.22.0
	github.com/stretchr/testify v1.11.1
)

replace github.com/readsplit/readsplit => ../..
