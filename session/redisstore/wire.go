package redisstore

import (
	"crypto/sha256"
	_ "embed" // the script
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

//go:embed script.lua
var source string

// keysOf returns the keys of a user: the bucket's marker and the user's token, which
// have one hash tag and so lie on one node. Names of users are hashed, so that they do
// not stand in Redis and their length is no matter.
func keysOf(prefix, user string) (bucket byte, keys []string) {
	sum := sha256.Sum256([]byte(user))
	marker := markerKey(prefix, sum[0])
	return sum[0], []string{marker, marker + base64.RawURLEncoding.EncodeToString(sum[1:17])}
}

func markerKey(prefix string, bucket byte) string {
	const hex = "0123456789abcdef"
	return prefix + "{" + string([]byte{hex[bucket>>4], hex[bucket&15]}) + "}"
}

// signByte is where a position's incarnation begins. It is signed, and the script
// compares bytes.
const signByte = 12

func appendPositions(b []byte, positions []lsn.Position) []byte {
	for _, p := range positions {
		start := len(b)
		b, _ = p.AppendBinary(b) // never fails
		b[start+signByte] ^= 0x80
	}
	return b
}

// positionsOf reads what appendPositions wrote; whole is false when that was cut off.
func positionsOf(body string) (list []lsn.Position, whole bool) {
	for ; len(body) >= lsn.BinarySize; body = body[lsn.BinarySize:] {
		b := []byte(body[:lsn.BinarySize])
		b[signByte] ^= 0x80
		p, _ := lsn.FromBinary(b) // fails on another length only
		list = append(list, p)
	}
	return list, body == ""
}

// milliseconds rounds up, so that nothing ends early.
func milliseconds(d time.Duration) string {
	ms := d / time.Millisecond
	if d > 0 && d%time.Millisecond != 0 {
		ms++
	}
	return strconv.FormatInt(int64(ms), 10)
}

// answer is what the script says to Load. Times are told as durations, so that the
// clocks of Redis and of this process need not agree.
type answer struct {
	why      string
	lostFor  time.Duration // how long a loss goes on to count; 0: none does
	lostAgo  time.Duration
	ends     time.Duration
	unsure   bool
	unsureIn time.Duration
	body     string
}

const answerFields = 7

// parse reads an answer that came at now, and returns what it says with it.
func parse(reply any, now time.Time, window time.Duration) (a answer, t session.Token, err error) {
	list, ok := reply.([]any)
	if !ok || len(list) != answerFields {
		return a, t, fmt.Errorf("readsplit: redisstore: the script answers with a %T of another shape", reply)
	}
	field := func(i int) (d time.Duration) {
		n, isNumber := list[i].(int64)
		ok = ok && isNumber
		return time.Duration(n) * time.Millisecond
	}
	text := func(i int) string {
		s, isText := list[i].(string)
		ok = ok && isText
		return s
	}
	a = answer{text(0), max(field(1), 0), field(2), field(3), field(4) != 0, field(5), text(6)}
	positions, whole := positionsOf(a.body)
	if !ok || !whole {
		return a, t, errors.New("readsplit: redisstore: the script's answer has fields of other kinds")
	}
	if len(positions) > 0 || a.unsure {
		t = session.Token{Issued: now, Expires: now.Add(a.ends + time.Millisecond), Positions: positions}
		if a.unsure {
			t.Unsure = passed(now.Add(a.unsureIn + time.Millisecond))
		}
	}
	if a.lostFor > 0 {
		// A loss is over when it is noticed: whatever was acknowledged before lies
		// before what the primary has now. Only a doubt that was lost may go on.
		t = t.Merge(session.Token{Issued: now, Expires: now.Add(a.lostFor), Unsure: now.Add(min(window-a.lostAgo, a.lostFor))})
	}
	return a, t, nil
}

// passed keeps a doubt of long ago from being taken for none: the zero time means "sure".
func passed(t time.Time) time.Time {
	if first := time.Unix(1, 0); t.Before(first) {
		return first
	}
	return t
}
