package status

import (
	"encoding/json"
	"math"
	"strconv"
)

// Points are a value at equal distances in time, the oldest first; NaN, null in JSON,
// where there was none.
type Points []float64

// MarshalJSON writes three digits after the point: a page is no instrument.
func (p Points) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 8*len(p)+2), '[')
	for i, v := range p {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, v, 'f', 3, 64)
		}
	}
	return append(b, ']'), nil
}

var _ json.Marshaler = Points{}

// History is the past of one server.
type History struct {
	Router string `json:"router"`
	Server string `json:"server"`
	Lag    Points `json:"lag_seconds"`
	Reads  Points `json:"reads_per_second"`
}

// past keeps the newest points of one server.
type past struct {
	lag, reads []float64
	lastReads  uint64
}

func (p *past) add(keep int, lag, reads float64) {
	p.lag = newest(append(p.lag, lag), keep)
	p.reads = newest(append(p.reads, reads), keep)
}

// newest drops the oldest, moving them seldom.
func newest(all []float64, keep int) []float64 {
	if len(all) <= keep {
		return all
	}
	if len(all) >= 2*keep {
		return append(make([]float64, 0, 2*keep), all[len(all)-keep:]...)
	}
	return all
}

func last(all []float64, keep int) Points { return all[max(0, len(all)-keep):] }
