package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
)

const ms = int64(time.Millisecond)

// Events are written in milliseconds, and changed by what follows.
type change func(e *history.Event)

func event(kind history.Kind, from, to int64, changes []change) history.Event {
	e := history.Event{Kind: kind, Process: 1, Client: 1, Session: "s", Invoke: from * ms, Return: to * ms, Result: history.OK}
	for _, c := range changes {
		c(&e)
	}
	return e
}

func write(from, to int64, changes ...change) history.Event {
	return event(history.KindWrite, from, to, changes)
}

func read(from, to int64, changes ...change) history.Event {
	return event(history.KindRead, from, to, append([]change{on("replica1")}, changes...))
}

func fault(from, to int64, changes ...change) history.Event {
	return event(history.KindFault, from, to, append([]change{func(e *history.Event) { e.Fault, e.Session, e.Result = "fault", "", "" }}, changes...))
}

func final(key string, values ...string) history.Event {
	return history.Event{Kind: history.KindFinal, Key: key, Values: values}
}

func on(server string) change    { return func(e *history.Event) { e.Server = server } }
func by(session string) change   { return func(e *history.Event) { e.Session = session } }
func process(p int) change       { return func(e *history.Event) { e.Process = p } }
func mode(m history.Mode) change { return func(e *history.Event) { e.Mode = m } }
func is(r history.Result) change { return func(e *history.Event) { e.Result, e.Error = r, "40001" } }
func async(e *history.Event)     { e.Async = true }
func free(e *history.Event)      { e.Free = true }
func breaks(e *history.Event)    { e.Breaks = true }
func loses(e *history.Event)     { e.Loses = true }
func token(id string) change     { return func(e *history.Event) { e.Token = id } }
func reason(text string) change  { return func(e *history.Event) { e.Reason = text } }
func promotes(s string) change   { return func(e *history.Event) { e.Promoted = s } }
func atMost(bound int64) change {
	return func(e *history.Event) { e.Mode, e.Bound = history.AtMost, time.Duration(bound*ms) }
}

func together(t history.Together) change { return func(e *history.Event) { e.Together = t } }

func put(key, value string, version ...int64) change {
	return func(e *history.Event) {
		w := history.Write{Key: key, Value: value}
		if len(version) > 0 {
			w.Version = version[0]
		}
		e.Writes = append(e.Writes, w)
	}
}

func shows(key string, version int64, value string) change {
	return func(e *history.Event) {
		e.Reads = append(e.Reads, history.Read{Key: key, Version: version, Value: value})
	}
}

func lists(key string, values ...string) change {
	return func(e *history.Event) { e.Reads = append(e.Reads, history.Read{Key: key, Values: values}) }
}

func take(id string, at int64, s string) history.Event {
	return event(history.KindToken, at, at+1, []change{by(s), token(id)})
}

func join(id string, at int64, s string, p int) history.Event {
	return event(history.KindJoin, at, at+1, []change{by(s), token(id), process(p)})
}

func judge(events ...history.Event) *check.Report { return judged(1000, events...) }

func judged(maxLag int64, events ...history.Event) *check.Report {
	return check.Judge(&history.History{
		Header: history.Header{Primary: "primary", MaxLag: time.Duration(maxLag * ms)},
		Events: events,
	})
}

