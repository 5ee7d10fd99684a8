package tdsenv

import (
	"context"
	"errors"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tds"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// answer serves one message. Its error ends the connection.
func (c *connection) answer(m tds.Message) error {
	if err := c.thawed(); err != nil {
		return err
	}
	if m.Kind == tds.Attention {
		if !c.attended() {
			return nil // the request that it was for has answered it
		}
		return c.respond(false).Cancelled()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.mu.Lock()
	c.cancel = cancel
	if c.attention {
		cancel()
	}
	c.mu.Unlock()
	r := c.respond(m.Kind == tds.RPC)
	r.InTx = c.session.InTransaction
	defer func() {
		if after := c.after; after != nil {
			c.after = nil
			after()
		}
	}()
	err := c.request(ctx, m, r)
	c.mu.Lock()
	c.cancel = nil
	c.mu.Unlock()
	select {
	case <-c.gone:
		return errSevered
	default:
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if c.attended() {
		return r.Cancelled()
	}
	return r.Finish()
}

// text is what a request is about, for failures and traces.
func (c *connection) request(ctx context.Context, m tds.Message, r *tds.Response) error {
	if m.Reset {
		if err := c.session.Reset(r); err != nil {
			return err
		}
		if err := r.ResetDone(); err != nil {
			return err
		}
	}
	var text string
	var run func() error
	switch m.Kind {
	case tds.Batch:
		batch, err := tds.ParseBatch(m.Payload)
		if err != nil {
			return err
		}
		text, run = batch, c.administer(ctx, batch, r)
		if run == nil {
			run = func() error { return c.session.Run(ctx, batch, nil, r) }
		}
	case tds.RPC:
		call, err := tds.ParseCall(m.Payload)
		if err != nil {
			return c.refuse(r, sqlval.NotModelled("this request: %v", err))
		}
		text, run = c.callText(call), func() error { return c.call(ctx, call, r) }
	case tds.Transaction:
		q, err := tds.ParseTx(m.Payload)
		if err != nil {
			return c.refuse(r, sqlval.NotModelled("this request: %v", err))
		}
		text, run = txTexts[q.Kind], func() error { return c.transaction(q, r) }
	default:
		return c.refuse(r, sqlval.NotModelled("messages of type %d", m.Kind))
	}
	s := c.server
	if s.cluster.cfg.Trace != nil {
		s.cluster.cfg.Trace(s.name, text)
	}
	if f := s.failure(text, false, false); f != nil {
		return c.fail(r, f)
	}
	if err := run(); err != nil {
		return err
	}
	if f := s.failure(text, false, true); f != nil {
		return c.fail(r, f)
	}
	return nil
}

var txTexts = map[uint16]string{tds.TxBegin: "BEGIN TRANSACTION", tds.TxCommit: "COMMIT TRANSACTION", tds.TxRollback: "ROLLBACK TRANSACTION", tds.TxSave: "SAVE TRANSACTION"}

// refuse answers with an error.
func (c *connection) refuse(r *tds.Response, e *sqlval.Error) error {
	if err := r.Error(e); err != nil {
		return err
	}
	return r.Done(engine.CmdOther, -1, true)
}

// fail does what a Failure says.
func (c *connection) fail(r *tds.Response, f *Failure) error {
	e := f.err()
	if e == nil {
		return errSevered
	}
	if err := c.refuse(r, e); err != nil {
		return err
	}
	if !f.Sever && f.Class < 20 {
		return nil
	}
	if err := r.Finish(); err != nil {
		return err
	}
	return errGoodbye
}

func (c *connection) transaction(q tds.TxRequest, r *tds.Response) error {
	var err error
	switch q.Kind {
	case tds.TxBegin:
		err = c.session.Begin(q.Isolation, q.Name, r)
	case tds.TxCommit:
		err = c.session.Commit(r)
	case tds.TxRollback:
		err = c.session.Rollback(q.Name, r)
	case tds.TxSave:
		err = c.session.Save(q.Name)
	}
	if err == nil && q.Again {
		err = c.session.Begin(q.Isolation, "", r)
	}
	var e *sqlval.Error
	if errors.As(err, &e) {
		return c.refuse(r, e)
	}
	if err != nil {
		return err
	}
	return r.Done(engine.CmdOther, -1, false)
}

// prepared is a statement of sp_prepare.
type prepared struct {
	text   string
	params []tsql.Declare
}

// callText is the SQL of an RPC.
func (c *connection) callText(call tds.Call) string {
	text := func(i int) string {
		if i < len(call.Params) {
			s, _ := call.Params[i].Value.(string)
			return s
		}
		return ""
	}
	switch procedure(call) {
	case "sp_executesql":
		return text(0)
	case "sp_prepare", "sp_prepexec":
		return text(2)
	case "sp_execute":
		if p, ok := c.prepared[handle(call)]; ok {
			return p.text
		}
	}
	return "EXEC " + call.Name
}

func procedure(call tds.Call) string {
	name := strings.ToLower(call.Name)
	return strings.TrimPrefix(strings.TrimPrefix(name, "master."), "sys.")
}

func handle(call tds.Call) int32 {
	if len(call.Params) > 0 {
		n, _ := call.Params[0].Value.(int64)
		return int32(n)
	}
	return 0
}

// call runs an RPC.
func (c *connection) call(ctx context.Context, call tds.Call, r *tds.Response) error {
	err := c.procedure(ctx, call, r)
	var e *sqlval.Error
	if errors.As(err, &e) {
		return c.refuse(r, e)
	}
	if err != nil {
		return err
	}
	return r.ReturnStatus(0)
}

func (c *connection) procedure(ctx context.Context, call tds.Call, r *tds.Response) error {
	text := func(i int) string {
		if i >= len(call.Params) {
			return ""
		}
		s, _ := call.Params[i].Value.(string)
		return s
	}
	switch procedure(call) {
	case "sp_executesql":
		params, err := tsql.ParseParams(text(1))
		if err != nil {
			return err
		}
		return c.execute(ctx, prepared{text(0), params}, call.Params[min(2, len(call.Params)):], r)
	case "sp_prepare", "sp_prepexec":
		if len(call.Params) < 3 {
			return engine.NoProcedure(call.Name)
		}
		params, err := tsql.ParseParams(text(1))
		if err != nil {
			return err
		}
		p := prepared{text(2), params}
		if _, err := tsql.Parse(p.text); err != nil {
			return err
		}
		c.handles++
		c.prepared[c.handles] = p
		if procedure(call) == "sp_prepexec" {
			if err := c.execute(ctx, p, call.Params[3:], r); err != nil {
				return err
			}
		}
		return r.ReturnValue(0, call.Params[0].Name, sqlval.IntType, int64(c.handles))
	case "sp_execute":
		p, ok := c.prepared[handle(call)]
		if !ok {
			return sqlval.Errorf(8179, "Could not find prepared statement with handle %d.", handle(call))
		}
		return c.execute(ctx, p, call.Params[1:], r)
	case "sp_unprepare":
		delete(c.prepared, handle(call))
		return nil
	}
	return engine.NoProcedure(call.Name)
}

// execute runs a statement with its parameters, by name or by place.
func (c *connection) execute(ctx context.Context, p prepared, args []tds.Argument, r *tds.Response) error {
	var params []engine.Param
	for i, d := range p.params {
		at := -1
		for j, a := range args {
			if strings.EqualFold(a.Name, d.Name) || a.Name == "" && i == j {
				at = j
			}
		}
		if at < 0 {
			return sqlval.Errorf(8178, "The parameterized query expects the parameter '@%s', which was not supplied.", d.Name)
		}
		if args[at].Output {
			return sqlval.NotModelled("an OUTPUT parameter: @%s", d.Name)
		}
		params = append(params, engine.Param{Name: d.Name, Type: d.Type, Value: args[at].Value})
	}
	if len(args) > len(p.params) {
		return sqlval.Errorf(8144, "Procedure or function has too many arguments specified.")
	}
	return c.session.Run(ctx, p.text, params, r)
}
