package readsplit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// processVariable makes this program another process of an application, instead of
// running its tests.
const processVariable = "READSPLIT_TEST_PROCESS"

// request is what another process is asked, in a session of its own.
type request struct {
	Token     string
	Guarantee session.Guarantee
	Fresh     bool
	Reads     int
	SQL       string // to run first
}

// response is what it has read, and the token of its session then.
type response struct {
	Seen    []int
	Servers []string
	Token   string
	Err     string
}

// settings of another process.
type processConfig struct {
	Primary  string
	Replicas map[string]string
}

// process is another process of the operating system with a plugin over the same
// servers.
type process struct {
	enc *json.Encoder
	dec *json.Decoder
}

// anotherProcess starts one; it ends with the test.
func (x *trap) anotherProcess(t testing.TB) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^$")
	cmd.Env = append(os.Environ(), processVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // it ends by that
		require.NoError(t, cmd.Wait())
	})
	p := &process{json.NewEncoder(in), json.NewDecoder(out)}
	c := processConfig{Primary: x.dsn("primary"), Replicas: map[string]string{}}
	for _, s := range x.cluster.Replicas() {
		c.Replicas[s.Name()] = x.dsn(s.Name())
	}
	require.NoError(t, p.enc.Encode(c))
	return p
}

// ask lets it serve one request.
func (p *process) ask(t testing.TB, r request) response {
	t.Helper()
	require.NoError(t, p.enc.Encode(r))
	var answer response
	require.NoError(t, p.dec.Decode(&answer))
	require.Empty(t, answer.Err)
	return answer
}

// runProcess is the other process.
func runProcess() int {
	if err := serveRequests(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveRequests(in io.Reader, out io.Writer) (err error) {
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	var c processConfig
	if err := dec.Decode(&c); err != nil {
		return err
	}
	db, err := gorm.Open(postgres.Open(c.Primary), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	cfg := readsplit.Config{MaxLag: readsplit.Off, SampleTimeout: 10 * time.Second}
	steady(&cfg)
	for name, dsn := range c.Replicas {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: name, Dialector: postgres.Open(dsn)})
	}
	plugin := readsplit.New(cfg)
	if err := db.Use(plugin); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.Background())) }()
	for {
		var r request
		switch err := dec.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := enc.Encode(r.serve(db)); err != nil {
			return err
		}
	}
}

func (r request) serve(db *gorm.DB) (a response) {
	s := readsplit.NewSession()
	s.SetGuarantee(r.Guarantee)
	s.Join(r.Token)
	ctx := readsplit.WithSession(context.Background(), s)
	if r.Fresh {
		ctx = readsplit.Fresh(ctx)
	}
	db = db.WithContext(ctx)
	var errs []error
	if r.SQL != "" {
		errs = append(errs, db.Exec(r.SQL).Error)
	}
	for range r.Reads {
		var row struct {
			N      int
			Server string
		}
		errs = append(errs, db.Raw("SELECT count(*) AS n, current_setting('cluster_name') AS server FROM books_t").Scan(&row).Error)
		a.Seen, a.Servers = append(a.Seen, row.N), append(a.Servers, row.Server)
	}
	var err error
	a.Token, err = s.Token(ctx)
	if err := errors.Join(append(errs, err)...); err != nil {
		a.Err = err.Error()
	}
	return a
}