// Each case breaks one rule, and the same without that is right.
var cases = []struct {
	name  string
	rule  check.Rule
	wrong []history.Event
	right []history.Event
}{
	{
		"own write to a register missed", check.OwnWrites,
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, shows("r1", 1, "a")), final("r1", "a")},
	},
	{
		"own write, while another wrote before", check.OwnWrites,
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), write(1, 3, put("r1", "b")), read(4, 5, shows("r1", 1, "a")), final("r1", "a", "b")},
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), write(1, 3, put("r1", "b")), read(4, 5, shows("r1", 2, "b")), final("r1", "a", "b")},
	},
	{
		"own write missed, and not yet acknowledged", check.OwnWrites,
		[]history.Event{write(1, 5, put("r1", "a")), read(6, 7, shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 5, put("r1", "a")), read(4, 7, shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"own row missed", check.OwnWrites,
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, shows("r1", -1, "")), final("r1", "a")},
		[]history.Event{read(3, 4, shows("r1", -1, "")), final("r1")},
	},
	{
		"own entry missed", check.OwnWrites,
		[]history.Event{write(1, 2, put("l1", "a")), read(3, 4, lists("l1", "b")), write(1, 2, by("t"), put("l1", "b")), final("l1", "a", "b")},
		[]history.Event{write(1, 2, put("l1", "a")), read(3, 4, lists("l1", "a")), write(1, 2, by("t"), put("l1", "b")), final("l1", "a", "b")},
	},
	{
		"own place found empty", check.OwnWrites,
		[]history.Event{write(1, 2, put("f1", "a")), read(3, 4, lists("f1")), final("f1", "a")},
		[]history.Event{write(1, 2, put("f1", "a")), read(3, 4, lists("f1", "a")), final("f1", "a")},
	},
	{
		"own write missed by Stale", check.OwnWrites,
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, mode(history.Stale), shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, mode(history.AnyReplica), shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"another session's write", check.OwnWrites,
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, by("t"), shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"the process reads what a session of it wrote", check.OwnWrites,
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, by(""), shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, by(""), process(2), shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"a session reads what its process wrote without one", check.OwnWrites,
		[]history.Event{write(1, 2, by(""), put("r1", "a")), read(3, 4, shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, by(""), put("r1", "a")), read(3, 4, mode(history.Stale), shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"what a token carried", check.OwnWrites,
		[]history.Event{write(1, 2, put("r1", "a")), take("k", 3, "s"), join("k", 5, "t", 2), read(7, 8, by("t"), process(2), shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, put("r1", "a")), take("k", 1, "s"), join("k", 5, "t", 2), read(7, 8, by("t"), process(2), shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"what two tokens carried", check.OwnWrites,
		[]history.Event{write(1, 2, put("l1", "a")), take("k", 3, "s"), join("k", 5, "t", 2), take("m", 7, "t"), join("m", 9, "u", 3), read(11, 12, by("u"), process(3), lists("l1")), final("l1", "a")},
		[]history.Event{write(1, 2, put("l1", "a")), take("k", 3, "s"), join("k", 5, "t", 2), take("m", 5, "t"), join("m", 9, "u", 3), read(11, 12, by("u"), process(3), lists("l1")), final("l1", "a")},
	},
	{
		"older than the bound", check.Bounded,
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), read(1003, 1004, shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), read(1002, 1004, shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"an entry older than the bound", check.Bounded,
		[]history.Event{write(1, 2, by("t"), put("l1", "a")), read(1003, 1004, lists("l1")), final("l1", "a")},
		[]history.Event{write(1, 2, by("t"), put("l1", "a")), read(1003, 1004, mode(history.Stale), lists("l1")), final("l1", "a")},
	},
	{
		"older than the read's own bound", check.Bounded,
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), read(20, 21, atMost(10), shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), read(20, 21, atMost(50), shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"older than the bound, as a reader on the primary knew", check.Bounded,
		[]history.Event{write(1, 2, by("t"), is(history.Unknown), put("r1", "a")), read(2, 3, by("t"), on("primary"), shows("r1", 1, "a")), read(1009, 1010, shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 2, by("t"), is(history.Unknown), put("r1", "a")), read(2, 3, by("t"), shows("r1", 1, "a")), read(1009, 1010, shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"fresh is not current", check.Current,
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), read(3, 4, mode(history.Fresh), shows("r1", 0, "")), final("r1", "a")},
		[]history.Event{write(1, 3, by("t"), put("r1", "a")), read(3, 4, mode(history.Fresh), shows("r1", 0, "")), final("r1", "a")},
	},
	{
		"the later of two writes without the earlier", check.Order,
		[]history.Event{write(1, 2, by("t"), put("r1", "a")), write(3, 4, by("t"), put("r2", "b")), read(5, 6, together(history.Snapshot), shows("r1", 0, ""), shows("r2", 1, "b")), final("r1", "a"), final("r2", "b")},
		[]history.Event{write(1, 3, by("t"), put("r1", "a")), write(3, 4, by("t"), put("r2", "b")), read(5, 6, together(history.Snapshot), shows("r1", 0, ""), shows("r2", 1, "b")), final("r1", "a"), final("r2", "b")},
	},
	{
		"a preload of an older state", check.Order,
		[]history.Event{write(1, 2, by("t"), put("l1", "a")), write(3, 4, by("t"), put("r2", "b")), read(5, 6, together(history.Follows), shows("r2", 1, "b"), lists("l1")), final("l1", "a"), final("r2", "b")},
		[]history.Event{write(1, 2, by("t"), put("l1", "a")), write(3, 4, by("t"), put("r2", "b")), read(5, 6, together(history.Follows), lists("l1"), shows("r2", 1, "b")), final("l1", "a"), final("r2", "b")},
	},
	{
		"half of a transaction", check.Parts,
		[]history.Event{write(1, 9, by("t"), put("r1", "a"), put("r2", "b")), read(5, 6, together(history.Snapshot), shows("r1", 0, ""), shows("r2", 1, "b")), final("r1", "a"), final("r2", "b")},
		[]history.Event{write(1, 9, by("t"), put("r1", "a"), put("r2", "b")), read(5, 6, together(history.Apart), shows("r1", 0, ""), shows("r2", 1, "b")), final("r1", "a"), final("r2", "b")},
	},
	{
		"half of a transaction in a preload", check.Parts,
		[]history.Event{write(1, 9, by("t"), put("r1", "a"), put("l1", "a")), read(5, 6, together(history.Follows), shows("r1", 1, "a"), lists("l1")), final("r1", "a"), final("l1", "a")},
		[]history.Event{write(1, 9, by("t"), put("r1", "a"), put("l1", "a")), read(5, 6, together(history.Follows), lists("l1"), shows("r1", 1, "a")), final("r1", "a"), final("l1", "a")},
	},
	{
		"a register written twice", check.Twice,
		[]history.Event{write(1, 2, put("r1", "a")), final("r1", "a", "a")},
		[]history.Event{write(1, 2, put("r1", "a")), final("r1", "a")},
	},
	{
		"an entry written twice, of unknown outcome", check.Twice,
		[]history.Event{write(1, 2, is(history.Unknown), put("l1", "a")), final("l1", "a", "a")},
		[]history.Event{write(1, 2, is(history.Unknown), put("l1", "a")), final("l1")},
	},
	{
		"an acknowledged write is gone", check.Lost,
		[]history.Event{write(1, 2, put("r1", "a")), final("r1")},
		[]history.Event{write(1, 2, is(history.Unknown), put("r1", "a")), final("r1")},
	},
	{
		"an acknowledged write is gone in a crash", check.Lost,
		[]history.Event{write(1, 2, put("r1", "a")), fault(3, 4, loses), final("r1")},
		[]history.Event{write(1, 2, async, put("r1", "a")), fault(3, 4, loses), final("r1")},
	},
	{
		"an asynchronous commit is gone without a crash", check.Lost,
		[]history.Event{write(1, 2, async, put("r1", "a")), fault(3, 4), final("r1")},
		[]history.Event{write(1, 2, put("r1", "a")), fault(3, 4, promotes("replica1")), final("r1")},
	},
	{
		"a write from after a failover is gone", check.Lost,
		[]history.Event{write(5, 6, put("r1", "a")), fault(3, 4, promotes("replica1")), final("r1")},
		[]history.Event{write(1, 4, put("r1", "a")), fault(3, 4, promotes("replica1")), final("r1")},
	},
	{
		"a failed write is there", check.Undone,
		[]history.Event{write(1, 2, is(history.Failed), put("r1", "a")), final("r1", "a")},
		[]history.Event{write(1, 2, is(history.Failed), put("r1", "a")), final("r1")},
	},
	{
		"a failed write was seen", check.Undone,
		[]history.Event{write(1, 2, is(history.Failed), put("r1", "a")), read(3, 4, shows("r1", 1, "a")), final("r1")},
		[]history.Event{write(1, 2, is(history.Failed), put("r1", "a")), read(3, 4, shows("r1", 0, "")), final("r1")},
	},
	{
		"what was seen is gone", check.Undone,
		[]history.Event{write(1, 2, is(history.Unknown), put("r1", "a")), read(3, 4, shows("r1", 1, "a")), final("r1")},
		[]history.Event{write(1, 2, is(history.Unknown), put("r1", "a")), read(3, 4, shows("r1", 1, "a")), final("r1", "a")},
	},
	{
		"a client was told another version", check.Undone,
		[]history.Event{write(1, 2, put("r1", "a", 2)), final("r1", "a")},
		[]history.Event{write(1, 2, put("r1", "a", 1)), final("r1", "a")},
	},
	{
		"a value that nobody wrote", check.Stranger,
		[]history.Event{read(3, 4, shows("r1", 1, "x")), final("r1")},
		[]history.Event{write(1, 2, by("t"), put("r1", "x")), read(3, 4, shows("r1", 1, "x")), final("r1", "x")},
	},
	{
		"a version that the value never had", check.Stranger,
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, shows("r1", 2, "a")), final("r1", "a")},
		[]history.Event{write(1, 2, put("r1", "a")), read(3, 4, shows("r1", 1, "a")), final("r1", "a")},
	},
	{
		"what a failover lost, long after it", check.Stranger,
		[]history.Event{write(1, 2, put("r1", "a")), fault(3, 4, promotes("replica1")), read(9000, 9001, on("replica2"), shows("r1", 1, "a")), final("r1")},
		[]history.Event{write(1, 2, put("r1", "a")), fault(3, 4, promotes("replica1")), read(5, 6, on("replica2"), shows("r1", 1, "a")), final("r1")},
	},
	{
		"half of a transaction is there", check.Torn,
		[]history.Event{write(1, 2, is(history.Unknown), put("r1", "a"), put("r2", "b")), final("r1", "a"), final("r2")},
		[]history.Event{write(1, 2, is(history.Unknown), put("r1", "a"), put("r2", "b")), final("r1"), final("r2")},
	},
	{
		"a read failed", check.Served,
		[]history.Event{read(3, 4, is(history.Failed)), fault(1, 2)},
		[]history.Event{read(3, 4, is(history.Failed)), fault(1, 2, breaks)},
	},
	{
		"a read of which something is promised failed", check.Served,
		[]history.Event{read(3, 4, is(history.Failed))},
		[]history.Event{read(3, 4, is(history.Failed), free)},
	},
}

func TestEachRule(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wrong := judge(c.wrong...)
			require.Len(t, wrong.Violations, 1)
			assert.Equal(t, c.rule, wrong.Violations[0].Rule)
			assert.NotEmpty(t, wrong.Violations[0].Text)
			assert.NotEmpty(t, wrong.Violations[0].Timeline)
			assert.Empty(t, judge(c.right...).Violations)
		})
	}
}

