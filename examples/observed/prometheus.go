package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// server is Prometheus, as a child process on a free port.
type server struct {
	url     string
	command *exec.Cmd
	guard   *exec.Cmd
	life    io.WriteCloser // the guard's input
	log     tail
	ended   chan struct{}
}

// config is all that Prometheus has to know.
const config = `
global:
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  evaluation_interval: %[4]s
rule_files: [%[2]s]
scrape_configs:
  - job_name: shop
    static_configs:
      - targets: [%[3]s]
`

// listening is what Prometheus says when it has a port.
var listening = regexp.MustCompile(`msg="Listening on".* address="?([0-9.:]+)`)

// looks is how often Prometheus looks at the shop, and judges tells how often at its rules.
const looks, judges = 500 * time.Millisecond, 200 * time.Millisecond

// prometheusServer starts Prometheus in a folder of its own, and returns when it is ready.
func prometheusServer(ctx context.Context, dir, target string, rules []byte) (*server, error) {
	path, err := exec.LookPath("prometheus")
	if err != nil {
		return nil, fmt.Errorf("observed: no prometheus in PATH: run scripts/deps.sh, or install it by hand: %w", err)
	}
	rulesFile, configFile := filepath.Join(dir, "alerts.yml"), filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(rulesFile, rules, 0o600); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(config, milliseconds(looks), strconv.Quote(rulesFile), strings.TrimPrefix(target, "http://"), milliseconds(judges))
	if err := os.WriteFile(configFile, []byte(text), 0o600); err != nil {
		return nil, err
	}
	s := &server{ended: make(chan struct{})}
	s.command = exec.Command(path, "--config.file="+configFile, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	out, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("observed: start prometheus: %w", err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(s.ended)
		s.follow(out, address)
		_ = s.command.Wait() // why it ended is in its log
	}()
	if err := s.watch(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	select {
	case a := <-address:
		s.url = "http://" + a
	case <-s.ended:
		return nil, fmt.Errorf("observed: prometheus has ended before it listened:\n%s", s.log.String())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.close())
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// watch starts a guard that ends Prometheus when this process dies without saying so. A
// terminal's Ctrl-C goes to the guard, too.
func (s *server) watch() (err error) {
	s.guard = exec.Command("sh", "-c", `trap "" INT; read -r _ || kill -TERM "$1"`, "sh", strconv.Itoa(s.command.Process.Pid))
	if s.life, err = s.guard.StdinPipe(); err != nil {
		return err
	}
	return s.guard.Start()
}

// follow reads what Prometheus says until it ends.
func (s *server) follow(out io.Reader, address chan<- string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.log.add(lines.Text())
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case address <- m[1]:
			default: // it says it once, as far as is known
			}
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line that is too long must not stop it
}

// ready waits until it answers.
func (s *server) ready(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		res, err := get(ctx, s.url+"/-/ready")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return fmt.Errorf("observed: prometheus has ended:\n%s", s.log.String())
		case <-ctx.Done():
			return fmt.Errorf("observed: prometheus is not ready: %w\n%s", ctx.Err(), s.log.String())
		}
	}
}

// close ends Prometheus and its guard.
func (s *server) close() error {
	err := s.command.Process.Signal(os.Interrupt)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	late := time.AfterFunc(5*time.Second, func() { _ = s.command.Process.Kill() })
	<-s.ended
	late.Stop()
	if s.life != nil && s.guard.Process != nil {
		_, _ = io.WriteString(s.life, "done\n")
		_ = s.life.Close()
		err = errors.Join(err, s.guard.Wait())
	}
	return err
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// tail keeps the newest lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 50 {
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, line)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	for _, l := range t.lines {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}
