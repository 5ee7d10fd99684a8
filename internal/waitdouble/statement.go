package waitdouble

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// statement is a WAIT FOR LSN.
type statement struct {
	lsn     uint64
	timeout time.Duration // 0: for ever
	throws  bool
}

var (
	waitFor  = regexp.MustCompile(`(?is)^\s*WAIT\s+FOR\b`)
	whole    = regexp.MustCompile(`(?is)^\s*WAIT\s+FOR\s+LSN\s+'([^']*)'(?:\s+WITH\s*\((.*)\))?\s*;?\s*$`)
	option   = regexp.MustCompile(`(?is)^\s*(\w+)(?:\s+(?:'([^']*)'|([0-9.]+)))?\s*$`)
	position = regexp.MustCompile(`^([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})$`)
	duration = regexp.MustCompile(`^\s*(-?[0-9.]+)\s*(us|ms|s|min|h|d|)\s*$`)
)

// units are what a timeout may be written in, in milliseconds.
var units = map[string]float64{"us": 0.001, "ms": 1, "": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

func refusal(code, format string, a ...any) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: fmt.Sprintf(format, a...)}
}

// parse reads a statement as the server does.
func parse(text string) (s statement, refused *pgproto3.ErrorResponse) {
	m := whole.FindStringSubmatch(text)
	if m == nil {
		return s, refusal("42601", "syntax error at or near \"WAIT\"")
	}
	p := position.FindStringSubmatch(m[1])
	if p == nil {
		return s, refusal("22P02", "invalid input syntax for type pg_lsn: %q", m[1])
	}
	high, _ := strconv.ParseUint(p[1], 16, 32)
	low, _ := strconv.ParseUint(p[2], 16, 32)
	s = statement{lsn: high<<32 | low, throws: true}
	if m[2] == "" {
		return s, nil
	}
	seen := map[string]bool{}
	for _, text := range strings.Split(m[2], ",") {
		o := option.FindStringSubmatch(text)
		if o == nil {
			return s, refusal("42601", "syntax error at or near %q", text)
		}
		name, value := strings.ToLower(o[1]), o[2]+o[3]
		if seen[name] {
			return s, refusal("42601", "conflicting or redundant options")
		}
		seen[name] = true
		switch name {
		case "mode":
			switch strings.ToLower(value) {
			case "standby_replay":
			case "standby_write", "standby_flush", "primary_flush":
				return s, refusal("0A000", "waitdouble: mode %q is not played", value)
			default:
				return s, refusal("22023", "unrecognized value for WAIT option \"mode\": %q", value)
			}
		case "timeout":
			if s.timeout, refused = milliseconds(value); refused != nil {
				return s, refused
			}
		case "no_throw":
			s.throws = false
		default:
			return s, refusal("42601", "option %q not recognized", name)
		}
	}
	return s, nil
}

// milliseconds reads a timeout. What is a half or less is rounded to none, and none is for
// ever.
func milliseconds(text string) (time.Duration, *pgproto3.ErrorResponse) {
	m := duration.FindStringSubmatch(text)
	if m == nil {
		return 0, refusal("22023", "invalid timeout value: %q", text)
	}
	number, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, refusal("22023", "invalid timeout value: %q", text)
	}
	switch ms := math.RoundToEven(number * units[m[2]]); {
	case ms < 0:
		return 0, refusal("22023", "timeout cannot be negative")
	case ms > float64(math.MaxInt64/int64(time.Millisecond)):
		return 0, refusal("22003", "timeout value is out of range")
	default:
		return time.Duration(ms) * time.Millisecond, nil
	}
}
