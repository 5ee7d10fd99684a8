package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// rebuild makes this replica anew from the server at the end of its chain of upstreams, which is
// the cluster's primary unless a fault says otherwise: after a promotion its history has left the
// primary's, and no rewinding is needed where a copy takes a tenth of a second. It works as well
// when that server is down or frozen, and then copies what lies on the disk.
func (s *Server) rebuild(ctx context.Context) error {
	if err := s.kill(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(s.dataDir); err != nil {
		return fmt.Errorf("rebuild %s: %w", s.name, err)
	}
	source := s.source()
	if err := source.lock(ctx); err != nil { // nobody may start or stop it while we copy
		return err
	}
	defer source.unlock()
	var err error
	if source.running() && !source.frozen {
		err = s.copyRunning(ctx, source)
	} else {
		err = s.cluster.copyTree(ctx, source.dataDir, s.dataDir, notCopied)
	}
	if err != nil {
		return fmt.Errorf("rebuild %s: %w", s.name, err)
	}
	s.adrift = false
	s.diverged = s.under(following)
	return s.makeStandby()
}

// notCopied is what belongs to one life of one server.
func notCopied(path string) bool {
	switch filepath.ToSlash(path) {
	case "postmaster.pid", "postmaster.opts", confFile, "backup_label":
		return true
	}
	switch folder := strings.Split(filepath.ToSlash(path), "/"); folder[0] {
	case "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial", "pg_snapshots", "pg_stat_tmp", "pg_subtrans":
		return len(folder) > 1
	}
	return strings.HasPrefix(filepath.Base(path), "pgsql_tmp")
}

// copyRunning takes a base backup through PostgreSQL's low-level interface, since not every set
// of binaries has pg_basebackup. The WAL comes last and is complete: a replica whose link is cut
// must become consistent without its source.
func (s *Server) copyRunning(ctx context.Context, source *Server) error {
	if err := source.awaitAnswer(ctx); err != nil {
		return err
	}
	return source.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var firstWAL, label string
		if err := conn.QueryRow(ctx, "SELECT pg_walfile_name(pg_backup_start('testenv', true))").Scan(&firstWAL); err != nil {
			return fmt.Errorf("start the backup: %w", err)
		}
		isWAL := func(path string) bool { return strings.HasPrefix(filepath.ToSlash(path), "pg_wal/") }
		if err := s.cluster.copyTree(ctx, source.dataDir, s.dataDir, func(path string) bool {
			return notCopied(path) || isWAL(path) && filepath.Base(path) != "archive_status"
		}); err != nil {
			return err
		}
		if err := conn.QueryRow(ctx, "SELECT labelfile FROM pg_backup_stop(false)").Scan(&label); err != nil {
			return fmt.Errorf("end the backup: %w", err)
		}
		if err := s.cluster.writeFile(filepath.Join(s.dataDir, "backup_label"), []byte(label)); err != nil {
			return err
		}
		files, err := os.ReadDir(filepath.Join(source.dataDir, "pg_wal"))
		if err != nil {
			return err
		}
		for _, f := range files {
			history := strings.HasSuffix(f.Name(), ".history")
			if !f.Type().IsRegular() || !history && (len(f.Name()) != len(firstWAL) || f.Name() < firstWAL) {
				continue
			}
			path := filepath.Join("pg_wal", f.Name())
			if err := ignoreVanished(s.cluster.copyFile(filepath.Join(source.dataDir, path), filepath.Join(s.dataDir, path))); err != nil {
				return err
			}
		}
		return nil
	})
}
