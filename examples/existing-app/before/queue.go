package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Queue is a table of jobs, from which any number of workers take one at a time.
type Queue struct{ db *gorm.DB }

// In returns the same queue inside a transaction: a job that is put there is there when the
// transaction has committed.
func (*Queue) In(tx *gorm.DB) *Queue { return &Queue{tx} }

// Put adds a job.
func (q *Queue) Put(ctx context.Context, kind string, ticket int64) error {
	return q.db.WithContext(ctx).Create(&Job{Kind: kind, TicketID: ticket, RunAt: time.Now()}).Error
}

const maxAttempts = 3

// RunOne runs the job that is due for longest, and reports whether there was one. A job that
// fails comes back later, a few times.
func (q *Queue) RunOne(ctx context.Context, run func(ctx context.Context, j Job) error) (bool, error) {
	job, err := q.take(ctx)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = run(ctx, job)
	db := q.db.WithContext(ctx).Model(&job)
	switch {
	case err == nil:
		err = db.Update("done_at", time.Now()).Error
	case job.Attempts >= maxAttempts:
		err = db.Updates(map[string]any{"last_error": err.Error(), "done_at": time.Now()}).Error
	default:
		err = db.Updates(map[string]any{"last_error": err.Error(), "run_at": time.Now().Add(time.Duration(job.Attempts) * time.Minute)}).Error
	}
	return true, err
}

// take claims a job: whoever comes next skips it, and finds it again after a while if this
// worker dies.
func (q *Queue) take(ctx context.Context) (job Job, err error) {
	err = q.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).
			Where("done_at IS NULL AND run_at <= ?", time.Now()).Order("run_at, id").Take(&job).Error
		if err != nil {
			return err
		}
		return tx.Model(&job).Updates(map[string]any{"attempts": job.Attempts + 1, "run_at": time.Now().Add(10 * time.Minute)}).Error
	})
	return job, err
}

// run is what the jobs do.
func (a *App) run(ctx context.Context, j Job) error {
	var t Ticket
	if err := a.db.WithContext(ctx).Preload("Customer").Preload("Comments").First(&t, j.TicketID).Error; err != nil {
		return fmt.Errorf("job %d: %w", j.ID, err)
	}
	m := Mail{To: t.Customer.Email, Subject: fmt.Sprintf("[%d] %s", t.Number, t.Subject)}
	switch j.Kind {
	case "welcome":
		m.Text = "We have got your question."
	case "notify":
		if len(t.Comments) == 0 {
			return fmt.Errorf("job %d: nothing was said about %d", j.ID, t.Number)
		}
		m.Text = t.Comments[len(t.Comments)-1].Text
	default:
		return fmt.Errorf("job %d: %q is no kind of job", j.ID, j.Kind)
	}
	return a.db.WithContext(ctx).Create(&m).Error
}
