package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/verify/history"
)

// patience is how long one operation may take: longer than any fault lasts.
const patience = 20 * time.Second

// client is one goroutine that serves one user after the other.
type client struct {
	p   *Process
	id  int
	rng *rand.Rand

	session *readsplit.Session // nil: without one, or a plugin that knows none
	name    string             // of the session; empty: without one
	left    int                // operations until the next user
	recent  []string           // keys that this user, or whoever sent a token, has written
}

func (c *client) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		c.step(ctx)
		pause := time.Duration(0)
		if c.p.cfg.Pause > 0 {
			pause = time.Duration(c.rng.Int64N(int64(c.p.cfg.Pause)))
		}
		if c.rng.IntN(80) == 0 {
			pause += time.Duration(c.rng.IntN(1000)) * time.Millisecond // who reads the page
		}
		timer.Reset(pause)
	}
}

// step is one operation. It is not broken off at the end of the run: what it did
// would be unknown.
func (c *client) step(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if c.left == 0 {
		c.next()
	}
	c.left--
	if c.session != nil {
		ctx = readsplit.WithSession(ctx, c.session)
	}
	switch n := c.rng.IntN(100); {
	case n < 4:
		c.pass(ctx)
	case n < 28 && !c.reader():
		w := c.p.writes[c.rng.IntN(len(c.p.writes))]
		w.run(c, ctx)
	default:
		w := c.p.reads[c.rng.IntN(len(c.p.reads))]
		w.run(c, ctx)
	}
}

// reader reports whether the client's users write nothing, as most users do. They
// have nothing to see of their own, and replicas that are late may serve them.
func (c *client) reader() bool { return c.p.cfg.Process%2 == 0 && c.id%4 == 0 }

// next lets the next user in: a new session, which may join a token that came from
// elsewhere. In every second process every fourth client never has one: what it
// writes binds all reads there.
func (c *client) next() {
	c.session, c.name, c.recent = nil, "", nil
	c.left = 10 + c.rng.IntN(50)
	if c.p.cfg.Process%2 == 1 && c.id%4 == 0 {
		return
	}
	c.name = fmt.Sprintf("s%d.%d", c.p.cfg.Process, c.p.names.Add(1))
	if !c.p.app.sessions {
		return
	}
	c.session = readsplit.NewSession()
	switch c.rng.IntN(8) {
	case 0:
		c.session.Prefer(c.name)
	case 1:
		c.session.KeepServer() // each operation is a request of its own
	case 2, 3:
		if c.p.cfg.Monotonic() {
			c.session.SetGuarantee(session.MonotonicReads)
		}
	}
	if c.rng.IntN(4) > 0 {
		c.join()
	}
}

// join takes up a token that has arrived.
func (c *client) join() {
	m, ok := c.p.received()
	if !ok {
		return
	}
	e := c.begin(history.KindJoin, "join")
	e.Token = m.ID
	if token, err := (readsplit.Config{TokenKeys: c.p.cfg.keys()}).ParseToken(m.Text); err == nil && c.rng.IntN(3) == 0 {
		c.session.JoinToken(token) // as from a store
	} else {
		c.session.Join(m.Text)
	}
	e.Result = history.OK
	c.end(e)
	c.recent = append(c.recent, m.Keys...)
}

// pass sends the session's token to another process, or to this one.
func (c *client) pass(ctx context.Context) {
	if c.session == nil || len(c.recent) == 0 {
		return
	}
	e := c.begin(history.KindToken, "token")
	e.Token = fmt.Sprintf("k%d.%d", c.p.cfg.Process, c.p.names.Add(1))
	text, err := c.token(ctx)
	e.Result, e.Error = outcome(err), told(err)
	c.end(e)
	if err == nil {
		to := 1 + c.rng.IntN(c.p.cfg.Processes)
		c.p.link.Pass(Message{ID: e.Token, Text: text, To: to, Keys: append([]string(nil), c.recent...)})
	}
}

// token takes the session's token, as a text or as a store would.
func (c *client) token(ctx context.Context) (string, error) {
	if c.rng.IntN(3) > 0 {
		return c.session.Token(ctx)
	}
	token, err := c.session.Export(ctx)
	if err != nil || len(token.Positions) == 0 && token.Unsure.IsZero() {
		return "", err
	}
	keys, err := session.NewKeys(c.p.cfg.keys()...)
	if err != nil {
		return "", err
	}
	return keys.Encode(token)
}

func (c *client) begin(kind history.Kind, way string) *Event {
	return &Event{Kind: kind, Process: c.p.cfg.Process, Client: c.id, Session: c.name, Way: way, Invoke: history.Now()}
}

func (c *client) end(e *Event) {
	e.Return = history.Now()
	c.p.link.Record(*e)
}

// handle is one of the ways in which an application configures GORM.
func (c *client) handle(ctx context.Context) *gorm.DB {
	return c.p.handles[c.rng.IntN(len(c.p.handles))].WithContext(ctx)
}

func (c *client) value() string {
	return strconv.Itoa(c.p.cfg.Process) + "." + strconv.FormatInt(c.p.values.Add(1), 10)
}

// hot is how many registers most clients write to, so that they meet.
const hot = 48

// hottest is how many of them are written so often that whoever reads one twice on
// servers that differ sees it go backwards.
const hottest = 3

// register picks one to write, or to read.
func (c *client) register() int {
	if c.rng.IntN(3) == 0 {
		return 1 + c.rng.IntN(hottest)
	}
	return 1 + c.rng.IntN(hot)
}

// list picks one of those that are written just now. They move on, or the lists
// would grow so long that reading them is all that a run does.
func (c *client) list() int {
	return 1 + (int(time.Since(c.p.began)/time.Second)*8+c.rng.IntN(24))%registers
}

// wrote remembers a key to read back.
func (c *client) wrote(keys ...string) {
	c.recent = append(c.recent, keys...)
	if len(c.recent) > 8 {
		c.recent = c.recent[len(c.recent)-8:]
	}
}

// doubtful reports whether this is one of the moments in which clients do what leaves
// an outcome open. A session reads from the primary for seconds after it, and so does
// its whole process where there is no session: all the time, and replicas would
// never be read from. Whoever asks for certain ways gets them.
func (c *client) doubtful() bool {
	return len(c.p.cfg.Ways) > 0 || time.Since(c.p.began)%(12*time.Second) < 300*time.Millisecond
}

// look picks a key of a kind to read: mostly one that was written lately.
func (c *client) look(kind string, other func() int) int {
	if c.rng.IntN(4) > 0 {
		for n := range c.recent {
			if key := c.recent[len(c.recent)-1-n]; strings.HasPrefix(key, kind) && c.rng.IntN(3) > 0 {
				if id, err := strconv.Atoi(key[1:]); err == nil {
					return id
				}
			}
		}
	}
	return other()
}
