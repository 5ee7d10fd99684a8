package sqlclass

import "strings"

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
		entry := all[mid*(n+1):][:n]
		i := 0
		for i < n && entry[i] == name[i] {
			i++
		}
		switch {
		case i == n:
			return true
		case entry[i] < name[i]:
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

// mentions reports whether the text contains before+after in any case. after
// begins with an underscore, by which the search goes: it is rare enough to make
// the search cheap.
func mentions(text, before, after string) bool {
	for i := 0; ; i++ {
		n := strings.IndexByte(text[i:], '_')
		if n < 0 {
			return false
		}
		i += n
		if i >= len(before) && i+len(after) <= len(text) &&
			equalFold(text[i-len(before):i], before) && equalFold(text[i:i+len(after)], after) {
			return true
		}
	}
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
