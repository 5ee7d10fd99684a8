package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/doctor"
	"github.com/readsplit/readsplit/status"
	"github.com/readsplit/readsplit/testenv"
)

// serve accepts connections, one after the other, and gives them to a function. It
// ends with the test.
func serve(t *testing.T, each func(client net.Conn)) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = client.Close() })
			wg.Go(func() {
				defer stop()
				defer client.Close()
				each(client)
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		end()
		wg.Wait()
	})
	return listener.Addr().(*net.TCPAddr).Port
}

func problems(r doctor.Report) []string {
	var all []string
	for _, f := range r.Findings {
		if f.Severity > doctor.Notice {
			all = append(all, fmt.Sprintf("%v %s %s: %s", f.Severity, f.ID, f.Server, f.What))
		}
	}
	return all
}

func TestServerThatNeverAnswers(t *testing.T) {
	port := serve(t, func(client net.Conn) { _, _ = io.Copy(io.Discard, client) })
	dsn := fmt.Sprintf("host=127.0.0.1 port=%d dbname=shop user=shop password=hidden application_name=shop sslmode=disable", port)
	report, err := doctor.Examine(limit(t), doctor.Topology{Primary: doctor.Server{DSN: dsn}, Timeout: 100 * time.Millisecond, Watch: doctor.Off})
	require.NoError(t, err)
	assert.Equal(t, []string{fmt.Sprintf("problem unreachable primary: 127.0.0.1:%d cannot be reached: no answer within 100ms.", port)}, problems(report))
	assert.Equal(t, doctor.ExitNotExamined, report.ExitStatus())
}

// TestServerThatGoesMeanwhile breaks the connection when the replica is asked for its
// position for the second time.
func TestServerThatGoesMeanwhile(t *testing.T) {
	c := whole(t)
	x := topology(c)
	port := serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp4", c.Replica(0).Addr())
		if err != nil {
			return
		}
		defer server.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(client, server)
		}()
		seen := 0
		buffer := make([]byte, 1<<16)
		for {
			n, err := client.Read(buffer)
			if bytes.Contains(buffer[:n], []byte("'receiver', EXISTS")) {
				seen++
			}
			if err != nil || seen == 2 {
				break
			}
			if _, err := server.Write(buffer[:n]); err != nil {
				break
			}
		}
		_ = server.Close()
		_ = client.Close()
		<-done
	})
	x.Replicas[0].DSN = at(c.Replica(0).DSN(), port) + named
	report, err := doctor.Examine(limit(t), x)
	require.NoError(t, err)
	require.Len(t, problems(report), 1)
	assert.Contains(t, problems(report)[0], "problem unreachable replica1: It answered at first, and then no longer: ")
	assert.Equal(t, 2, report.ExitStatus())
}