// Monotonic reads are judged where they are promised, and counted elsewhere.
func TestMonotonicReads(t *testing.T) {
	h := &history.History{Events: []history.Event{
		write(1, 2, by("t"), put("r1", "a")), read(3, 4, shows("r1", 1, "a")), read(5, 6, shows("r1", 0, "")), final("r1", "a"),
	}}
	report := check.Judge(h)
	assert.Empty(t, report.Violations)
	assert.Equal(t, 1, report.WentBackwards)
	h.Header.Monotonic = []int{1}
	report = check.Judge(h)
	require.Len(t, report.Violations, 1)
	assert.Equal(t, check.Backwards, report.Violations[0].Rule)
	// At the same time is not before.
	h.Events[2].Invoke = 4 * ms
	assert.Empty(t, check.Judge(h).Violations)
}

// What a token carries binds whoever joins it, in whatever process; what a session
// saw where nothing is promised does not.
func TestMonotonicReadsAcrossTokens(t *testing.T) {
	events := []history.Event{
		write(1, 2, by("u"), put("r1", "a")), write(1, 2, by("u"), put("l1", "b")),
		read(3, 4, by("s"), process(2), shows("r1", 1, "a")), read(3, 4, by("s"), process(2), lists("l1", "b")),
		take("k", 5, "s"), join("k", 7, "t", 1), final("r1", "a"), final("l1", "b"),
	}
	for name, c := range map[string]struct {
		read history.Event
		want bool
	}{
		"an older register": {read(9, 10, by("t"), process(1), shows("r1", 0, "")), true},
		"a shorter list":    {read(9, 10, by("t"), process(1), lists("l1")), true},
		"as it was":         {read(9, 10, by("t"), process(1), shows("r1", 1, "a")), false},
		"another session":   {read(9, 10, by("v"), process(2), shows("r1", 0, "")), false},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Header: history.Header{Monotonic: []int{2}}, Events: append(events[:len(events):len(events)], c.read)}
			report := check.Judge(h)
			if !c.want {
				assert.Empty(t, report.Violations)
				return
			}
			require.Len(t, report.Violations, 1)
			assert.Equal(t, check.Backwards, report.Violations[0].Rule)
			assert.Len(t, report.Violations[0].Timeline, 4, "seen, taken, joined, and not seen")
			h.Header.Monotonic = []int{1}
			assert.Empty(t, check.Judge(h).Violations, "the token's process promised nothing")
		})
	}
}

