package session

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

const (
	// swept is how many users each write looks at for one that has expired: two, so
	// that the dead never outnumber the living however fast users come.
	swept = 2
	// candidates is of how many users the one that ends first makes room.
	candidates = 8
)

// record is one user. It holds no pointer, so that a million of them cost the
// garbage collector nothing, and most users have written to one database.
type record struct {
	key         uint64
	system      uint64 // this and three more are the first position
	incarnation int64
	lsn         lsn.LSN
	timeline    uint32
	expires     uint32 // seconds since 1970, as are the following two
	unsure      uint32 // 0: not unsure
	// doubted is until when unsure counts: the token that brought it may end long
	// before those that a busy user adds, and none of them says that the doubt is over.
	doubted uint32
}

func (r *record) position() lsn.Position {
	return lsn.Position{History: lsn.History{System: r.system, Timeline: r.timeline, Incarnation: r.incarnation}, LSN: r.lsn}
}

// shard is a part of a Memory's users.
type shard struct {
	mu      sync.Mutex
	index   map[uint64]uint32 // where a user is in records; nil: closed
	records []record
	// more are the further positions of users with more than one database.
	more map[uint64][]lsn.Position
	hand int // where the next sweep begins
	// lostUntil is until when something counts that was evicted, in seconds since
	// 1970; lostUnsure is what it said of Unsure, at least when it was evicted.
	lostUntil, lostUnsure uint32
}

// load returns what is known of a user who may not be there, and until when its Unsure
// counts. Who was evicted cannot be told from who has never written.
func (s *shard) load(key uint64, now time.Time) (t Token, doubted uint32) {
	if i, ok := s.index[key]; ok && live(s.records[i].expires, now) {
		r := &s.records[i]
		t = Token{Issued: now, Expires: timeOf(r.expires)}
		if live(r.doubted, now) {
			t.Unsure, doubted = timeOf(r.unsure), r.doubted
			t.Expires = timeOf(max(r.expires, r.doubted))
		}
		if p := r.position(); !p.Zero() {
			t.Positions = append(t.Positions, p)
			t.Positions = append(t.Positions, s.more[key]...)
		}
		return t, doubted
	}
	if live(s.lostUntil, now) {
		return Token{Issued: now, Expires: timeOf(s.lostUntil), Unsure: timeOf(s.lostUnsure)}, s.lostUntil
	}
	return Token{}, 0
}

// advance makes what is known of a user say at least what t says.
func (s *shard) advance(key uint64, t Token, now time.Time) {
	known, doubted := s.load(key, now)
	i, there := s.index[key]
	if !t.Unsure.IsZero() && !t.Expires.Before(known.Expires) {
		// The doubt covers what t does not name, for as long as that counts. A position of
		// before a change of primary would keep a user who only reads on the primary for
		// as long as they come, because each request adds a token that lives longer.
		known.Positions = slices.DeleteFunc(known.Positions, func(p lsn.Position) bool {
			return !slices.ContainsFunc(t.Positions, func(q lsn.Position) bool { return p.System == q.System })
		})
	}
	m := known.Merge(t)
	// A loss makes users unsure for its own time and does not make their tokens longer.
	r := record{key: key, expires: secondsOf(t.Expires), unsure: secondsOf(m.Unsure)}
	if there && live(s.records[i].expires, now) {
		r.expires = max(r.expires, s.records[i].expires)
	}
	switch {
	case m.Unsure.IsZero():
	case len(m.Positions) == MaxPositions:
		r.doubted = max(doubted, r.expires) // it may have come from this merge
	case !t.Unsure.IsZero() || doubted == 0:
		r.doubted = max(doubted, secondsOf(t.Expires))
	default:
		r.doubted = doubted
	}
	delete(s.more, key)
	if len(m.Positions) > 0 {
		p := m.Positions[0]
		r.system, r.timeline, r.incarnation, r.lsn = p.System, p.Timeline, p.Incarnation, p.LSN
	}
	if len(m.Positions) > 1 {
		if s.more == nil {
			s.more = map[uint64][]lsn.Position{}
		}
		s.more[key] = slices.Clone(m.Positions[1:])
	}
	if there {
		s.records[i] = r
		return
	}
	s.index[key] = uint32(len(s.records))
	s.records = append(s.records, r)
}

// remove forgets the user at i; the last one takes the place.
func (s *shard) remove(i int) {
	last := len(s.records) - 1
	delete(s.index, s.records[i].key)
	delete(s.more, s.records[i].key)
	if i != last {
		s.records[i] = s.records[last]
		s.index[s.records[i].key] = uint32(i)
	}
	s.records = s.records[:last]
}

// next moves the hand on and returns where it was.
func (s *shard) next() int {
	if s.hand >= len(s.records) {
		s.hand = 0
	}
	s.hand++
	return s.hand - 1
}

// sweep forgets some users whose tokens have expired, and returns how many.
func (s *shard) sweep(now time.Time) (n int) {
	for range min(swept, len(s.records)) {
		if len(s.records) == 0 {
			break
		}
		if i := s.next(); !live(s.records[i].expires, now) {
			s.remove(i) // the newest one takes the place, which is most likely alive
			n++
		}
	}
	return n
}

// makeRoom forgets one user, of some the one whose token ends first. It reports
// whether that token still counted: then nobody in the shard who is not there can be
// told from who was evicted, for as long as it would have counted.
func (s *shard) makeRoom(now time.Time) (counted bool) {
	first := s.next()
	for range min(candidates, len(s.records)) - 1 {
		if i := s.next(); s.records[i].expires < s.records[first].expires {
			first = i
		}
	}
	r := s.records[first]
	s.remove(first)
	if !live(r.expires, now) {
		return false
	}
	s.lostUntil = max(s.lostUntil, r.expires)
	s.lostUnsure = max(s.lostUnsure, r.unsure, uint32(min(now.Unix(), math.MaxUint32)))
	return true
}

func live(expires uint32, now time.Time) bool { return now.Unix() < int64(expires) }

// secondsOf rounds up; what lies after the year 2106 ends then.
func secondsOf(t time.Time) uint32 {
	if t.IsZero() {
		return 0
	}
	return uint32(min(max(ceilSeconds(t), 1), math.MaxUint32))
}

func timeOf(seconds uint32) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}
