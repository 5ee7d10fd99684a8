package main

import (
	"regexp"
	"strconv"
	"time"
)

// minutes are the durations of alerting rules: after "for:", and of a range, in brackets.
var minutes = regexp.MustCompile(`(for: |\[)(\d+)m\b`)

// hurried returns rules in which each minute is as short as minute, so that one can
// watch an alert fire. Expressions stay what they are, thresholds too.
func hurried(rules []byte, minute time.Duration) []byte {
	return minutes.ReplaceAllFunc(rules, func(match []byte) []byte {
		m := minutes.FindSubmatch(match)
		n, _ := strconv.Atoi(string(m[2])) // digits
		return append(m[1][:len(m[1]):len(m[1])], milliseconds(time.Duration(n)*minute)...)
	})
}