// What an error says of the outcome of a write has to be true.
func TestWhatAnErrorSays(t *testing.T) {
	says := func(says history.Result) *check.Report {
		e := write(1, 2, put("r1", "a"))
		e.Result, e.Says = history.Unknown, says
		return judge(e, final("r1", "a"))
	}
	report := says(history.Failed)
	require.Len(t, report.Violations, 1)
	assert.Equal(t, check.Undone, report.Violations[0].Rule)
	report = says(history.Unknown)
	assert.Empty(t, report.Violations)
	assert.Equal(t, 1, report.SaidUnknown)
	assert.Empty(t, says("").Violations, "whoever returned it says nothing")
	e := write(1, 2, put("r1", "a"))
	e.Result, e.Says = history.Failed, history.Unknown
	report = judge(e, final("r1"))
	assert.Empty(t, report.Violations)
	assert.Equal(t, 1, report.Overcautious)
}

// Whoever never has its turn is not excused by a fault that is over by then.
func TestNeverItsTurn(t *testing.T) {
	e := read(2, 20, is(history.Failed), free)
	assert.Empty(t, judge(fault(1, 3, breaks), e).Violations)
	e.Queued = true
	report := judge(fault(1, 3, breaks), e)
	require.Len(t, report.Violations, 1)
	assert.Equal(t, check.Served, report.Violations[0].Rule)
}

