package budget

import (
	"fmt"
	"math"
	"strconv"
)

// Line is one budget.
type Line struct {
	Name     string
	Measured float64
	Limit    float64
	Bound    Bound
	Note     string // the spread, and what it is compared with
}

// Bound is on which side of its limit a number is to be.
type Bound uint8

// Bounds.
const (
	AtMost Bound = iota
	AtLeast
	Below
)

// OK compares what is printed: nobody sees the fourth digit after the point.
func (l Line) OK() bool {
	m := rounded(l.Measured)
	switch l.Bound {
	case AtLeast:
		return m >= l.Limit
	case Below:
		return m < l.Limit
	}
	return m <= l.Limit // never of NaN
}

func (l Line) String() string {
	verdict := "over"
	if l.OK() {
		verdict = "ok"
	}
	return fmt.Sprintf("budget: %s measured=%s limit=%s %s", l.Name, number(rounded(l.Measured)), number(l.Limit), verdict)
}

func rounded(v float64) float64 {
	if math.Abs(v) >= 100 {
		return math.Round(v)
	}
	return math.Round(v*1000) / 1000
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
