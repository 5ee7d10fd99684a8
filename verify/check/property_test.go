package check_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
)

// world is a primary with standbys that keeps every promise: a standby's state is
// the beginning of the order of commits, and a read goes to a standby only where it
// has what must be seen.
type world struct {
	rng     *rand.Rand
	now     int64
	commits []commit
	has     map[string]int // the newest commit that a session must see
	wrote   [3]int         // of a process
	open    [3]int         // of a process, without a session
	saw     map[string]int // the newest state that a session must not go behind
	events  []history.Event
}

type commit struct {
	writes []history.Write
	known  int64
}

const worldLag = 40 * ms

func (w *world) tick() int64 {
	w.now += 1 + w.rng.Int64N(2*ms)
	return w.now
}

func (w *world) write(n int) {
	e := history.Event{Kind: history.KindWrite, Process: w.rng.IntN(3), Session: w.session(), Invoke: w.tick(), Result: history.OK}
	for i := range 1 + w.rng.IntN(3) {
		kind := [2]string{"r", "l"}[w.rng.IntN(2)]
		key := fmt.Sprintf("%s%d", kind, w.rng.IntN(4))
		if slices.ContainsFunc(e.Writes, func(have history.Write) bool { return have.Key == key }) {
			continue
		}
		e.Writes = append(e.Writes, history.Write{Key: key, Value: fmt.Sprintf("v%d.%d", n, i)})
	}
	happens := true
	switch w.rng.IntN(10) {
	case 0:
		e.Result, happens = history.Unknown, w.rng.IntN(2) == 0
	case 1:
		e.Result, happens = history.Failed, false
	}
	committed := w.tick()
	e.Return = w.tick()
	if happens {
		w.commits = append(w.commits, commit{writes: e.Writes, known: committed})
		if e.Result == history.OK {
			w.wrote[e.Process] = len(w.commits)
			if e.Session == "" {
				w.open[e.Process] = len(w.commits)
			} else {
				w.has[e.Session] = len(w.commits)
			}
		}
	}
	w.events = append(w.events, e)
}

func (w *world) session() string {
	if n := w.rng.IntN(6); n > 0 {
		return fmt.Sprintf("s%d", n)
	}
	return ""
}

func (w *world) read() {
	e := history.Event{Kind: history.KindRead, Process: w.rng.IntN(3), Session: w.session(), Invoke: w.tick(), Result: history.OK, Together: history.Snapshot}
	must := w.wrote[e.Process]
	if e.Session != "" {
		must = max(w.has[e.Session], w.open[e.Process])
	}
	if w.rng.IntN(8) == 0 {
		e.Mode, must = history.Fresh, len(w.commits)
	}
	if e.Session != "" {
		must = max(must, w.saw[e.Session])
	}
	for n, c := range w.commits {
		if c.known <= e.Invoke-worldLag {
			must = max(must, n+1)
		}
	}
	state := must + w.rng.IntN(len(w.commits)-must+1)
	e.Server = fmt.Sprintf("replica%d", 1+w.rng.IntN(2))
	if w.rng.IntN(4) == 0 {
		e.Server, state = "primary", len(w.commits)
	}
	for _, key := range []string{"r0", "r1", "r2", "l0", "l1"} {
		if w.rng.IntN(2) == 0 {
			e.Reads = append(e.Reads, w.at(key, state))
		}
	}
	if len(e.Reads) == 0 {
		e.Reads = append(e.Reads, w.at("r3", state))
	}
	e.Return = w.tick()
	w.events = append(w.events, e)
	if e.Session != "" && e.Process == 2 {
		w.saw[e.Session] = max(w.saw[e.Session], state)
	}
}

// at returns what a key shows in a state.
func (w *world) at(key string, state int) history.Read {
	r := history.Read{Key: key}
	for _, c := range w.commits[:state] {
		for _, v := range c.writes {
			switch {
			case v.Key != key:
			case history.IsRegister(key):
				r.Version, r.Value = r.Version+1, v.Value
			default:
				r.Values = append(r.Values, v.Value)
			}
		}
	}
	return r
}

func (w *world) pass(n int) {
	from, to, id := w.session(), w.session(), fmt.Sprintf("k%d", n)
	if from == "" || to == "" {
		return
	}
	w.events = append(w.events,
		history.Event{Kind: history.KindToken, Session: from, Token: id, Invoke: w.tick(), Return: w.tick(), Result: history.OK},
		history.Event{Kind: history.KindJoin, Session: to, Token: id, Invoke: w.tick(), Return: w.tick(), Result: history.OK})
	w.has[to] = max(w.has[to], w.has[from])
	w.saw[to] = max(w.saw[to], w.saw[from])
}

func newWorld(seed uint64) *history.History {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0)), has: map[string]int{}, saw: map[string]int{}}
	for n := range 120 {
		switch w.rng.IntN(8) {
		case 0, 1:
			w.write(n)
		case 2:
			w.pass(n)
		default:
			w.read()
		}
	}
	for n := range 4 {
		for _, kind := range []string{"r", "l"} {
			f := history.Event{Kind: history.KindFinal, Key: fmt.Sprintf("%s%d", kind, n)}
			for _, c := range w.commits {
				for _, v := range c.writes {
					if v.Key == f.Key {
						f.Values = append(f.Values, v.Value)
					}
				}
			}
			w.events = append(w.events, f)
		}
	}
	return &history.History{Header: history.Header{Primary: "primary", MaxLag: time.Duration(worldLag), Monotonic: []int{2}}, Events: w.events}
}

