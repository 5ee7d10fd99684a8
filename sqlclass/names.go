package sqlclass

// maxName is longer than every keyword and every function on the lists. A word
// that is longer cannot be one of them and need not be folded.
const maxName = 64

// nameTable is a set of lower-case names: entry n holds all names of n bytes,
// sorted, each followed by one blank, so that a lookup is a binary search in one
// string, needs no memory of its own and no work at program start.
type nameTable [maxName]string

func (t *nameTable) has(name []byte) bool {
	n := len(name)
	if n == 0 || n >= maxName {
		return false
	}
	all := t[n]
	lo, hi := 0, len(all)/(n+1)
	for lo < hi {
		mid := (lo + hi) / 2
		entry := all[mid*(n+1) : mid*(n+1)+n]
		switch {
		case entry == string(name):
			return true
		case entry < string(name):
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return false
}

// nameBuffer is where a name is folded, on the caller's stack.
type nameBuffer [maxName]byte

// fold writes an unquoted word in lower case. Like the server it changes ASCII
// letters alone. It returns nil for a word that is too long to be on a list.
func (b *nameBuffer) fold(word string) []byte {
	if len(word) >= maxName {
		return nil
	}
	for i := 0; i < len(word); i++ {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b[i] = c
	}
	return b[:len(word)]
}

// name writes the name that a token stands for: folded, or as it is within its
// quotes. It returns nil when the name cannot be on a list. SQL Server compares
// quoted names like others, under most collations without case.
func (b *nameBuffer) name(d Dialect, sql string, t token) []byte {
	switch t.kind {
	case tokWord:
		return b.fold(sql[t.start:t.end])
	case tokQuoted:
		inner := sql[t.start+1 : t.end-1]
		if len(inner) >= maxName {
			return nil
		}
		if d == SQLServer {
			return b.fold(inner)
		}
		return b[:copy(b[:], inner)]
	}
	return nil
}

// containsFold reports whether s contains the lower-case word, in any case.
func containsFold(s, lower string) bool {
	for i := 0; i+len(lower) <= len(s); i++ {
		if s[i]|0x20 == lower[0]|0x20 && equalFold(s[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}

// equalFold reports whether s is the lower-case word, in any case.
func equalFold(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
