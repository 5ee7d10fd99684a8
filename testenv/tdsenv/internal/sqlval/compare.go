package sqlval

import (
	"bytes"
	"cmp"
	"strings"
	"time"
)

// Compare compares two values of one type, neither of them NULL. Strings compare as under the
// usual collation: without regard to case, and to blanks at the end.
func Compare(a, b any) int {
	switch x := a.(type) {
	case int64:
		return cmp.Compare(x, b.(int64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case bool:
		return cmp.Compare(bit(x), bit(b.(bool)))
	case string:
		return strings.Compare(Fold(x), Fold(b.(string)))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case Dec:
		return x.Cmp(b.(Dec))
	case time.Time:
		return x.Compare(b.(time.Time))
	case UUID:
		y := b.(UUID)
		return compareUUID(x, y)
	}
	return 0
}

// Fold is the form of a string in which equal ones are the same.
func Fold(s string) string { return strings.ToLower(strings.TrimRight(s, " ")) }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareUUID has SQL Server's order: the last group counts first.
func compareUUID(a, b UUID) int {
	for _, part := range [][2]int{{10, 16}, {8, 10}, {6, 8}, {4, 6}, {0, 4}} {
		if n := bytes.Compare(a[part[0]:part[1]], b[part[0]:part[1]]); n != 0 {
			return n
		}
	}
	return 0
}

// Order compares as ORDER BY and unique indexes do: NULL is the same as NULL, and comes first.
func Order(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return Compare(a, b)
}

// OrderAll compares keys of several columns.
func OrderAll(a, b []any) int {
	for i := range min(len(a), len(b)) {
		if n := Order(a[i], b[i]); n != 0 {
			return n
		}
	}
	return cmp.Compare(len(a), len(b))
}
