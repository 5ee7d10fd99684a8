package catalog

import "strings"

// found says of what kind the risky names are whose words stand in a text.
type found uint8

const (
	foundCall      found = 1 << iota // is to be looked at as a call
	foundRelation                    // is to be looked at as a relation
	foundRow                         // is to be looked at as a type that has the name of a relation
	foundAttribute                   // is to be looked at as a function behind a dot
	foundWord                        // is enough as it stands
)

// wordIndex finds out fast that a text names nothing risky, which is the usual case:
// it looks at the text once and parses nothing. What it finds is a superset: every
// name in a text, in quotes or not, shows its words.
type wordIndex struct {
	kinds found // all that was added
	bits  [64]uint64
	words map[uint64]found // by hash
	// always are the kinds of names that no word gives away.
	always found
	// long are the kinds of names that the server may have cut: the text may have more.
	long found
}

const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211

	// The server cuts a name to maxName bytes, up to three less where that would be
	// within a character.
	maybeCut = maxName - 3
)

// add watches for the name raw. Of a name in quotes that has several words it
// watches for the first.
func (x *wordIndex) add(raw string, kind found) {
	x.kinds |= kind
	start := 0
	for start < len(raw) && folded[raw[start]] == 0 {
		start++
	}
	end, hash := start, uint64(hashStart)
	for end < len(raw) && folded[raw[end]] != 0 {
		hash = (hash ^ uint64(folded[raw[end]])) * hashPrime
		end++
	}
	cut := len(raw) >= maybeCut
	if start == end || cut && end-start < len(raw) {
		x.always |= kind
		return
	}
	if cut {
		x.long |= kind
	}
	if x.words == nil {
		x.words = map[uint64]found{}
	}
	x.words[hash] |= kind
	x.bits[hash>>6%64] |= 1 << (hash % 64)
}

// scan returns the kinds of the names whose words stand in the text.
func (x *wordIndex) scan(sql string) found {
	all := x.always
	for i := 0; i < len(sql); {
		c := folded[sql[i]]
		if c == 0 {
			i++
			continue
		}
		start, hash := i, uint64(hashStart)
		for {
			hash = (hash ^ uint64(c)) * hashPrime
			i++
			if i == len(sql) {
				break
			}
			if c = folded[sql[i]]; c == 0 {
				break
			}
		}
		if x.bits[hash>>6%64]&(1<<(hash%64)) != 0 {
			all |= x.words[hash]
		}
		if i-start > maxName {
			all |= x.long
		}
		if i-start == 1 && sql[start]|0x20 == 'u' && strings.HasPrefix(sql[i:], `&"`) {
			return all | foundWord // U&"\0061" is a name that the text does not show
		}
	}
	return all
}

// usesOperator looks for symbols anywhere, in literals and comments too.
func (s *snapshot) usesOperator(sql string) bool {
	for _, symbol := range s.operators {
		if strings.Contains(sql, symbol) {
			return true
		}
	}
	return false
}
