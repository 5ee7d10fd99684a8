package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// openLog opens the server's log for its next life, and says where that begins. With a LogWriter
// what is returned is the end of a pipe; one goroutine copies from it to the file and the writer
// until the last process of the server has closed it.
func (s *Server) openLog() (*os.File, int64, error) {
	log, err := os.OpenFile(s.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open the log of %s: %w", s.name, err)
	}
	at, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("open the log of %s: %w", s.name, errors.Join(err, log.Close()))
	}
	w := s.cluster.cfg.LogWriter
	if w == nil {
		return log, at, nil
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, 0, fmt.Errorf("open the log of %s: %w", s.name, errors.Join(err, log.Close()))
	}
	s.cluster.goroutines.Go(func() {
		defer log.Close()
		defer in.Close()
		copyLog(log, w, s.name, in)
	})
	return out, at, nil
}

// copyLog keeps reading when a writer fails: a full pipe would stop the server.
func copyLog(file, w io.Writer, name string, in io.Reader) {
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			_, _ = file.Write(line)
			_, _ = w.Write(append([]byte(name+": "), line...))
		}
		if err != nil {
			return
		}
	}
}

// SaveLogs copies every server's log to folder dir, which is made if need be, and returns the
// paths. Call it before Close, which removes the logs with everything else. [Start] does it by
// itself for a test that failed.
func (c *Cluster) SaveLogs(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("readsplit: testenv: save logs: %w", err)
	}
	var saved []string
	for _, s := range c.servers {
		log, err := os.ReadFile(s.LogFile())
		if errors.Is(err, os.ErrNotExist) {
			continue // it never started
		}
		path := filepath.Join(dir, s.name+".log")
		if err == nil {
			err = os.WriteFile(path, log, 0o600)
		}
		if err != nil {
			return saved, fmt.Errorf("readsplit: testenv: save logs: %w", err)
		}
		saved = append(saved, path)
	}
	return saved, nil
}