func clone(h *history.History) *history.History {
	c := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
	for i := range c.Events {
		e := &c.Events[i]
		e.Reads, e.Writes, e.Values = slices.Clone(e.Reads), slices.Clone(e.Writes), slices.Clone(e.Values)
	}
	return c
}

// mutations break a history that is right, each at one place. They report false
// where the history offers none.
var mutations = map[string]func(rng *rand.Rand, h *history.History) bool{
	"a read misses what its session wrote": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			w := &h.Events[i]
			return w.Kind == history.KindWrite && w.Result == history.OK && w.Session != "" && anywhere(rng, h, func(k int) bool {
				r := &h.Events[k]
				return r.Kind == history.KindRead && r.Session == w.Session && r.Invoke > w.Return && older(h, r, w)
			})
		})
	},
	"a read misses what is older than its bound": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			w := &h.Events[i]
			return w.Kind == history.KindWrite && w.Result == history.OK && anywhere(rng, h, func(k int) bool {
				r := &h.Events[k]
				return r.Kind == history.KindRead && r.Invoke > w.Return+worldLag && older(h, r, w)
			})
		})
	},
	"a fresh read misses a write": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			w := &h.Events[i]
			return w.Kind == history.KindWrite && w.Result == history.OK && anywhere(rng, h, func(k int) bool {
				r := &h.Events[k]
				return r.Mode == history.Fresh && r.Invoke > w.Return && older(h, r, w)
			})
		})
	},
	"a write is run twice": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			f := &h.Events[i]
			if f.Kind != history.KindFinal || len(f.Values) == 0 {
				return false
			}
			f.Values = append(f.Values, f.Values[rng.IntN(len(f.Values))])
			return true
		})
	},
	"an acknowledged write is gone": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			w := &h.Events[i]
			if w.Kind != history.KindWrite || w.Result != history.OK {
				return false
			}
			for k := range h.Events {
				f := &h.Events[k]
				f.Values = slices.DeleteFunc(f.Values, func(v string) bool {
					return f.Kind == history.KindFinal && slices.ContainsFunc(w.Writes, func(w history.Write) bool { return w.Key == f.Key && w.Value == v })
				})
			}
			return true
		})
	},
	"a write that happened is said to have failed": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			w := &h.Events[i]
			if w.Kind != history.KindWrite || w.Result != history.OK {
				return false
			}
			w.Result = history.Failed
			return true
		})
	},
	"a read shows what nobody wrote": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			r := &h.Events[i]
			if r.Kind != history.KindRead || r.Reads[0].Version == 0 {
				return false
			}
			r.Reads[0].Value = "x"
			return true
		})
	},
	"a read fails": func(rng *rand.Rand, h *history.History) bool {
		return anywhere(rng, h, func(i int) bool {
			if h.Events[i].Kind != history.KindRead {
				return false
			}
			h.Events[i].Result = history.Failed
			return true
		})
	},
}

// anywhere tries the events from a random one on.
func anywhere(rng *rand.Rand, h *history.History, try func(i int) bool) bool {
	from := rng.IntN(len(h.Events))
	for n := range h.Events {
		if try((from + n) % len(h.Events)) {
			return true
		}
	}
	return false
}

// older makes a read show the state of a key from just before a write.
func older(h *history.History, r, w *history.Event) bool {
	for n := range r.Reads {
		for _, v := range w.Writes {
			if r.Reads[n].Key != v.Key {
				continue
			}
			var before []string
			for _, f := range h.Events {
				if f.Kind == history.KindFinal && f.Key == v.Key {
					before = f.Values[:slices.Index(f.Values, v.Value)]
				}
			}
			r.Reads[n] = history.Read{Key: v.Key, Values: before}
			if history.IsRegister(v.Key) {
				r.Reads[n] = history.Read{Key: v.Key, Version: int64(len(before))}
				if len(before) > 0 {
					r.Reads[n].Value = before[len(before)-1]
				}
			}
			return true
		}
	}
	return false
}

// Histories that keep every promise pass, and none of them does that has been
// broken at one place.
func TestMutations(t *testing.T) {
	const histories = 300
	tried := map[string]int{}
	for seed := range uint64(histories) {
		h := newWorld(seed)
		report := check.Judge(h)
		require.Empty(t, report.Violations, "seed %d", seed)
		for name, mutate := range mutations {
			broken := clone(h)
			if !mutate(rand.New(rand.NewPCG(seed, 1)), broken) {
				continue
			}
			tried[name]++
			require.NotEmpty(t, check.Judge(broken).Violations, "seed %d: %s", seed, name)
		}
	}
	for name := range mutations {
		require.Greater(t, tried[name], histories/2, name)
	}
}

// The same history gives the same report, whatever the order of its lines.
func TestOrderOfLines(t *testing.T) {
	for seed := range uint64(20) {
		h := newWorld(seed)
		mutations["a read misses what its session wrote"](rand.New(rand.NewPCG(seed, 1)), h)
		want := check.Judge(h)
		rng := rand.New(rand.NewPCG(seed, 2))
		rng.Shuffle(len(h.Events), func(i, k int) { h.Events[i], h.Events[k] = h.Events[k], h.Events[i] })
		got := check.Judge(h)
		require.Len(t, got.Violations, len(want.Violations), "seed %d", seed)
		got.Violations, want.Violations = nil, nil
		require.Equal(t, want, got)
	}
}
