package main

import (
	"regexp"
	"strconv"
	"time"
)

var (
	waits   = regexp.MustCompile(`(for: )(\d+)m\b`)
	windows = regexp.MustCompile(`(\[)(\d+)m\b`)
)

// hurried returns rules in which a minute that an alert waits ("for: 5m") is as short as
// wait, and a minute that is looked back at ("[5m]") as short as window, so that one can
// watch an alert fire. Expressions stay what they are, thresholds too.
func hurried(rules []byte, wait, window time.Duration) []byte {
	for minutes, minute := range map[*regexp.Regexp]time.Duration{waits: wait, windows: window} {
		rules = minutes.ReplaceAllFunc(rules, func(match []byte) []byte {
			m := minutes.FindSubmatch(match)
			n, _ := strconv.Atoi(string(m[2])) // digits
			return append(m[1][:len(m[1]):len(m[1])], milliseconds(time.Duration(n)*minute)...)
		})
	}
	return rules
}
