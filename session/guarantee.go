package session

import "fmt"

// Guarantee is what the reads of a session may rely on. Each level includes those
// before it.
type Guarantee uint8

// Guarantees, from the least to the most.
const (
	// ReadYourWrites: reads see what the session has written, and what the sessions
	// whose tokens it joined had written, here or elsewhere.
	ReadYourWrites Guarantee = iota
	// MonotonicReads: reads see also what earlier reads of the session have shown, on
	// whichever server they ran, in this request or an earlier one, in this process
	// or another: its tokens say what was read.
	MonotonicReads
	// Causal: reads see also what the session has learned without reading. The
	// primary answers a write that fails, too: a duplicate key says that there is a
	// row. Whoever joins its token sees all that it had written, read or learned, and
	// what those had whose tokens it joined.
	Causal
)

// String returns "read_your_writes", "monotonic_reads" or "causal".
func (g Guarantee) String() string {
	switch g {
	case ReadYourWrites:
		return "read_your_writes"
	case MonotonicReads:
		return "monotonic_reads"
	case Causal:
		return "causal"
	}
	return "invalid"
}

// MarshalText returns g.String().
func (g Guarantee) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what MarshalText writes, for configuration files.
func (g *Guarantee) UnmarshalText(text []byte) error {
	for known := ReadYourWrites; known <= Causal; known++ {
		if known.String() == string(text) {
			*g = known
			return nil
		}
	}
	return fmt.Errorf("readsplit: guarantee %q: it must be %v, %v or %v", text, ReadYourWrites, MonotonicReads, Causal)
}
