package discover

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// paper is a plan over servers on paper, and a clock.
type paper struct {
	t    *testing.T
	plan *plan
	now  time.Time
}

func newPaper(t *testing.T, c Config) *paper {
	return &paper{t: t, plan: newPlan(c.withDefaults(), 7), now: time.Unix(1000, 0)}
}

// hears an answer after a while, and returns what is to be done, in words. All of it
// succeeds at once, but for removals.
func (p *paper) hears(after time.Duration, servers ...Server) (did []string) {
	p.now = p.now.Add(after)
	p.plan.answer(p.now, tidied(servers, 5432))
	return p.does()
}

func (p *paper) does() (did []string) {
	s := p.plan.next(p.now)
	for _, r := range s.remove {
		did = append(did, "-"+r.Name)
	}
	for _, c := range s.change {
		did = append(did, fmt.Sprintf("%s=%d", c.Name, c.Weight))
	}
	for _, a := range s.add {
		did = append(did, "+"+a.Name)
		p.plan.added(p.now, a, nil)
	}
	return did
}

func (p *paper) removed(s Server) { p.plan.removed(tidied([]Server{s}, 5432)[0]) }

var a, b, c = Server{Host: "a"}, Server{Host: "b"}, Server{Host: "c"}

func TestPlanServersComeAndGo(t *testing.T) {
	p := newPaper(t, Config{})
	assert.Equal(t, []string{"+a:5432", "+b:5432"}, p.hears(0, a, b))
	assert.Empty(t, p.hears(10*time.Second, b, a), "the order of an answer means nothing")
	assert.Empty(t, p.hears(10*time.Second, a), "missing once")
	assert.Empty(t, p.hears(10*time.Second, a, b), "it is back")
	assert.Empty(t, p.hears(40*time.Second, a), "missing for the first time: the answer before was long ago")
	assert.Empty(t, p.hears(29*time.Second, a))
	assert.Equal(t, []string{"-b:5432"}, p.hears(time.Second, a), "30 s after it was missing first")
	assert.Empty(t, p.hears(time.Second, a, b, c)[1:], "who is being taken out is not added again")
	p.removed(b)
	assert.Equal(t, []string{"+b:5432"}, p.does())
	assert.Len(t, p.plan.members, 3)
}

func TestPlanOneAnswerTakesNobodyOut(t *testing.T) {
	p := newPaper(t, Config{Grace: time.Nanosecond})
	p.hears(0, a, b)
	assert.Empty(t, p.hears(time.Hour, a), "the only answer that says so")
	assert.Equal(t, []string{"-b:5432"}, p.hears(time.Second, a))
}

func TestPlanEmptyAnswers(t *testing.T) {
	p := newPaper(t, Config{})
	p.hears(0, a, b)
	assert.Empty(t, p.hears(10*time.Second))
	for range 28 {
		require.Empty(t, p.hears(10*time.Second))
	}
	assert.Empty(t, p.hears(10*time.Second, a), "somebody is back before the end")
	assert.Empty(t, p.hears(time.Second))
	assert.Empty(t, p.hears(time.Second), "b is missing for long, but nobody is in the answer")
	assert.Equal(t, []string{"-a:5432", "-b:5432"}, p.hears(5*time.Minute), "scaled to nothing, for long enough")

	p = newPaper(t, Config{EmptyGrace: Off})
	p.hears(0, a, b)
	p.hears(0)
	assert.Empty(t, p.hears(1000*time.Hour))
	assert.Empty(t, p.hears(time.Second, a), "this counts from here")
	assert.Equal(t, []string{"-b:5432"}, p.hears(30*time.Second, a))
}

func TestPlanBounds(t *testing.T) {
	p := newPaper(t, Config{Most: 2})
	first := p.hears(0, a, b, c)
	require.Len(t, first, 2)
	out := map[string]Server{"+a:5432": a, "+b:5432": b, "+c:5432": c}
	in := []Server{out[first[0]], out[first[1]]}
	delete(out, first[0])
	delete(out, first[1])
	var left Server
	for _, left = range out {
	}
	assert.Empty(t, p.hears(time.Second, c, b, a), "always the same ones")
	var said []string
	for _, f := range p.plan.found() {
		if f.Why != nil {
			said = append(said, f.Host+": "+f.Why.Error())
		}
	}
	assert.Equal(t, []string{left.Host + ": readsplit: there are 2 servers in use, as many as Config.Most allows"}, said)
	p.hears(time.Second, in[0], left)
	assert.Equal(t, []string{"-" + first[1][1:]}, p.hears(time.Minute, in[0], left), "its place is not free yet")
	p.removed(in[1])
	assert.Equal(t, []string{"+" + left.Host + ":5432"}, p.does())

	chosen := map[string]bool{}
	for seed := range uint64(64) {
		q := newPlan(Config{Most: 1}.withDefaults(), seed)
		q.answer(p.now, tidied([]Server{a, b, c}, 1))
		chosen[q.next(p.now).add[0].Host] = true
	}
	assert.Equal(t, map[string]bool{"a": true, "b": true, "c": true}, chosen, "each process takes others")
}

