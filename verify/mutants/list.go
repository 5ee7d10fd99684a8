package mutants

// All are the mutants. A changed text is as short as it can be while it stands once
// in its file, so that few changes of the code touch it.
var All = []Mutant{
	{
		Name:    "capture-too-early",
		Mistake: "the position that covers a write may be of a capture that had begun before its commit was acknowledged",
		Edits: []Edit{{
			"monitor/captures.go",
			"return c.started.Load() + 1",
			"return c.started.Load()",
		}},
		Args: "-faults delay,slow_upstream",
	},
	{
		Name:    "flush-position-of-asynchronous-commit",
		Mistake: "the flush position is taken although the commit did not wait for it",
		Edits: []Edit{{
			"monitor/captures.go",
			"if insert || c.async || c.unwaited {",
			"if c.async && !insert {",
		}},
		Args: "-faults delay,slow_upstream -ways async,take,find,place",
	},
	{
		Name:    "asynchronous-commit-unnoticed",
		Mistake: "SET LOCAL synchronous_commit in a transaction is not looked at",
		Edits: []Edit{{
			"tx.go",
			"\t\tt.commitsAsync()\n\t\tif info.Flags.Has(sqlclass.SetsSession) {",
			"\t\tif info.Flags.Has(sqlclass.SetsSession) {",
		}},
		Args: "-faults delay,slow_upstream -ways async,take,find,place",
	},
	{
		Name:    "generation-ignored",
		Mistake: "an answer counts although its server came back in an older state meanwhile",
		Edits: []Edit{{
			"read.go",
			"if rt.monitor.Generation(s.index) == generation {",
			"if generation >= 0 {",
		}},
		Args: "-faults held_crash",
	},
	{
		Name:    "new-connections-unseen",
		Mistake: "a new connection is not asked which state it reached",
		Edits: []Edit{{
			"server.go",
			"again, err := before.Connected(c)\n",
			"again, err := false, error(nil)\n\t\t_, _ = before, c\n",
		}},
		Args: "-faults held_crash",
	},
	{
		Name:    "lag-by-the-replica",
		Mistake: "a replica that has replayed all it has received counts as current",
		Edits: []Edit{{
			"monitor/replica.go",
			"v.ReplayedAt = r.replayedAt\n",
			"if v.ReplayedAt = r.replayedAt; r.sample.Receive <= r.sample.Replay {\n\t\t\tv.ReplayedAt = r.began\n\t\t}\n",
		}},
		Args: "-faults cut",
	},
	{
		Name:    "refused-token-ignored",
		Mistake: "a token that cannot be read makes its session ask for nothing",
		Edits: []Edit{{
			"join.go",
			"l.claim.update(func(c session.Claim) session.Claim { return c.AfterUnsure(window, now) })\n\t\treturn\n",
			"return\n",
		}},
		Args: "-faults tamper,delay,pause",
	},
	{
		Name:    "joined-token-ignored",
		Mistake: "the position of a token is not joined",
		Edits: []Edit{{
			"join.go",
			"joined, ok := c.Join(pos, next, now)",
			"joined, ok := c, next >= 0 && !pos.Zero()",
		}},
		Args: "-faults delay,pause",
	},
	{
		Name:    "token-without-its-write",
		Mistake: "a token does not wait for the position of the newest write, and does not say so",
		Edits: []Edit{
			{"token.go", "t, keys := s.token(ctx, time.Now().Add(tokenWait))", "t, keys := s.token(ctx, time.Now())"},
			{"token.go", "t, _ := s.token(ctx, time.Now().Add(tokenWait))", "t, _ := s.token(ctx, time.Now())"},
			{"token.go", "case q.Pending || q.Foreign:", "case q.Foreign:"},
		},
		Args: "-faults delay,pause",
	},
	{
		Name:    "write-retried",
		Mistake: "a write whose outcome is unknown is run again",
		Edits: []Edit{{
			"routerun.go",
			"\t\"github.com/readsplit/readsplit/policy\"\n",
			"\t\"github.com/readsplit/readsplit/policy\"\n\t\"github.com/readsplit/readsplit/retry\"\n",
		}, {
			"routerun.go",
			"_ = run(nil)\n\tr.shownThere(ctx, err)\n\tif sent {\n",
			"if _ = run(nil); err != nil && retry.OfWrite(err) == retry.Unknown {\n\t\t_ = run(nil)\n\t}\n\tr.shownThere(ctx, err)\n\tif sent {\n",
		}},
		Args: "-faults lose_answers -ways exec,take,find,place",
	},
	{
		Name:    "statement-of-a-transaction-retried",
		Mistake: "a statement whose transaction broke is run again outside of it",
		Edits: []Edit{{
			"tx.go",
			"result, err := t.inner.ExecContext(ctx, query, args...)\n",
			"result, err := t.inner.ExecContext(ctx, query, args...)\n\tif err != nil && retry.OfWrite(err) == retry.Unknown {\n\t\tresult, err = t.router.primary.ExecContext(ctx, query, args...)\n\t}\n",
		}},
		Args: "-faults lose_answers,primary_terminate -ways transaction,begin,nested,take,place",
	},
	{
		Name:    "lost-commit-acknowledged",
		Mistake: "an error of COMMIT that says nothing of the outcome is taken for success",
		Edits: []Edit{{
			"tx.go",
			"\tt.router.handedBack(t)\n\treturn err\n}\n\n// Rollback",
			"\tt.router.handedBack(t)\n\tif outcome == retry.Unknown {\n\t\treturn nil\n\t}\n\treturn err\n}\n\n// Rollback",
		}},
		Args: "-faults primary_terminate,primary_kill -ways transaction,begin,post,take,place",
	},
	{
		Name:    "process-without-claim",
		Mistake: "who has no session asks for nothing, not even for what the process wrote",
		Edits: []Edit{{
			"claims.go",
			"at, known := rt.known(&rt.process, q)",
			"at, known := time.Time{}, true",
		}},
		Args: "-faults delay,pause",
	},
	{
		Name:    "unsure-forgotten",
		Mistake: "a session that wrote where nobody could see the commit goes on as if it had not",
		Edits: []Edit{{
			"claims.go",
			"after := func(c session.Claim) session.Claim { return c.AfterUnsure(until, now) }",
			"after := func(c session.Claim) session.Claim { _ = until; return c }",
		}},
		Args: "-faults delay,pause -ways connection,take,find,place",
	},
	{
		Name:    "rows-recorded-too-early",
		Mistake: "a write that returns rows is recorded when the first one is there, and not when it has committed",
		Edits: []Edit{{
			"openrows.go",
			"o := &rt.openRows\n\to.mu.Lock()\n\tdefer o.mu.Unlock()\n\tif len(o.list) >=",
			"if r.rows != nil {\n\t\trt.outcome(r.marks, r.effect, nil)\n\t\treturn\n\t}\n\to := &rt.openRows\n\to.mu.Lock()\n\tdefer o.mu.Unlock()\n\tif len(o.list) >=",
		}},
		Args: "-faults delay,slow_upstream -ways open_rows,take,find,place",
	},
	{
		Name:    "hooks-read-anywhere",
		Mistake: "what the hook of a write reads is routed like any other read",
		Edits: []Edit{{
			"callbacks.go",
			"p.routeOther(db, true)\n",
			"p.routeOther(db, false)\n",
		}},
		Args: "-faults delay,pause -ways hook,exec,take,place",
	},
	{
		Name:    "preload-anywhere",
		Mistake: "a preload goes where it likes, and not where its parent was read",
		Edits: []Edit{
			{"choose.go", "if parent != nil && parent.ran && parent.at == nil {", "if parent != nil && parent.ran && parent.at == nil && parent.pinned {"},
			{"decide.go", "if parent != nil && parent.at == nil {", "if parent != nil {"},
		},
		Args: "-faults delay,slow_upstream -ways post,create,preload,place",
	},
	{
		Name:    "promoted-replica-read",
		Mistake: "a replica that was promoted counts as a standby all the same",
		Edits: []Edit{
			{"monitor/replica.go", "role = policy.RolePrimary\n", "role = policy.RoleStandby\n"},
			{"monitor/connected.go", "case !c.InRecovery && !r.target.AllowPrimary && !r.target.Logical:", "case !c.InRecovery && r.balanced:"},
		},
		Args: "-faults promote",
	},
	{
		Name:    "read-committed-checked-once",
		Mistake: "the position of a read-only transaction is checked before its first statement alone",
		Edits: []Edit{{
			"readonlybegin.go",
			`if t.read && t.isolation() != "read committed" && t.isolation() != "read uncommitted" {`,
			"if t.read {",
		}},
		Args: "-faults delay,slow_upstream -ways read_committed,exec,place",
	},
	{
		Name:    "primary-shows-nothing",
		Mistake: "what a read on the primary has shown does not bind the session's later reads",
		Edits: []Edit{{
			"read.go",
			"rt.told(m, nil, 0, nil, err)\n",
			"",
		}},
		Args: "-faults percent,delay,slow_upstream -ways exec,take,find,place",
	},
	{
		Name:    "token-without-what-was-read",
		Mistake: "a token says what its session wrote, and not what it was shown",
		Edits: []Edit{{
			"token.go",
			"rt.demandSeen(ctx, l, seen, &held, deadline)",
			"_ = seen",
		}},
		Args: "-faults percent,delay,slow_upstream -ways exec,take,find,place",
	},
	{
		Name:    "old-primary-kept",
		Mistake: "the connections to the old primary stay in the pool when another one is elected",
		Edits: []Edit{{
			"follow.go",
			"\t\t\t\th.breakOff()\n\t\t\t\tbroken++",
			"\t\t\t\t_ = h\n\t\t\t\tbroken++",
		}},
		Args: "-only follow_alive",
	},
	{
		Name:    "lower-timeline-elected",
		Mistake: "of two primaries the one with the lower timeline is the primary",
		Edits: []Edit{{
			"failover/election.go",
			"if seen[i].Sample.Timeline < e.highest {",
			"if len(primaries) > 1 && seen[i].Sample.Timeline == e.highest {",
		}},
		Args: "-only follow_alive",
	},
	{
		Name:    "dead-connection-acknowledges",
		Mistake: "what is under way on a connection to the old primary is waited for, and its acknowledgement counts",
		Edits: []Edit{
			{"followtx.go", "if h.netConn != nil {", "if h.netConn != nil && !h.follows {"},
			{"followtx.go", "if err == nil && h.follows && h.dead.Load() {", "if err == nil && h.follows && h.netConn == nil {"},
			{"followtx.go", "if t.h.dead.Load() {", "if t.h.dead.Load() && t.h.netConn == nil {"},
		},
		Args: "-only follow_frozen",
	},
	{
		Name:    "unknown-commit-unmarked",
		Mistake: "the error of a COMMIT whose outcome is unknown does not say so",
		Edits: []Edit{{
			"tx.go",
			"\t\terr = retry.WithOutcome(err)\n\t\tt.mu.Lock()",
			"\t\tt.mu.Lock()",
		}},
		Args: "-faults lose_answers -ways transaction,begin,post,nested,take,place",
	},
	{
		Name:    "write-with-rows-retried",
		Mistake: "a write that returns rows, and whose outcome is unknown, is run again",
		Edits: []Edit{{
			"routerun.go",
			"\t\"github.com/readsplit/readsplit/policy\"\n",
			"\t\"github.com/readsplit/readsplit/policy\"\n\t\"github.com/readsplit/readsplit/retry\"\n",
		}, {
			"routerun.go",
			"\t\t_ = run(nil)\n\t\tr.shownThere(ctx, err)\n\t}\n\tr.rows = rows",
			"\t\tif _ = run(nil); err != nil && retry.OfWrite(err) == retry.Unknown {\n\t\t\t_ = run(nil)\n\t\t}\n\t\tr.shownThere(ctx, err)\n\t}\n\tr.rows = rows",
		}},
		Args: "-faults lose_answers -ways returning,clause_returning,take,place",
	},
}
