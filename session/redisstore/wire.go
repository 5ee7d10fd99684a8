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

func positionsOf(body string) (list []lsn.Position, err error) {
	for ; len(body) >= lsn.BinarySize; body = body[lsn.BinarySize:] {
		b := []byte(body[:lsn.BinarySize])
		b[signByte] ^= 0x80
		p, err := lsn.FromBinary(b)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	if body != "" {
		return nil, errors.New("positions are cut off")
	}
	return list, nil
}

// milliseconds rounds up, so that nothing ends early.
func milliseconds(d time.Duration) string {
	ms := d / time.Millisecond
	if d > 0 && d%time.Millisecond != 0 {
		ms++
	}
	return strconv.FormatInt(int64(ms), 10)
}

// answer is what the script says. Times are told as durations, so that the clocks of
// Redis and of this process need not agree.
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

func parse(reply any) (a answer, err error) {
	list, ok := reply.([]any)
	if !ok || len(list) != answerFields {
		return a, fmt.Errorf("the script's answer is a %T of another shape", reply)
	}
	var numbers [answerFields]int64
	for _, i := range []int{1, 2, 3, 4, 5} {
		if numbers[i], ok = list[i].(int64); !ok {
			return a, fmt.Errorf("field %d of the script's answer is a %T", i, list[i])
		}
	}
	a.why, ok = list[0].(string)
	if a.body, _ = list[6].(string); !ok {
		return a, fmt.Errorf("field 0 of the script's answer is a %T", list[0])
	}
	ms := func(i int) time.Duration { return time.Duration(numbers[i]) * time.Millisecond }
	a.lostFor, a.lostAgo, a.ends, a.unsure, a.unsureIn = max(ms(1), 0), ms(2), ms(3), numbers[4] == 1, ms(5)
	return a, nil
}

// token returns what an answer that came at now says.
func (a *answer) token(now time.Time, window time.Duration) (t session.Token, err error) {
	positions, err := positionsOf(a.body)
	if err != nil {
		return t, err
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
	return t, nil
}

// passed keeps a doubt of long ago from being taken for none: durations end after
// some 290 years, and the zero time means "sure".
func passed(t time.Time) time.Time {
	if first := time.Unix(1, 0); t.Before(first) {
		return first
	}
	return t
}
