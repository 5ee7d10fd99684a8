package tdsenv

import (
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// openDatabase is a database of the group as one session has it.
type openDatabase struct {
	replica  *replica
	readOnly bool // the session's intent
}

func (d *openDatabase) Name() string { return d.replica.db.name }
func (d *openDatabase) ID() int64    { return d.replica.db.id }

// State is the newest commit on the primary, and what has been redone and is shown on a secondary.
func (d *openDatabase) State() (*engine.State, error) {
	r := d.replica
	c := r.server.cluster
	c.mu.Lock()
	if err := r.refusal(d.readOnly); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	w := r.writer
	state := endOf(r.log, r.visible).state
	c.mu.Unlock()
	if w != nil {
		return w.Head(), nil // not under the cluster's lock: the writer takes that one within its own
	}
	return state, nil
}

// Writer is nil on a secondary.
func (d *openDatabase) Writer() (*engine.Writer, error) {
	r := d.replica
	c := r.server.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := r.refusal(d.readOnly); err != nil {
		return nil, err
	}
	return r.writer, nil
}

func (d *openDatabase) Updateability() string {
	c := d.replica.server.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.replica.writer != nil {
		return "READ_WRITE"
	}
	return "READ_ONLY"
}

// refusal says why a session may not have the database now. The cluster is locked.
func (r *replica) refusal(readOnly bool) error {
	s := r.server
	if r.writer != nil {
		return s.lost(r.db)
	}
	switch access := s.access(); {
	case access == AllowNone:
		return atLogin(976, "The target database, '%s', is participating in an availability group and is currently not accessible for queries. Either data movement is suspended or the availability replica is not enabled for read access.", r.db.name)
	case access == AllowReadOnly && !readOnly:
		return atLogin(978, "The target database ('%s') is in an availability group and is currently accessible for connections when the application intent is set to read only.", r.db.name)
	}
	return nil
}

// lost is the error of a primary that has lost its quorum.
func (s *Server) lost(db *database) error {
	if !s.cluster.cfg.NoGroup && s == s.cluster.primary && s.under(cut) {
		return atLogin(988, "Unable to access database '%s' because it lacks a quorum of nodes for high availability. Try the operation again later.", db.name)
	}
	return nil
}

// master is the database that every server has for itself, in no group.
type master struct {
	server *Server
	writer *engine.Writer
}

func (*master) Name() string                      { return "master" }
func (*master) ID() int64                         { return 1 }
func (m *master) State() (*engine.State, error)   { return m.writer.Head(), nil }
func (m *master) Writer() (*engine.Writer, error) { return m.writer, nil }
func (*master) Updateability() string             { return "READ_WRITE" }

// unknownDatabase is the error of a login, and of USE.
func unknownDatabase(name string) *sqlval.Error {
	e := sqlval.Errorf(4060, "Cannot open database \"%s\" requested by the login. The login failed.", name)
	e.Class = 11
	return e
}