// An old primary that lives may take writes until everybody knows the new one, and
// not later.
func TestAcknowledgedByTheOldPrimary(t *testing.T) {
	failover := fault(3, 10)
	failover.Promoted = "replica1"
	assert.Empty(t, judge(write(4, 9, put("r1", "a")), failover, final("r1")).Violations)
	report := judge(write(9, 11, put("r1", "a")), failover, final("r1"))
	require.Len(t, report.Violations, 1)
	assert.Equal(t, check.Lost, report.Violations[0].Rule)
}

// A violation shows the write, how it came to the reader, the read, and the faults
// in force, in the order of time.
func TestTimeline(t *testing.T) {
	pause := fault(2, 20)
	report := judge(
		fault(100, 200), write(1, 2, put("r1", "a")), take("k", 3, "s"), join("k", 5, "t", 2),
		write(1, 2, by("u"), put("r2", "b")), read(7, 8, by("t"), process(2), shows("r1", 0, "")), pause,
		final("r1", "a"), final("r2", "b"),
	)
	require.Len(t, report.Violations, 1)
	v := report.Violations[0]
	assert.Equal(t, "r1 shows version 0, and not yet version 1 (a)", v.Text)
	var kinds []history.Kind
	for _, e := range v.Timeline {
		kinds = append(kinds, e.Kind)
	}
	assert.Equal(t, []history.Kind{history.KindWrite, history.KindFault, history.KindToken, history.KindJoin, history.KindRead}, kinds)
}