func TestPlanChanges(t *testing.T) {
	p := newPaper(t, Config{})
	p.hears(0, Server{Host: "a", Weight: 1}, b)
	assert.Equal(t, []string{"a:5432=5"}, p.hears(time.Second, Server{Host: "a", Weight: 5}, b))
	assert.Empty(t, p.hears(time.Second, Server{Host: "a", Weight: 5}, b))
	zoned := Server{Host: "a", Weight: 5, Zone: "z"}
	assert.Equal(t, []string{"-a:5432"}, p.hears(time.Second, zoned, b), "a zone is not changed in use")
	p.removed(a)
	assert.Equal(t, []string{"+a:5432"}, p.does())

	// A name that has moved to another address does not wait.
	p = newPaper(t, Config{})
	old, moved := Server{Name: "pg-0", Host: "10.0.0.1"}, Server{Name: "pg-0", Host: "10.0.0.2"}
	assert.Equal(t, []string{"+pg-0"}, p.hears(0, old))
	assert.Equal(t, []string{"-pg-0"}, p.hears(time.Second, moved))
	assert.Empty(t, p.does(), "two servers of one name would be one in the metrics")
	p.removed(old)
	assert.Equal(t, []string{"+pg-0"}, p.does())
	assert.Equal(t, "10.0.0.2", p.plan.found()[0].Host)
	assert.Len(t, p.plan.members, 1)
}

func TestPlanRefusedIsTriedAgain(t *testing.T) {
	p := newPaper(t, Config{})
	p.plan.answer(p.now, tidied([]Server{a}, 1))
	p.plan.added(p.now, p.plan.next(p.now).add[0], errors.New("no"))
	assert.Empty(t, p.plan.next(p.now.Add(59*time.Second)).add)
	assert.Len(t, p.plan.next(p.now.Add(time.Minute)).add, 1)
	p.plan.answer(p.now, nil)
	assert.Empty(t, p.plan.members, "who is not used and not found is forgotten")
}

func TestTidied(t *testing.T) {
	names := func(servers ...Server) (names []string) {
		for _, s := range tidied(servers, 5432) {
			names = append(names, s.Name+" "+s.Endpoint())
		}
		return names
	}
	assert.Equal(t, []string{"pg1.example:5432 pg1.example:5432"}, names(Server{Host: "PG1.example."}, Server{Host: "pg1.example", Port: 5432}), "one host")
	assert.Equal(t, []string{"10.0.0.1:5432 10.0.0.1:5432", "[2001:db8::1]:1 [2001:db8::1]:1"},
		names(Server{Host: "db", Address: "10.0.0.1"}, Server{Host: "db", Address: "2001:db8::1", Port: 1}))
	assert.Equal(t, []string{"/run/pg:5432 /run/pg:5432", "10.0.0.9:5432 10.0.0.9:5432"}, names(Server{Host: "/run/pg"}, Server{Address: "10.0.0.9"}, Server{}))
	assert.Equal(t, []string{"a:5432 a:5432", "b:5432 b:5432", "x c:5432"},
		names(Server{Host: "a", Name: "n"}, Server{Host: "b", Name: "n"}, Server{Host: "c", Name: "x"}), "a name of two is nobody's")
	assert.Equal(t, []string{"a:5432 a:5432", "b:5432 b:5432"}, names(Server{Host: "a"}, Server{Host: "b", Name: "a:5432"}))
}

func TestValidate(t *testing.T) {
	some := Static()
	for _, x := range []struct {
		c    Config
		want string
	}{
		{Config{}, ""},
		{Config{Source: some}, ""},
		{Config{Source: some, EmptyGrace: Off}, ""},
		{Config{Source: some, Grace: time.Hour}, ""},
		{Config{Every: 1}, "Source is nil, although other fields are set: nothing would be discovered; set it, or leave the others 0"},
		{Config{Source: some, Every: -1}, "Every is -1ns: it must be positive (0 means the default)"},
		{Config{Source: some, EmptyGrace: -2}, "EmptyGrace is -2ns: it must be positive, or discover.Off"},
		{Config{Source: some, EmptyGrace: 1}, "EmptyGrace is 1ns, shorter than Grace, 30s: an answer that names nobody would count for more than one that names others; raise it"},
		{Config{Source: some, Most: -1}, "Most is -1: it must be positive (0 means 128)"},
	} {
		if x.want == "" {
			assert.NoError(t, x.c.Validate())
		} else {
			assert.EqualError(t, x.c.Validate(), x.want)
		}
	}
}
