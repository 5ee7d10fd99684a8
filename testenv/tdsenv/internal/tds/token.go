package tds

import (
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// Tokens and flags of DONE.
const (
	tokReturnStatus = 0x79
	tokColumns      = 0x81
	tokError        = 0xAA
	tokInfo         = 0xAB
	tokReturnValue  = 0xAC
	tokRow          = 0xD1
	tokEnvironment  = 0xE3
	tokDone         = 0xFD
	tokDoneProc     = 0xFE
	tokDoneInProc   = 0xFF

	doneMore      = 0x01
	doneError     = 0x02
	doneInTx      = 0x04
	doneCount     = 0x10
	doneAttention = 0x20
)

// Response is the answer to one request. It is an engine.Sink.
type Response struct {
	Server string
	// InTx says for DONE tokens whether a transaction is open.
	InTx func() bool
	// Before is called before anything is sent; its error ends the connection.
	Before func() error

	c       *Conn
	proc    bool
	cols    []engine.Column
	pending *done
	failed  bool
}

type done struct {
	status, cmd uint16
	count       uint64
}

var _ engine.Sink = (*Response)(nil)

// Respond begins an answer; proc says that it is to an RPC.
func (c *Conn) Respond(proc bool) *Response {
	c.begin(Reply)
	return &Response{c: c, proc: proc}
}

func (r *Response) raw(b []byte) error {
	if r.Before != nil {
		if err := r.Before(); err != nil {
			return err
		}
	}
	return r.c.put(b)
}

// token writes what is not a DONE; a DONE before it was not the last.
func (r *Response) token(b []byte) error {
	if err := r.flushDone(doneMore); err != nil {
		return err
	}
	return r.raw(b)
}

func (r *Response) flushDone(flag uint16) error {
	d := r.pending
	if d == nil {
		return nil
	}
	r.pending = nil
	token := uint8(tokDone)
	if r.proc {
		token, flag = tokDoneInProc, doneMore
	}
	return r.raw(r.done(token, *d, flag))
}

func (r *Response) done(token uint8, d done, flag uint16) []byte {
	w := &writer{}
	w.uint8(token)
	status := d.status | flag
	if r.InTx != nil && r.InTx() {
		status |= doneInTx
	}
	w.uint16(status)
	w.uint16(d.cmd)
	w.uint64(d.count)
	return w.b
}

// Columns begins a result.
func (r *Response) Columns(cols []engine.Column) error {
	r.cols = cols
	w := &writer{}
	w.uint8(tokColumns)
	w.uint16(uint16(len(cols)))
	for _, c := range cols {
		w.uint32(0)
		flags := uint16(0x08) // updatable or not is unknown
		if c.Nullable {
			flags |= 1
		}
		w.uint16(flags)
		w.typeInfo(c.Type)
		w.byteText(c.Name)
	}
	return r.token(w.b)
}

// Row is a row of the result that Columns has begun.
func (r *Response) Row(row []any) error {
	w := &writer{}
	w.uint8(tokRow)
	for i, v := range row {
		if err := w.value(r.cols[i].Type, v); err != nil {
			return err
		}
	}
	return r.token(w.b)
}

// Done ends a statement.
func (r *Response) Done(cmd uint16, count int64, failed bool) error {
	if err := r.flushDone(doneMore); err != nil {
		return err
	}
	d := &done{cmd: cmd}
	if count >= 0 {
		d.status, d.count = doneCount, uint64(count)
	}
	if failed {
		d.status |= doneError
		r.failed = true
	}
	r.pending = d
	return nil
}

// Error is an error of a statement.
func (r *Response) Error(e *sqlval.Error) error {
	w := &writer{}
	w.message(tokError, e, r.Server)
	return r.token(w.b)
}

// Info is a message of severity 0.
func (r *Response) Info(text string) error {
	w := &writer{}
	w.message(tokInfo, &sqlval.Error{State: 1, Message: text}, r.Server)
	return r.token(w.b)
}

// Transaction tells that a transaction has begun or ended.
func (r *Response) Transaction(e engine.Event, id uint64) error {
	descriptor := &writer{}
	descriptor.uint64(id)
	w := &writer{}
	if e == engine.Began {
		w.envBytes(uint8(e), descriptor.b, nil)
	} else {
		w.envBytes(uint8(e), nil, descriptor.b)
	}
	return r.token(w.b)
}

// Database tells that the database is another now.
func (r *Response) Database(name, old string) error {
	w := &writer{}
	w.envText(1, name, old)
	w.message(tokInfo, &sqlval.Error{Number: 5701, State: 2, Message: "Changed database context to '" + name + "'."}, r.Server)
	return r.token(w.b)
}

// ResetDone confirms that the session was reset.
func (r *Response) ResetDone() error {
	w := &writer{}
	w.envBytes(18, nil, nil)
	return r.token(w.b)
}

// ReturnValue is an output parameter of a procedure.
func (r *Response) ReturnValue(ordinal uint16, name string, typ sqlval.Type, v any) error {
	w := &writer{}
	w.uint8(tokReturnValue)
	w.uint16(ordinal)
	w.byteText(name)
	w.uint8(1)
	w.uint32(0)
	w.uint16(0)
	w.typeInfo(typ)
	if err := w.value(typ, v); err != nil {
		return err
	}
	return r.token(w.b)
}

// ReturnStatus is what a procedure returns.
func (r *Response) ReturnStatus(n int32) error {
	w := &writer{}
	w.uint8(tokReturnStatus)
	w.uint32(uint32(n))
	return r.token(w.b)
}

// Finish ends the answer.
func (r *Response) Finish() error {
	if r.proc {
		if err := r.flushDone(doneMore); err != nil {
			return err
		}
		d := done{cmd: 0xE0}
		if r.failed {
			d.status = doneError
		}
		if err := r.raw(r.done(tokDoneProc, d, 0)); err != nil {
			return err
		}
		return r.c.end()
	}
	if r.pending == nil {
		r.pending = &done{cmd: engine.CmdOther}
	}
	if err := r.flushDone(0); err != nil {
		return err
	}
	return r.c.end()
}

// Cancelled ends the answer to a request whose client has sent an attention.
func (r *Response) Cancelled() error {
	if err := r.flushDone(doneMore); err != nil {
		return err
	}
	if err := r.raw(r.done(tokDone, done{status: doneAttention}, 0)); err != nil {
		return err
	}
	return r.c.end()
}

func (w *writer) message(token uint8, e *sqlval.Error, server string) {
	body := &writer{}
	body.uint32(uint32(e.Number))
	body.uint8(e.State)
	body.uint8(e.Class)
	body.shortText(e.Message)
	body.byteText(server)
	body.byteText("")
	body.uint32(1)
	w.uint8(token)
	w.uint16(uint16(len(body.b)))
	w.bytes(body.b)
}

func (w *writer) envText(kind uint8, value, old string) {
	body := &writer{}
	body.uint8(kind)
	body.byteText(value)
	body.byteText(old)
	w.environment(body.b)
}

func (w *writer) envBytes(kind uint8, value, old []byte) {
	body := &writer{}
	body.uint8(kind)
	for _, b := range [][]byte{value, old} {
		body.uint8(uint8(len(b)))
		body.bytes(b)
	}
	w.environment(body.b)
}

func (w *writer) environment(body []byte) {
	w.uint8(tokEnvironment)
	w.uint16(uint16(len(body)))
	w.bytes(body)
}
