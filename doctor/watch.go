package doctor

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// roundSQL asks where a server is. Positions are bytes since the log began.
const roundSQL = `SELECT json_build_object('recovery', r.rec, 'clock', extract(epoch FROM clock_timestamp()),
 'flush', CASE WHEN NOT r.rec THEN pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') END,
 'insert', CASE WHEN NOT r.rec THEN pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') END,
 'replay', CASE WHEN r.rec THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') END,
 'receive', CASE WHEN r.rec THEN pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0') END,
 'paused', CASE WHEN r.rec THEN pg_is_wal_replay_paused() ELSE false END,
 'receiver', EXISTS (SELECT FROM pg_catalog.pg_stat_wal_receiver))
FROM (SELECT pg_is_in_recovery() AS rec) AS r`

// round is what all servers said at about one moment, by server. Who did not answer
// is not in it.
type round map[*facts]moment

// moment is where one server was. Replicas are asked after the primary answered, so
// that one that has replayed all is never behind.
type moment struct {
	began, ended time.Time
	Recovery     bool    `json:"recovery"`
	Clock        float64 `json:"clock"` // seconds since 1970
	Flush        lsn.LSN `json:"flush"`
	Insert       lsn.LSN `json:"insert"`
	Replay       lsn.LSN `json:"replay"`
	Receive      lsn.LSN `json:"receive"` // 0: nothing was received since its start
	Paused       bool    `json:"paused"`
	Receiver     bool    `json:"receiver"` // a WAL receiver runs
}

const (
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Second
	roundsWanted     = 20
)

// watch looks at all servers again and again for Topology.Watch.
func (v *view) watch(ctx context.Context) {
	v.rounds = append(v.rounds, v.look(ctx))
	if v.Watch == Off || len(v.asked()) == 0 {
		return
	}
	again(ctx, v.Watch, func() { v.rounds = append(v.rounds, v.look(ctx)) })
}

// again looks about roundsWanted times until d is over, and once more then.
func again(ctx context.Context, d time.Duration, look func()) {
	tick := time.NewTicker(min(max(d/roundsWanted, shortestInterval), longestInterval))
	defer tick.Stop()
	end := time.NewTimer(d)
	defer end.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			over = true // one more
		case <-tick.C:
		}
		look()
	}
}

func (v *view) look(ctx context.Context) round {
	return lookAt(v.primary, v.replicas(), func(f *facts) (moment, bool) { return f.moment(ctx) })
}

// lookAt asks the primary, if there is one, and then all replicas at once: what a replica
// shows is compared with what the primary had before.
func lookAt[F, M any](primary *F, replicas []*F, moment func(*F) (M, bool)) map[*F]M {
	all := map[*F]M{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	one := func(f *F) {
		if m, ok := moment(f); ok {
			mu.Lock()
			all[f] = m
			mu.Unlock()
		}
	}
	if primary != nil {
		one(primary)
	}
	for _, f := range replicas {
		wg.Go(func() { one(f) })
	}
	wg.Wait()
	return all
}

// moment asks a server. One that fails is not asked again: it is gone.
func (f *facts) moment(ctx context.Context) (m moment, ok bool) {
	if f.lost != "" {
		return m, false
	}
	m.began = time.Now()
	text, err := ask(ctx, f.conn, f.timeout, roundSQL)
	m.ended = time.Now()
	if err == nil {
		err = json.Unmarshal([]byte(text), &m)
	}
	if err != nil {
		f.lost = redacted(reason(err), f.cfg.Password)
		return m, false
	}
	return m, true
}

// series are the moments of one server, in order.
func (v *view) series(f *facts) []moment {
	var all []moment
	for _, r := range v.rounds {
		if m, ok := r[f]; ok {
			all = append(all, m)
		}
	}
	return all
}

// lag is how far a replica was at the end.
type lag struct {
	bytes uint64
	age   time.Duration // at most
	known bool          // age is
	worst time.Duration // how old it was at least, at any look
	grew  bool          // the bytes, over the watch
	still bool          // the primary wrote nothing meanwhile
	times int           // looked at
}

// lagOf compares a replica with the primary by positions alone: it is as old as the
// newest look at the primary whose position it has replayed. No clock of a server
// is asked.
func (v *view) lagOf(f *facts) (l lag, ok bool) {
	if !v.leads() || f == v.primary || len(v.rounds) == 0 {
		return l, false
	}
	var first, last *moment
	var at round
	for _, r := range v.rounds {
		m, there := r[f]
		if _, led := r[v.primary]; there && led {
			if first == nil {
				first = &m
				l.bytes = behind(r[v.primary].Flush, m.Replay)
			}
			last, at = &m, r
			l.times++
		}
	}
	if last == nil {
		return l, false
	}
	before := l.bytes
	l.bytes = behind(at[v.primary].Flush, last.Replay)
	// What a quiet primary writes by itself is no growth.
	l.grew = l.times > 1 && l.bytes > before+8*page
	primary := v.series(v.primary)
	l.still = primary[0].Flush == primary[len(primary)-1].Flush
	for _, p := range primary {
		if p.Flush <= last.Replay && !p.began.After(last.began) {
			l.age, l.known = last.began.Sub(p.began), true
		}
	}
	for _, m := range v.series(f) {
		for _, p := range primary {
			// It lacked what the primary had when it had answered. A little says nothing: a
			// position can rest inside a record.
			if behind(p.Flush, m.Replay) >= page {
				l.worst = max(l.worst, m.began.Sub(p.ended))
				break
			}
		}
	}
	return l, true
}

func behind(primary, replica lsn.LSN) uint64 {
	if replica >= primary {
		return 0
	}
	return uint64(primary - replica)
}
