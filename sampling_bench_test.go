package readsplit_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/waitdouble"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv"
)

// BenchmarkSampleOnTheServer is what a question costs a server: a round trip, and how much
// of it its backend works (Linux).
func BenchmarkSampleOnTheServer(b *testing.B) {
	c := cluster(b)
	for _, server := range []*testenv.Server{c.Primary(), c.Replica(0)} {
		questions := map[string]string{"Full": lsn.FullSQL, "Replay": lsn.ReplaySQL, "Connect": lsn.ConnectSQL}
		if server == c.Primary() {
			questions["Capture"] = lsn.CaptureSQL
		}
		for name, question := range questions {
			b.Run(server.Name()+"/"+name, func(b *testing.B) {
				conn, err := pgx.Connect(b.Context(), server.DSN())
				require.NoError(b, err)
				defer func() { _ = conn.Close(b.Context()) }()
				var text string
				for range 100 {
					require.NoError(b, conn.QueryRow(b.Context(), question).Scan(&text))
				}
				worked := work(conn.PgConn().PID())
				b.ResetTimer()
				for range b.N {
					require.NoError(b, conn.QueryRow(b.Context(), question).Scan(&text))
				}
				b.ReportMetric(float64((work(conn.PgConn().PID())-worked).Microseconds())/float64(b.N), "us-of-a-core/op")
			})
		}
	}
}

// work is for how long a process has been on a core, to 10 ms.
func work(pid uint32) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat))
	var user, system int
	_, _ = fmt.Sscan(fields[13], &user) // a number, by the kernel's own rules
	_, _ = fmt.Sscan(fields[14], &system)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// BenchmarkQuestionsOfProcesses counts what ten processes ask the primary and two replicas
// in a second each: while they read, and while they do not.
func BenchmarkQuestionsOfProcesses(b *testing.B) {
	const processes, seconds = 10, 4
	c := cluster(b)
	var relays []*waitdouble.Server
	for _, s := range c.Servers() {
		d, err := waitdouble.Start(b.Context(), s.DSN(), waitdouble.Options{Version: 150000})
		require.NoError(b, err)
		defer d.Close()
		relays = append(relays, d)
	}
	var all []*testDB
	for range processes {
		all = append(all, newDB(b, c, inDatabase("postgres"), configured(func(cfg *readsplit.Config) {
			cfg.Primary = postgres.Open(relays[0].DSN(c.Primary().DSN()))
			for i, r := range c.Replicas() {
				cfg.Replicas[i].Dialector = postgres.Open(relays[i+1].DSN(r.DSN()))
			}
		})))
	}
	reads := 0
	count := func(d time.Duration, read bool) (perServer [3]float64) {
		var before [3]int
		for i, r := range relays {
			before[i] = r.Counts().Questions
		}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for began := time.Now(); time.Since(began) < d; <-tick.C {
			for _, p := range all {
				if read {
					served(b, p.DB)
					reads++
				}
			}
		}
		for i, r := range relays {
			perServer[i] = float64(r.Counts().Questions-before[i]) / d.Seconds() / processes
		}
		return perServer
	}
	for range b.N {
		busy := count(seconds*time.Second, true)
		count(5*time.Second, false)
		idle := count(seconds*time.Second, false)
		own := float64(reads) / seconds / processes
		b.ReportMetric(busy[0], "primary-busy/s")
		b.ReportMetric(busy[1]+busy[2]-own, "2-replicas-busy-without-the-reads/s")
		b.ReportMetric(idle[0], "primary-idle/s")
		b.ReportMetric((idle[1]+idle[2])/2, "replica-idle/s")
		reads = 0
	}
}
