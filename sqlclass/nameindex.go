package sqlclass

// nameKinds says on which lists a name is.
type nameKinds uint8

const (
	nameHarmless nameKinds = 1 << iota
	nameWrites             // changes something that others can see
	nameSession            // changes or locks something for its own connection
	nameRefused            // must not run on a replica for another reason
	nameReserved           // stands before a parenthesis without calling anything
	nameKeyword            // may stand in front of an operand
	nameVariable           // of SQL Server, behind @@
)

// nameTable is a set of lower-case names: entry n holds all names of n bytes,
// sorted, each followed by one blank.
type nameTable [64]string

// nameIndex finds a name on several lists at once. It is made once, at program start,
// and holds where the names stand, not the names.
type nameIndex struct {
	places  []uint16 // 1 + the number of an entry; 0: empty
	entries []nameEntry
	lists   []nameList
}

type nameEntry struct {
	key    wordKey
	at     uint16 // in the names of its length
	list   uint8
	length uint8
	kinds  nameKinds
}

type nameList struct {
	names *nameTable
	kinds nameKinds
}

func indexOf(lists ...nameList) *nameIndex {
	names, size := 0, 1
	for _, l := range lists {
		for n, all := range l.names {
			names += len(all) / (n + 1)
		}
	}
	for size < 2*names {
		size *= 2 // half of the places stay empty, so that few names are looked at for one
	}
	x := &nameIndex{lists: lists, places: make([]uint16, size), entries: make([]nameEntry, 0, names)}
	for number, l := range lists {
		for n, all := range l.names {
			for at := 0; at < len(all); at += n + 1 {
				name := all[at : at+n]
				key := keyOf(name)
				place, e := x.find(key, name)
				if e == nil {
					x.entries = append(x.entries, nameEntry{key: key, at: uint16(at), list: uint8(number), length: uint8(n)})
					x.places[place] = uint16(len(x.entries))
					e = &x.entries[len(x.entries)-1]
				}
				e.kinds |= l.kinds
			}
		}
	}
	return x
}

// of returns on which lists a word is, in any case. Its key must be that of keyOf.
func (x *nameIndex) of(key wordKey, word string) nameKinds {
	if _, e := x.find(key, word); e != nil {
		return e.kinds
	}
	return 0
}

// find returns the entry of a word, or nil and the empty place where it would be found.
func (x *nameIndex) find(key wordKey, word string) (place uint64, e *nameEntry) {
	last := uint64(len(x.places)) - 1
	for i := key.hash(len(word)); ; i++ {
		place = i & last
		number := x.places[place]
		if number == 0 {
			return place, nil
		}
		e = &x.entries[number-1]
		if e.key == key && int(e.length) == len(word) && (len(word) <= keyLength || equalFold(word, x.name(e))) {
			return place, e
		}
	}
}

func (x *nameIndex) name(e *nameEntry) string {
	return x.lists[e.list].names[e.length][e.at:][:e.length]
}
