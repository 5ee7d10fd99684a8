package tds

import "github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"

// Call is an RPC.
type Call struct {
	Name   string // in lower case, without a schema of its own
	Params []Argument
}

// Argument is a parameter of an RPC.
type Argument struct {
	Name   string // without the @
	Output bool
	Type   sqlval.Type
	Value  any
}

// procedures are those with a number instead of a name.
var procedures = map[uint16]string{10: "sp_executesql", 11: "sp_prepare", 12: "sp_execute", 13: "sp_prepexec", 15: "sp_unprepare"}

// headers passes ALL_HEADERS.
func (r *reader) headers() {
	total := r.uint32()
	if total < 4 || int64(total) > int64(len(r.b))+4 {
		r.fail("headers of %d bytes", total)
		return
	}
	r.take(int(total) - 4)
}

// ParseBatch reads the text of a batch.
func ParseBatch(b []byte) (string, error) {
	r := &reader{b: b}
	r.headers()
	return utf16Text(r.b), r.err
}

// ParseCall reads an RPC.
func ParseCall(b []byte) (Call, error) {
	r := &reader{b: b}
	r.headers()
	var c Call
	if n := r.uint16(); n == 0xFFFF {
		id := r.uint16()
		c.Name = procedures[id]
		if c.Name == "" {
			r.fail("procedure number %d, which the double does not model", id)
		}
	} else {
		c.Name = utf16Text(r.take(2 * int(n)))
	}
	r.uint16() // options
	for r.err == nil && len(r.b) > 0 {
		a := Argument{Name: r.byteText()}
		if len(a.Name) > 0 && a.Name[0] == '@' {
			a.Name = a.Name[1:]
		}
		status := r.uint8()
		a.Output = status&1 != 0
		if status&8 != 0 {
			r.fail("an encrypted parameter, which the double does not model")
		}
		a.Type, a.Value = r.parameter()
		c.Params = append(c.Params, a)
	}
	return c, r.err
}

// Transaction manager requests.
const (
	TxBegin    = 5
	TxCommit   = 7
	TxRollback = 8
	TxSave     = 9
)

// TxRequest is a request to the transaction manager.
type TxRequest struct {
	Kind      uint16
	Isolation string // of TxBegin, "" for the session's own
	Name      string
	Again     bool // begin another one after a commit or rollback
}

var isolations = map[uint8]string{1: "read uncommitted", 2: "read committed", 3: "repeatable read", 4: "serializable", 5: "snapshot"}

// ParseTx reads a transaction manager request.
func ParseTx(b []byte) (TxRequest, error) {
	r := &reader{b: b}
	r.headers()
	q := TxRequest{Kind: r.uint16()}
	switch q.Kind {
	case TxBegin:
		q.Isolation = isolations[r.uint8()]
		q.Name = r.byteText()
	case TxCommit, TxRollback:
		q.Name = r.byteText()
		if r.uint8()&1 != 0 {
			q.Again = true
			q.Isolation = isolations[r.uint8()]
			r.byteText()
		}
	case TxSave:
		q.Name = r.byteText()
	default:
		r.fail("transaction manager request %d, which the double does not model", q.Kind)
	}
	return q, r.err
}
