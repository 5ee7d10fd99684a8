package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Lag is measured as a user would: a row is written on the primary twenty times a second,
// with the time, and the newest one that a replica shows is so old. All servers have one
// clock here.
const beat = 50 * time.Millisecond

// heartbeats writes them until ctx ends.
func (l *lab) heartbeats(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, l.cluster.Primary().DSNFor(l.database))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		if _, err := conn.Exec(context.Background(), "INSERT INTO heartbeats DEFAULT VALUES"); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// watchLag looks how far a server is behind until ctx ends, and then sends the greatest lag
// of each second since began.
func (l *lab) watchLag(ctx context.Context, place string, began time.Time) <-chan []time.Duration {
	out := make(chan []time.Duration, 1)
	go func() {
		var lags []time.Duration
		defer func() { out <- lags }()
		conn, err := pgx.Connect(ctx, l.server(place).DSNFor(l.database))
		if err != nil {
			return // nobody can say then
		}
		defer func() { _ = conn.Close(context.Background()) }()
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			var lag float64
			// What replay cancels here is asked again.
			if err := conn.QueryRow(context.Background(), "SELECT coalesce(extract(epoch FROM clock_timestamp() - max(at)), 0)::float8 FROM heartbeats").Scan(&lag); err == nil {
				second := int(time.Since(began) / time.Second)
				for len(lags) <= second {
					lags = append(lags, 0)
				}
				lags[second] = max(lags[second], time.Duration(lag*float64(time.Second)))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
