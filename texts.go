package readsplit

import (
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/readsplit/readsplit/sqlclass"
)

// texts remembers what statements are, by their text: an application has some hundred
// of them, and reading one with many functions in it takes as long as all the rest of a
// decision. What is remembered was compared byte by byte, and is forgotten when the
// catalogue says something else.
//
// It is bounded, and a text is remembered when it comes for the second time: texts with
// values in them come once, would push out those that come again, and do not stay in
// memory with what stands in them.
type texts struct {
	seed    maphash.Seed
	buckets [textBuckets]textBucket
}

const (
	textBuckets = 256
	textsEach   = 4
	// longestText is the longest that is remembered, in bytes.
	longestText = 4 << 10
)

// textBucket has the texts whose hash ends alike.
type textBucket struct {
	known  [textsEach]atomic.Pointer[textKnown]
	missed atomic.Uint64 // the hash of one that was not there lately; 0: none
}

// textKnown is never changed.
type textKnown struct {
	text    string
	hash    uint64
	version uint64 // of the catalogue
	info    sqlclass.Info
}

func newTexts() *texts { return &texts{seed: maphash.MakeSeed()} }

// of returns what a text is: what is remembered of it, else what read says. version is
// that of all that read knows beside the text.
func (t *texts) of(text string, version uint64, read func(string) sqlclass.Info) sqlclass.Info {
	if t == nil || len(text) > longestText {
		return read(text)
	}
	hash := maphash.String(t.seed, text)
	b := &t.buckets[hash%textBuckets]
	// Where it has no place yet, one of the others leaves its own.
	place := hash / textBuckets % textsEach
	for i := range b.known {
		k := b.known[i].Load()
		if k == nil {
			place = uint64(i)
			continue
		}
		if k.hash != hash || k.text != text {
			continue
		}
		if k.version == version {
			return k.info
		}
		place = uint64(i)
		break
	}
	info := read(text)
	switch missed := b.missed.Load(); {
	case missed == hash:
		b.known[place].Store(&textKnown{strings.Clone(text), hash, version, info})
		b.missed.Store(0)
	case missed == 0 || rand.Uint64()%2 == 0:
		// By chance: of texts that come in turn, each would else push out the one before.
		b.missed.Store(hash)
	}
	return info
}