// TestExaminationIsBrokenOff: whoever presses Ctrl-C does not wait for the watch.
func TestExaminationIsBrokenOff(t *testing.T) {
	asked := make(chan struct{}, 100)
	port := serve(t, func(client net.Conn) {
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, client)
	})
	ctx, cancel := context.WithCancel(limit(t))
	go func() {
		<-asked
		cancel()
	}()
	_, err := doctor.Examine(ctx, doctor.Topology{
		Primary: doctor.Server{DSN: fmt.Sprintf("host=127.0.0.1 port=%d dbname=shop sslmode=disable", port)},
		Timeout: time.Hour, Watch: time.Hour,
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTopologyIsChecked(t *testing.T) {
	pg2 := doctor.Server{Name: "pg2", DSN: "host=pg2"}
	for want, x := range map[string]doctor.Topology{
		"Topology names neither a server nor a Status":              {},
		"Topology.Primary.DSN is empty":                             {Replicas: []doctor.Server{pg2}},
		"Topology.Replicas[0].Name is empty":                        {Primary: pg2, Replicas: []doctor.Server{{DSN: "host=pg3"}}},
		`Topology.Replicas[1].Name is "pg3", and so is another`:     {Primary: pg2, Replicas: []doctor.Server{{Name: "pg3", DSN: "x"}, {Name: "pg3", DSN: "y"}}},
		`Topology.Replicas[0].Name is "primary"`:                    {Primary: doctor.Server{DSN: "host=pg1"}, Replicas: []doctor.Server{{Name: "primary", DSN: "x"}}},
		`Topology.Replicas[0].DSN is empty, of "pg3"`:               {Primary: pg2, Replicas: []doctor.Server{{Name: "pg3"}}},
		"Topology.Watch is -1s: it must be positive (0 means 10s)":  {Primary: pg2, Watch: -time.Second},
		"Topology.Timeout is -1ns: it must be positive":             {Primary: pg2, Timeout: doctor.Off},
		"Topology.MaxLag is -2s: it must be positive (0 means 2s)":  {Primary: pg2, MaxLag: -2 * time.Second},
		"Topology.LongTransaction is -1ns: it must be positive":     {Primary: pg2, LongTransaction: -1},
		"Topology.Looks is -1: it must be positive (0 means 8)":     {Primary: pg2, Looks: -1},
		"Topology.Pool is -1: it must be positive (0 means 64)":     {Primary: pg2, Pool: -1},
		"Topology.PrimaryPool is -1: it must be positive":           {Primary: pg2, PrimaryPool: -1},
		"Topology.Instances is -3: it must be positive (0 means 1)": {Primary: pg2, Instances: -3},
	} {
		_, err := doctor.Examine(context.Background(), x)
		require.ErrorContains(t, err, "readsplit: "+want)
	}
}

// TestUnreadableDSNsAreNotShown: the parser's own error quotes parts of the password.
func TestUnreadableDSNsAreNotShown(t *testing.T) {
	for _, dsn := range []string{
		"postgres://shop:top/secret@pg1/shop", "postgres://shop:top@secret:x@pg1/shop", "host=pg1 password='top secret", "host=pg1 topsecret",
		"postgres://shop:top%secret@pg1/shop", "host=pg1 port=topsecret",
	} {
		report, err := doctor.Examine(limit(t), doctor.Topology{Primary: doctor.Server{DSN: dsn}})
		require.NoError(t, err)
		assert.Equal(t, []string{"problem dsn-invalid primary: The DSN cannot be read. It is not shown, since it may hold a password."}, problems(report), dsn)
		b, err := json.Marshal(report)
		require.NoError(t, err)
		assert.NotContains(t, string(b), "secret")
		assert.NotContains(t, string(b), "top")
		assert.Equal(t, doctor.ExitNotExamined, report.ExitStatus())
	}
}

// TestRunningApplication reads the status of one that uses no sessions, while replay
// is paused: the process's own session keeps every read on the primary.
func TestRunningApplication(t *testing.T) {
	c := whole(t)
	require.NoError(t, c.CreateDatabase(limit(t), "application"))
	afterwards(t, c.Primary(), "DROP DATABASE application WITH (FORCE)")
	cfg := readsplit.Config{MaxLag: readsplit.Off}
	for _, r := range c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSNFor("application"))})
	}
	plugin := readsplit.New(cfg)
	db, err := gorm.Open(postgres.Open(c.Primary().DSNFor("application")), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	require.NoError(t, db.Use(plugin))
	page, err := status.New(plugin, status.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(page)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, page.Close())
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, plugin.Close(context.Background()))
		require.NoError(t, pool.Close())
	})
	require.NoError(t, db.Exec("CREATE TABLE orders (id int)").Error)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	for _, r := range c.Replicas() {
		inject(t, r.PauseReplay)
	}
	require.NoError(t, db.Exec("INSERT INTO orders VALUES (1)").Error)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx := limit(t); ; {
		for range 100 {
			var n int
			require.NoError(t, db.Raw("SELECT count(*) FROM orders").Scan(&n).Error)
			require.Equal(t, 1, n)
		}
		report, err := doctor.Examine(ctx, doctor.Topology{Status: server.URL + "/", Timeout: 20 * time.Second})
		require.NoError(t, err)
		var text strings.Builder
		require.NoError(t, report.WriteText(&text))
		paused := strings.Contains(text.String(), "app-server: replica1, replica2")
		if !report.Has(doctor.AppProcessSession) || !paused {
			<-tick.C // the page has not looked since
			continue
		}
		assert.Contains(t, text.String(), "The most frequent reason for")
		assert.Contains(t, text.String(), "The application calls it paused.")
		assert.Equal(t, 1, report.ExitStatus())
		return
	}
}

func TestReportAsJSON(t *testing.T) {
	c := whole(t)
	x := topology(c)
	x.Watch, x.Replicas[0].DSN = doctor.Off, c.Primary().DSN()+named
	report, err := doctor.Examine(limit(t), x)
	require.NoError(t, err)
	b, err := json.Marshal(report)
	require.NoError(t, err)
	var got struct {
		At         time.Time        `json:"at"`
		ExitStatus int              `json:"exit_status"`
		Summary    map[string]int   `json:"summary"`
		Servers    []map[string]any `json:"servers"`
		Findings   []doctor.Finding `json:"findings"`
	}
	require.NoError(t, json.Unmarshal(b, &got))
	assert.Equal(t, 2, got.ExitStatus)
	assert.Equal(t, 1, got.Summary["problem"])
	assert.Equal(t, report.Findings, got.Findings)
	assert.Equal(t, doctor.SameServer, got.Findings[0].ID)
	require.Len(t, got.Servers, 3)
	assert.Equal(t, "standby", got.Servers[2]["is"])
	assert.Equal(t, "replica", got.Servers[2]["declared"])
	assert.Equal(t, got.Servers[0]["system_identifier"], got.Servers[2]["system_identifier"])
	assert.Contains(t, got.Servers[2], "behind_bytes")
	assert.NotContains(t, got.Servers[0], "behind_bytes")
	assert.NotContains(t, string(b), passwordOf(c.Primary()))
}

func passwordOf(s *testenv.Server) string {
	for _, pair := range strings.Fields(s.DSN()) {
		if secret, ok := strings.CutPrefix(pair, "password="); ok {
			return secret
		}
	}
	panic("a DSN of testenv has a password")
}
