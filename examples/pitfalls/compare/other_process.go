package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var otherProcess = behaviour{
	name:  "other_process",
	title: "A job in another process looks for the row; replay paused",
	story: "A web server places an order and enqueues a job, which looks for the order in another process (here another pool and plugin of one program). Replicas are behind, and the job finds nothing: " +
		"no router of one process can know what another one has written.",
	ours: "The message carries the session's token, a text under 200 bytes, and whoever joins it sees what the session wrote. Over HTTP and gRPC a line of middleware carries it.",
	held: []test{{"rule_token_test.go", "TestR04TokenIsNotClampedToAnOldSample"}, {"session/jobs/jobs_test.go", "TestJobSeesWhatWasWrittenBeforeIt"}},
	show: showOtherProcess,
}

func showOtherProcess(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	const jobs = 50
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	naive, routed, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	naiveThere, routedThere, err := both(ctx, s, nil)
	if err != nil {
		return pair{}, err
	}
	if err := s.Pause(ctx); err != nil {
		return pair{}, err
	}
	there := map[*gorm.DB]*gorm.DB{naive: naiveThere, routed: routedThere}
	return each(naive, routed, "jobs miss their order", func(db *gorm.DB, _ int) (missing tally, err error) {
		for range jobs {
			user, job := readsplit.NewSession(), readsplit.NewSession()
			here := readsplit.WithSession(ctx, user)
			var placed order
			if err := db.WithContext(here).Create(&placed).Error; err != nil {
				return missing, err
			}
			if db == routed {
				token, err := user.Token(here)
				if err != nil {
					return missing, err
				}
				job.Join(token)
			}
			var found []order
			err := there[db].WithContext(readsplit.WithSession(ctx, job)).Where("id = ?", placed.ID).Find(&found).Error
			if err != nil {
				return missing, err
			}
			missing.add(len(found) == 0, nil)
		}
		return missing, nil
	})
}
