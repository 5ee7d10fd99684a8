package readsplit

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// manner is how one server has to be asked: some refuse to tell where they are, and a
// question that asks for it among other things gets no answer at all.
type manner struct{ now atomic.Pointer[refused] }

// refused is what a server did not tell.
type refused struct {
	position, system bool
	until            time.Time // it is asked once more then: somebody may have granted it
}

// refusedFor is how long a server is not asked again for what it has refused: each
// time leaves an error in its log.
const refusedFor = 5 * time.Minute

func (m *manner) refusal() refused {
	if r := m.now.Load(); r != nil && time.Now().Before(r.until) {
		return *r
	}
	return refused{}
}

// bare reports whether the server does not tell its position.
func (m *manner) bare() bool { return m.refusal().position }

// question returns what to ask: full, or what of it the server tells.
func (m *manner) question(full, bare string) string {
	switch r := m.refusal(); {
	case r.system:
		return lsn.WithoutSystem(bare)
	case r.position:
		return bare
	}
	return full
}

// put asks the server, and for less where it refuses.
func (m *manner) put(full, bare string, ask func(question string) (string, error)) (text string, err error) {
	r, twice := m.refusal(), false
	for {
		text, err = ask(m.question(full, bare))
		switch {
		case err == nil || !refuses(err):
			return text, err
		case !r.position && !twice:
			twice = true // a server that changes its role refuses for a moment
			continue
		case !r.position:
			r.position = true
		case !r.system:
			r.system = true
		default:
			return text, err
		}
		r.until = time.Now().Add(refusedFor)
		m.now.Store(&r)
	}
}

// refuses reports whether a server has said that it does not tell: no privilege, not
// supported, no such function, not in this configuration.
func refuses(err error) bool {
	var said interface{ SQLState() string }
	if !errors.As(err, &said) {
		return false
	}
	switch said.SQLState() {
	case "42501", "0A000", "42883", "55000":
		return true
	}
	return false
}
