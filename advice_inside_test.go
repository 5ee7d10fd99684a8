package readsplit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// noted keeps warnings.
type noted struct {
	logger.Interface
	mu  sync.Mutex
	all []string
}

func (n *noted) Warn(_ context.Context, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, fmt.Sprintf(format, args...))
}

// That sessions would help is said once: where a quarter of the reads had none, and were
// kept on the primary by what the process wrote.
func TestSessionsAreAdvisedOnce(t *testing.T) {
	const quarter = 4
	for name, c := range map[string]struct {
		m      *marks
		reason policy.Reason
		others int // reads on replicas for each
		wrote  bool
		says   int
	}{
		"every read":              {noMarks, policy.ReasonBehindSession, 0, true, 1},
		"a quarter":               {noMarks, policy.ReasonWaitExpired, quarter - 1, true, 1},
		"less than a quarter":     {noMarks, policy.ReasonBehindSession, quarter, true, 0},
		"with a session":          {&marks{session: NewSession()}, policy.ReasonBehindSession, 0, true, 0},
		"for another reason":      {noMarks, policy.ReasonLagging, 0, true, 0},
		"before the first write":  {noMarks, policy.ReasonPositionPending, 0, false, 0},
		"the capture is too late": {noMarks, policy.ReasonPositionPending, 1, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			log := &noted{Interface: logger.Discard}
			rt := &router{name: "books"}
			rt.plugin = &Plugin{main: rt, db: &gorm.DB{Config: &gorm.Config{Logger: log}}}
			if c.wrote {
				rt.process.update(func(session.Claim) session.Claim { return session.Claim{LastWrite: time.Now()} })
			}
			for range 3 * adviceAfter {
				rt.advise(c.m, c.reason)
				rt.counters.onPrimary[c.reason].Add(1)
				rt.counters.onReplicas[policy.ReasonWithinLag].Add(uint64(c.others))
			}
			require.Len(t, log.all, c.says)
			assert.Equal(t, c.says == 1, rt.counters.advice.given.Load())
			if c.says == 1 {
				assert.Contains(t, log.all[0], "WithSession")
				assert.Contains(t, log.all[0], "of resolver books")
			}
		})
	}
}
