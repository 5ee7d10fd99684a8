package catalog

import "github.com/readsplit/readsplit/sqlclass"

// watchRow has texts looked at that may name the row of a relation as a type:
// NULL::orders. Every read of the table has that word in it, and a check of a domain
// that is run by no such read must not take them all from the replicas.
func (s *snapshot) watchRow(base string) {
	if !oneWord(base) {
		s.words.add(base, foundWord)
		return
	}
	s.words.add(base, foundRow)
	s.rows = append(s.rows, base)
}

// namesRow reports whether one of those names stands in the text more often than
// as a relation and before the dot of a column.
func (s *snapshot) namesRow(sql string) bool {
	for _, base := range s.rows {
		count := 0
		eachWord(sql, func(w spot) bool {
			if w.is(base) && w.after() != '.' {
				count++
			}
			return true
		})
		if count == 0 {
			continue
		}
		sqlclass.Relations(sqlclass.PostgreSQL, sql, func(text string) bool {
			if n, ok := lookUp(text); ok && n.base == base {
				count--
			}
			return true
		})
		if count > 0 {
			return true
		}
	}
	return false
}
