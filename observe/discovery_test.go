package observe_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/observe"
)

func TestLogOfDiscovery(t *testing.T) {
	var out bytes.Buffer
	l := observe.NewLog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})), observe.LogOptions{})
	l.ObserveDiscovery(observe.Discovery{Source: "dns pg", Kind: "added", Server: "10.0.0.1:5432"})
	l.ObserveDiscovery(observe.Discovery{Source: "dns pg", Kind: "failed", Err: errors.New("no")})
	assert.Equal(t, []string{
		`level=INFO msg="readsplit: discovery" source="dns pg" kind=added server=10.0.0.1:5432`,
		`level=WARN msg="readsplit: discovery" source="dns pg" kind=failed error=no`,
	}, strings.Split(strings.TrimSpace(out.String()), "\n"))
}
