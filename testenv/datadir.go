package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// confFile holds everything that testenv sets; initdb's own postgresql.conf includes it.
const confFile = "readsplit.conf"

// initialise makes the primary's data folder, which is afterwards copied to the replicas.
func (c *Cluster) initialise(ctx context.Context, dataDir string) error {
	secret, err := scramSecret(c.password)
	if err != nil {
		return err
	}
	home := filepath.Dir(dataDir)
	pwfile := filepath.Join(home, "password")
	if err := c.writeFile(pwfile, []byte(secret+"\n")); err != nil {
		return err
	}
	cmd := c.account.command(home, c.install.program("initdb"),
		"-D", dataDir, "-U", superuser, "-A", "scram-sha-256", "--pwfile", pwfile,
		"--no-locale", "-E", "UTF8", "--no-sync", "--no-instructions")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start initdb: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // Wait reports it
	defer stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("initdb: %w: %s", errors.Join(err, ctx.Err()), lastLines(output.String(), 5))
	}
	if err := os.Remove(pwfile); err != nil {
		return fmt.Errorf("remove the password file: %w", err)
	}
	conf, err := os.OpenFile(filepath.Join(dataDir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(conf, "\ninclude '%s'\n", confFile)
	if err = errors.Join(err, conf.Close()); err != nil {
		return fmt.Errorf("write postgresql.conf: %w", err)
	}
	return nil
}

// defaults make a server that starts fast and forgives: nothing is written through to the disk,
// all memory that other processes could inherit lies in the data folder, and a link that was cut
// is taken up again at once. What applications feel (synchronous_commit, autovacuum,
// hot_standby_feedback, max_standby_streaming_delay) is as PostgreSQL has it.
func defaults(replicas int) map[string]string {
	return map[string]string{
		"unix_socket_directories":      "",
		"max_connections":              "200",
		"shared_buffers":               "16MB",
		"dynamic_shared_memory_type":   "mmap", // segments of a killed server would stay in /dev/shm
		"fsync":                        "off",
		"wal_level":                    "replica",
		"max_wal_size":                 "128MB",
		"wal_keep_size":                "256MB", // a replica that was cut off must find its way back
		"max_wal_senders":              strconv.Itoa(10 + replicas),
		"wal_retrieve_retry_interval":  "100ms",
		"wal_receiver_timeout":         "5s",
		"wal_sender_timeout":           "5s",
		"log_line_prefix":              "%m [%p] %q%u@%d ",
		"timezone":                     "UTC",
		"log_timezone":                 "UTC",
		"recovery_target_timeline":     "latest",
		"wal_receiver_status_interval": "1s",
	}
}

// writeConf writes what testenv sets for this server as it should be now.
func (s *Server) writeConf() error {
	settings := defaults(len(s.cluster.servers) - 1)
	maps.Copy(settings, s.cluster.cfg.Settings)
	maps.Copy(settings, map[string]string{
		"cluster_name":     s.name,
		"listen_addresses": "127.0.0.1",
		"port":             strconv.Itoa(s.Port()),
		"hot_standby":      "on",
		"lc_messages":      "C", // the start reads the log for "Address already in use"
	})
	if s.relay != nil {
		settings["primary_conninfo"] = fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s application_name=%s connect_timeout=5 sslmode=disable gssencmode=disable",
			s.relay.port(), superuser, s.cluster.password, s.name)
		settings["recovery_min_apply_delay"] = strconv.FormatInt(s.wantedDelay().Milliseconds(), 10) + "ms"
	}
	var conf strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&conf, "%s = '%s'\n", name, strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(settings[name]))
	}
	return s.cluster.writeFile(filepath.Join(s.dataDir, confFile), []byte(conf.String()))
}

// makeStandby turns a copy of the primary's folder into this replica's.
func (s *Server) makeStandby() error {
	if err := s.writeConf(); err != nil {
		return err
	}
	return s.cluster.writeFile(filepath.Join(s.dataDir, "standby.signal"), nil)
}

// writeFile replaces a file that the servers' account owns. It is written beside its place and
// renamed: a server that reloads at this moment must not read half of it.
func (c *Cluster) writeFile(path string, content []byte) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return err
	}
	if err := errors.Join(c.account.give(temp), os.Rename(temp, path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// makeDir makes a folder of the servers' account.
func (c *Cluster) makeDir(path string) error {
	if err := errors.Join(os.Mkdir(path, 0o700), c.account.give(path)); err != nil {
		return fmt.Errorf("make folder %s: %w", path, err)
	}
	return nil
}

// copyTree copies a data folder, leaving out what skip names by its path inside it. Files that
// vanish meanwhile are left out too: a running server removes temporary ones all the time.
func (c *Cluster) copyTree(ctx context.Context, from, to string, skip func(path string) bool) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return ignoreVanished(err)
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if inside != "." && skip(inside) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		target := filepath.Join(to, inside)
		switch {
		case d.IsDir():
			return c.makeDir(target)
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link: clusters with tablespaces or a moved pg_wal cannot be copied", path)
		case d.Type().IsRegular():
			return ignoreVanished(c.copyFile(path, target))
		}
		return nil
	})
}

func ignoreVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (c *Cluster) copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in) // copy_file_range where the system has it
	if err = errors.Join(err, out.Close(), c.account.give(to)); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n\t")
}
