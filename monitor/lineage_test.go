package monitor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/lsn"
)

// step is one sample of a replica and what is known of the primary then.
type step struct {
	what     string
	history  lsn.History
	run      int64  // start time of the replica's postmaster
	system   uint64 // 0: the primary's
	streams  uint32
	control  uint32
	replay   lsn.LSN
	receive  lsn.LSN
	insert   lsn.LSN // of the primary
	isLater  bool
	want     verdict
	wantBase lsn.LSN
}

var (
	before   = lsn.History{System: 7, Timeline: 1, Incarnation: 100}
	promoted = lsn.History{System: 7, Timeline: 2, Incarnation: 200}
	restored = lsn.History{System: 7, Timeline: 1, Incarnation: 300}
)

func TestLineage(t *testing.T) {
	for name, steps := range map[string][]step{
		"an ordinary standby": {
			{what: "first sample, before the primary was asked again", history: before, streams: 1, control: 1, replay: 10, insert: 10, want: proven},
			{what: "ahead of an older answer stays proven", history: before, streams: 1, control: 1, replay: 30, insert: 20, want: proven},
			{what: "behind", history: before, streams: 1, control: 1, replay: 30, insert: 90, isLater: true, want: proven},
			{what: "exactly there", history: before, streams: 1, control: 1, replay: 90, receive: 90, insert: 90, isLater: true, want: proven},
			{what: "its receiver stopped: the run streamed it once", history: before, control: 1, replay: 90, insert: 90, isLater: true, want: proven},
		},
		"an ordinary role sees only the control file": {
			{what: "timeline 1", history: before, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
		},
		"nothing is known of the primary": {
			{what: "no history", streams: 1, control: 1, replay: 10, want: unproven},
			{what: "the primary answers", history: before, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
		},
		"ahead of the first answer, not later": {
			{what: "nothing is concluded", history: before, streams: 1, control: 1, replay: 20, insert: 10, want: unproven},
			{what: "the next answer covers it", history: before, streams: 1, control: 1, replay: 20, insert: 20, isLater: true, want: proven},
		},
		"another cluster": {
			{what: "its numbers fit", history: before, system: 8, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: foreign},
			{what: "rebuilt from ours", history: before, run: 2, system: 7, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
		},
		"promotion, and the standby changes sides": {
			{what: "before", history: before, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
			{what: "another primary", history: promoted, streams: 1, control: 1, replay: 10, insert: 20, isLater: true, want: unproven},
			{what: "it goes on with the loser", history: promoted, streams: 1, control: 1, replay: 25, insert: 20, isLater: true, want: unproven},
			{what: "it streams from the winner", history: promoted, streams: 2, control: 1, replay: 15, insert: 30, isLater: true, want: proven},
			{what: "its control file follows minutes later", history: promoted, streams: 2, control: 2, replay: 30, insert: 30, isLater: true, want: proven},
		},
		"promotion, seen by an ordinary role": {
			{what: "before", history: before, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
			{what: "another primary", history: promoted, control: 1, replay: 10, insert: 20, isLater: true, want: unproven},
			{what: "no proof for minutes", history: promoted, control: 1, replay: 20, insert: 20, isLater: true, want: unproven},
			{what: "the control file proves it", history: promoted, control: 2, replay: 20, insert: 20, isLater: true, want: proven},
		},
		"the control file is ahead of what was seen to be streamed": {
			{what: "before", history: before, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
			{what: "it has reached timeline 2 while nobody looked", history: before, control: 2, replay: 20, insert: 20, isLater: true, want: foreign},
			{what: "as has the primary", history: promoted, control: 2, replay: 20, insert: 20, isLater: true, want: proven},
		},
		"standby of the loser": {
			{what: "its upstream was not promoted", history: promoted, streams: 1, control: 1, replay: 10, insert: 20, isLater: true, want: unproven},
			{what: "its numbers pass the winner's", history: promoted, streams: 1, control: 1, replay: 99, insert: 30, isLater: true, want: unproven},
			{what: "restarted it is no better", history: promoted, run: 2, streams: 1, control: 1, replay: 25, insert: 99, isLater: true, want: unproven},
		},
		"we follow the loser, it follows the winner": {
			{what: "before", history: before, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
			{what: "a newer timeline", history: before, streams: 2, control: 1, replay: 10, insert: 20, isLater: true, want: foreign},
			{what: "only its control file says so", history: before, run: 2, control: 2, replay: 10, insert: 20, isLater: true, want: foreign},
			{what: "we change sides too", history: promoted, run: 2, control: 2, replay: 20, insert: 20, isLater: true, want: proven},
		},
		"primary restarted": {
			{what: "before", history: before, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
			{what: "same timeline, same data", history: restored, streams: 1, control: 1, replay: 10, insert: 10, isLater: true, want: proven},
		},
		"primary restored from a snapshot": {
			{what: "before", history: before, streams: 1, control: 1, replay: 100, receive: 100, insert: 100, isLater: true, want: proven},
			{what: "the replica was asked first: nothing is concluded", history: restored, streams: 1, control: 1, replay: 100, receive: 100, insert: 50, want: unproven},
			{what: "it is ahead", history: restored, streams: 1, control: 1, replay: 100, receive: 100, insert: 60, isLater: true, want: foreign, wantBase: 100},
			{what: "the primary overtakes: same numbers, other writes", history: restored, streams: 1, control: 1, replay: 100, receive: 100, insert: 100, isLater: true, want: foreign, wantBase: 100},
			{what: "far", history: restored, streams: 1, control: 1, replay: 100, receive: 100, insert: 900, isLater: true, want: foreign, wantBase: 100},
			{what: "a restart proves nothing", history: restored, run: 2, control: 1, replay: 100, insert: 900, isLater: true, want: unproven, wantBase: 100},
			{what: "nor does a crash into an older state", history: restored, run: 2, control: 1, replay: 80, insert: 900, isLater: true, want: unproven, wantBase: 100},
			{what: "it moves past what it had: it follows this primary", history: restored, run: 2, streams: 1, control: 1, replay: 101, receive: 200, insert: 900, isLater: true, want: proven},
			{what: "and is trusted again, further back too", history: restored, run: 2, streams: 1, control: 1, replay: 90, insert: 900, isLater: true, want: proven},
		},
		"received but not replayed beyond the primary": {
			{what: "what it holds will be replayed", history: restored, streams: 1, control: 1, replay: 40, receive: 100, insert: 60, isLater: true, want: foreign, wantBase: 100},
			{what: "the primary overtakes", history: restored, streams: 1, control: 1, replay: 100, receive: 100, insert: 900, isLater: true, want: foreign, wantBase: 100},
			{what: "past it", history: restored, streams: 1, control: 1, replay: 110, receive: 110, insert: 900, isLater: true, want: proven},
		},
		"found further beyond each time": {
			{what: "once", history: restored, streams: 1, control: 1, replay: 100, insert: 60, isLater: true, want: foreign, wantBase: 100},
			{what: "twice", history: restored, streams: 1, control: 1, replay: 150, insert: 70, isLater: true, want: foreign, wantBase: 150},
			{what: "less far after a crash", history: restored, streams: 1, control: 1, replay: 120, insert: 80, isLater: true, want: foreign, wantBase: 150},
			{what: "between the two", history: restored, streams: 1, control: 1, replay: 120, insert: 900, isLater: true, want: foreign, wantBase: 150},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l lineage
			for i, s := range steps {
				if s.system == 0 {
					s.system = 7
				}
				sample := lsn.Sample{
					Server:     lsn.Server{System: s.system, Started: 1000 + s.run},
					InRecovery: true, Replay: s.replay, Receive: s.receive,
					ReceivedTimeline: s.streams, ControlTimeline: s.control,
				}
				got := l.judge(s.history, &sample, s.insert, s.isLater)
				assert.Equal(t, s.want, got, "step %d: %s", i+1, s.what)
				assert.Equal(t, s.want, l.verdict, "step %d: %s", i+1, s.what)
				assert.Equal(t, s.wantBase, l.base, "step %d: %s", i+1, s.what)
			}
		})
	}
}

func TestLineageOfAServerWithoutIdentifier(t *testing.T) {
	var l lineage
	s := lsn.Sample{InRecovery: true, Replay: 10, ReceivedTimeline: 1, ControlTimeline: 1}
	assert.Equal(t, unproven, l.judge(lsn.History{Timeline: 1, Incarnation: 1}, &s, 10, true), "0 equals 0, and proves nothing")
}
