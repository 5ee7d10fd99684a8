package waitdouble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// link is one connection through a Server.
type link struct {
	s            *Server
	client, real net.Conn
	life         context.Context
	end          context.CancelFunc
	writes       sync.Mutex // of whole messages to the client

	// Guarded by Server.mu.
	key    []byte // for cancel requests: process and secret
	status byte   // of the transaction
	waits  context.CancelFunc
}

func (l *link) close() {
	l.end()
	_ = l.client.Close() // what is broken already has nothing to say
	_ = l.real.Close()
}

// answers passes on what the real server says.
func (l *link) answers() {
	defer l.close()
	for {
		f, err := readFrame(l.real)
		if err != nil {
			return
		}
		switch f.kind() {
		case 'K':
			l.s.mu.Lock()
			l.key = append([]byte(nil), f.body()...)
			l.s.mu.Unlock()
		case 'Z':
			l.s.mu.Lock()
			l.status = f.body()[0]
			l.s.mu.Unlock()
		case 'D':
			copy(f, bytes.ReplaceAll(f, l.s.was, l.s.is)) // as long as before
		}
		l.writes.Lock()
		_, err = l.client.Write(f)
		l.writes.Unlock()
		if err != nil {
			return
		}
	}
}

// questions passes on what the client says, and answers waits.
func (l *link) questions() {
	for {
		f, err := readFrame(l.client)
		if err != nil {
			return
		}
		text := ""
		if f.kind() == 'Q' {
			text = strings.TrimRight(string(f.body()), "\x00")
		}
		waits := waitFor.MatchString(text)
		if f.kind() == 'Q' || f.kind() == 'E' {
			l.s.mu.Lock()
			if waits {
				l.s.counts.Waits++
				l.s.counts.Statements = append(l.s.counts.Statements, text)
			} else {
				l.s.counts.Questions++
			}
			l.s.mu.Unlock()
		}
		if waits && !l.s.options.Old {
			err = l.wait(text)
		} else {
			_, err = l.real.Write(f)
		}
		if err != nil {
			return
		}
	}
}

// wait answers a WAIT FOR LSN.
func (l *link) wait(text string) error {
	s := l.s
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	s.mu.Lock()
	l.waits = cancel
	s.counts.Away++
	s.counts.MostAway = max(s.counts.MostAway, s.counts.Away)
	s.mu.Unlock()
	status, refused, err := l.run(ctx, text)
	s.mu.Lock()
	l.waits = nil
	s.counts.Away--
	tx := l.status
	s.mu.Unlock()
	switch {
	case l.life.Err() != nil:
		return l.life.Err()
	case ctx.Err() != nil:
		refused = refusal("57014", "canceling statement due to user request")
	case err != nil:
		return err // the real server is gone
	}
	if refused != nil {
		if tx == 'T' {
			// The transaction fails on the real server too.
			return l.fail(refused)
		}
		return l.send(refused, &pgproto3.ReadyForQuery{TxStatus: tx})
	}
	return l.send(
		&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("status"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}},
		&pgproto3.DataRow{Values: [][]byte{[]byte(status)}},
		&pgproto3.CommandComplete{CommandTag: []byte("WAIT FOR")},
		&pgproto3.ReadyForQuery{TxStatus: tx},
	)
}

// fail has the real server end a transaction with an error of the same code.
func (l *link) fail(e *pgproto3.ErrorResponse) error {
	text := fmt.Sprintf("DO $$ BEGIN RAISE EXCEPTION '%s' USING ERRCODE = '%s'; END $$", strings.ReplaceAll(e.Message, "'", "''"), e.Code)
	q, err := (&pgproto3.Query{String: text}).Encode(nil)
	if err != nil {
		return err
	}
	_, err = l.real.Write(q)
	return err
}

// run is what a server of the version does.
func (l *link) run(ctx context.Context, text string) (status string, refused *pgproto3.ErrorResponse, err error) {
	w, refused := parse(text)
	if refused != nil {
		return "", refused, nil
	}
	s := l.s
	s.mu.Lock()
	tx, pid, lies := l.status, binary.BigEndian.Uint32(l.key), s.lies
	s.mu.Unlock()
	var snapshot, locks bool
	switch tx {
	case 'E':
		return "", refusal("25P02", "current transaction is aborted, commands ignored until end of transaction block"), nil
	case 'T':
		err := s.ask(ctx, fmt.Sprintf(`SELECT
			(SELECT backend_xmin IS NOT NULL FROM pg_stat_activity WHERE pid = %d),
			EXISTS (SELECT FROM pg_locks WHERE pid = %[1]d AND locktype <> 'virtualxid')`, pid), &snapshot, &locks)
		if err != nil {
			return "", nil, err
		}
	}
	if snapshot {
		return "", refusal("55000", "WAIT FOR must be called without an active or registered snapshot"), nil
	}
	for began := time.Now(); ; {
		var standby, there bool
		err := s.ask(ctx, fmt.Sprintf("SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn() >= '%X/%X', false)", w.lsn>>32, uint32(w.lsn)), &standby, &there)
		if err != nil {
			return "", nil, err
		}
		s.mu.Lock()
		held := s.held
		s.mu.Unlock()
		switch over := w.timeout > 0 && time.Since(began) >= w.timeout; {
		case held:
		case there || lies:
			return "success", nil, nil
		case !standby && w.throws:
			return "", refusal("55000", "recovery is not in progress"), nil
		case !standby:
			return "not in recovery", nil, nil
		case locks:
			return "", refusal("55000", "waitdouble: the session holds a lock and would have to wait"), nil
		case over && w.throws:
			return "", refusal("57014", "timed out while waiting for target LSN %X/%08X to be replayed", w.lsn>>32, uint32(w.lsn)), nil
		case over:
			return "timeout", nil, nil
		}
		pause := time.NewTimer(100 * time.Microsecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return "", nil, errors.New("ended")
		}
	}
}
