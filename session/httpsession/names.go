package httpsession

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
)

// idLength is the number of letters that a cookie's name has beyond Options.Name and
// a dash: 50 bits, among the few cookies of one client.
const idLength = 10

const idLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// ours reports whether a cookie of that name is one of these sessions: their names
// with an id or, as another carrier may have set it, without.
func ours(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	switch {
	case !ok:
		return false
	case rest == "":
		return true
	case len(rest) != 1+idLength || rest[0] != '-':
		return false
	}
	return strings.Trim(rest[1:], idLetters) == ""
}

// newID is for what nobody else can have: a write of this request.
func newID() string { return rand.Text()[:idLength] }

// sameID is for a response that tells no more than what came with its request: all
// responses that do so take the same name, so that twenty which overlap leave one
// cookie and not twenty. Any of them may overwrite any other.
func sameID(came []string) string {
	came = slices.Clone(came)
	slices.Sort(came)
	h := fnv.New64a()
	for _, name := range came {
		_, _ = h.Write([]byte(name))
		_, _ = h.Write([]byte{0})
	}
	return base32.StdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, h.Sum64()))[:idLength]
}