// What the router says of a primary that is lost leaves the bound open, and nothing
// else.
func TestPrimaryLost(t *testing.T) {
	report := judge(write(1, 2, by("t"), put("r1", "a")), read(3000, 3001, reason("primary_lost"), shows("r1", 0, "")), final("r1", "a"))
	assert.Empty(t, report.Violations)
	assert.Equal(t, 1, report.Unknown)
	report = judge(write(1, 2, put("r1", "a")), read(3000, 3001, reason("primary_lost"), shows("r1", 0, "")), final("r1", "a"))
	require.Len(t, report.Violations, 1)
	assert.Equal(t, check.OwnWrites, report.Violations[0].Rule)
}

// Where the router says nothing, the history has to say that the primary was broken.
func TestNoReason(t *testing.T) {
	events := []history.Event{write(1, 2, by("t"), put("r1", "a")), read(3000, 3001, shows("r1", 0, "")), final("r1", "a")}
	assert.Len(t, judge(events...).Violations, 1)
	report := judge(append(events, fault(2900, 3100, breaks))...)
	assert.Empty(t, report.Violations)
	assert.Equal(t, 1, report.Unknown)
	events[1].Reason = "within_lag"
	assert.Len(t, judge(append(events, fault(2900, 3100, breaks))...).Violations, 1)
}

// While the primary is lost, what was written without a session binds for a window,
// and a session's own writes for ever.
func TestWindow(t *testing.T) {
	late := func(session string, at int64) *check.Report {
		return check.Judge(&history.History{
			Header: history.Header{Primary: "primary", Window: time.Second},
			Events: []history.Event{write(1, 2, by(session), put("r1", "a")), read(at, at+1, by(session), reason("primary_lost"), shows("r1", 0, "")), final("r1", "a")},
		})
	}
	assert.Len(t, late("", 1002).Violations, 1)
	assert.Empty(t, late("", 1003).Violations)
	assert.Equal(t, 1, late("", 1003).Unknown)
	assert.Len(t, late("s", 5000).Violations, 1)
}

func TestCounts(t *testing.T) {
	report := judge(
		write(1, 2, put("r1", "a")), take("k", 3, "s"), join("k", 5, "t", 2),
		read(6, 7, shows("r1", 1, "a")), read(6, 7, on("primary"), shows("r1", 1, "a")), read(6, 7, by("v"), shows("r1", 0, "")),
		read(8, 9, is(history.Failed), free), fault(1, 9), final("r1", "a"),
	)
	assert.Empty(t, report.Violations)
	assert.Equal(t, check.Report{Operations: 7, Faults: 1, OwnOnReplica: 1, OnReplica: 2, Reads: 3, Excused: 1}, *report)
}

// Without a final state the checker knows what clients were told, and does not call
// a write lost that it cannot look for.
func TestWithoutFinalState(t *testing.T) {
	report := judge(write(1, 2, put("r1", "a", 1)), write(3, 4, put("r1", "b", 2)), read(5, 6, shows("r1", 1, "a")))
	require.Len(t, report.Violations, 1)
	assert.Equal(t, check.OwnWrites, report.Violations[0].Rule)
	assert.Empty(t, judge(write(1, 2, put("r1", "a")), read(3, 4, shows("r1", 0, ""))).Violations)
}
