package sqlval

import (
	"strings"
	"time"
)

var layouts = []string{
	"2006-01-02 15:04:05.999999999 -07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02", "20060102", "15:04:05.999999999", "15:04",
}

func toTime(v any, to Type) (any, error) {
	var t time.Time
	switch x := v.(type) {
	case time.Time:
		t = x
	case string:
		parsed, ok := parseTime(x)
		if !ok {
			return nil, Errorf(241, "Conversion failed when converting date and/or time from character string.")
		}
		t = parsed
	case int64:
		if to.Kind != DateTime && to.Kind != SmallDateTime {
			return nil, cannot(v, to)
		}
		t = time.Date(1900, 1, 1+int(x), 0, 0, 0, 0, time.UTC)
	default:
		return nil, cannot(v, to)
	}
	if to.Kind != DateTimeOffset { // the time of day stays, the zone goes
		t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	switch to.Kind {
	case Date:
		return t.Truncate(24 * time.Hour), nil
	case Time:
		return roundTo(time.Date(1, 1, 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC), to.Scale), nil
	case SmallDateTime:
		return t.Round(time.Minute), nil
	case DateTime:
		// Three hundredths of a second, which are shown as 0, 3 and 7 ms.
		ticks := (int64(t.Nanosecond())*3 + 5_000_000) / 10_000_000
		return t.Truncate(time.Second).Add(milliseconds(ticks)), nil
	}
	return roundTo(t, to.Scale), nil
}

// milliseconds is what three hundredths of a second are shown as.
func milliseconds(ticks int64) time.Duration {
	return time.Duration((ticks*10+1)/3) * time.Millisecond
}

func roundTo(t time.Time, scale uint8) time.Time {
	unit := time.Second
	for range min(scale, 7) {
		unit /= 10
	}
	rounded := t.Round(unit)
	return rounded
}

func parseTime(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), true
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
