package session

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"strings"
	"sync"
)

const (
	// minKeySize is the shortest key, in bytes: a shorter one can be guessed
	// from a single token, offline.
	minKeySize = 16
	// tagSize is how much of the HMAC is kept, in bytes.
	tagSize = 16
	// keyDomain keeps a key that the application also uses elsewhere from
	// signing anything there that could pass for a token, and the other way round.
	keyDomain = "readsplit session token, version 1"
)

// Keys signs and verifies tokens. The zero Keys signs nothing: its tokens carry
// a checksum against damage, and whoever can change a cookie can forge them. A
// forged token cannot bring about a stale read that its bearer would not have
// without it, but can send its bearer's reads to the primary for its lifetime.
//
// Keys may be copied and used by several goroutines.
type Keys struct {
	sealers []*sealer
}

// NewKeys returns Keys whose first key signs and all of which verify. To change
// the key, first add the new one at the end everywhere, then move it to the
// front, then, after the lifetime of a token, remove the old one. Without any
// key it returns the zero Keys.
//
// Each key is at least 16 random bytes. The error names every key that is too
// short by its number, starting at 1, and no key itself.
func NewKeys(keys ...[]byte) (Keys, error) {
	var short []string
	var k Keys
	for i, key := range keys {
		if len(key) < minKeySize {
			short = append(short, fmt.Sprintf("key %d has %d bytes", i+1, len(key)))
			continue
		}
		k.sealers = append(k.sealers, newSealer(key))
	}
	if short != nil {
		return Keys{}, fmt.Errorf("readsplit: token keys: %s: each must have at least %d; use that many random bytes", strings.Join(short, ", "), minKeySize)
	}
	return k, nil
}

// Signed reports whether there is a key.
func (k Keys) Signed() bool { return len(k.sealers) > 0 }

// String tells how many keys there are, so that a configuration can be printed
// without giving them away.
func (k Keys) String() string { return fmt.Sprintf("%d token keys", len(k.sealers)) }

// GoString is String, for %#v.
func (k Keys) GoString() string { return k.String() }

func (k Keys) verify(body, tag []byte) bool {
	for _, s := range k.sealers {
		if want := s.tag(body); hmac.Equal(want[:], tag) {
			return true
		}
	}
	return false
}

// sealer computes the tags of one key. Preparing a key costs more than using
// it, so prepared states are kept; each also holds the buffers that the hash
// would otherwise force onto the heap.
type sealer struct {
	states sync.Pool
}

type sealState struct {
	hash hash.Hash
	body [bodyMax]byte
	sum  [sha256.Size]byte
}

func newSealer(key []byte) *sealer {
	derive := hmac.New(sha256.New, key)
	derive.Write([]byte(keyDomain)) // a hash never fails
	own := derive.Sum(nil)
	return &sealer{states: sync.Pool{New: func() any {
		return &sealState{hash: hmac.New(sha256.New, own)}
	}}}
}

// tag returns the signature of body, which is at most bodyMax long.
func (s *sealer) tag(body []byte) (tag [tagSize]byte) {
	st := s.states.Get().(*sealState)
	defer s.states.Put(st)
	n := copy(st.body[:], body)
	st.hash.Reset()
	st.hash.Write(st.body[:n])
	copy(tag[:], st.hash.Sum(st.sum[:0]))
	return tag
}
