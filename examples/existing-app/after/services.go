package desk

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"
)

// TicketService is what can be done with tickets.
type TicketService struct {
	db      *gorm.DB
	tickets Tickets
	people  People
	queue   *Queue
}

// Question is a new ticket.
type Question struct {
	Name, Email, Subject, Text string
	Tags                       []string
}

// Open makes a ticket of a question.
func (s *TicketService) Open(ctx context.Context, q Question) (*Ticket, error) {
	if q.Email == "" || strings.TrimSpace(q.Subject) == "" {
		return nil, ErrInvalid
	}
	number, err := s.tickets.NextNumber(ctx)
	if err != nil {
		return nil, err
	}
	t := Ticket{Number: number, Subject: q.Subject, Text: q.Text, Status: StatusNew}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		customer, err := s.people.In(tx).Customer(ctx, q.Name, q.Email)
		if err != nil {
			return err
		}
		t.CustomerID = customer.ID
		for _, name := range q.Tags {
			var tag Tag
			if err := tx.FirstOrCreate(&tag, Tag{Name: name}).Error; err != nil {
				return err
			}
			t.Tags = append(t.Tags, tag)
		}
		if err := tx.Create(&t).Error; err != nil {
			return err
		}
		return s.queue.In(tx).Put(ctx, "welcome", t.ID)
	})
	if err != nil {
		return nil, err
	}
	// With everything that the database has filled in.
	return s.tickets.ByNumber(ctx, number)
}

// Comment adds to a ticket. Whom it waits for then depends on who has said something.
func (s *TicketService) Comment(ctx context.Context, number int64, author, text string) error {
	if strings.TrimSpace(text) == "" {
		return ErrInvalid
	}
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		t, err := s.tickets.In(tx).Locked(ctx, number)
		if err != nil {
			return err
		}
		if t.Status == StatusClosed {
			return ErrConflict
		}
		if err := tx.Create(&Comment{TicketID: t.ID, Author: author, Text: text}).Error; err != nil {
			return err
		}
		to := StatusOpen
		if t.AgentID != nil {
			var agent Agent
			if err := tx.First(&agent, *t.AgentID).Error; err != nil {
				return err
			}
			if agent.Name == author {
				to = StatusWaiting
			}
		}
		if err := tx.Model(t).Updates(map[string]any{"status": to, "priority": gorm.Expr("GREATEST(priority - 1, 0)")}).Error; err != nil {
			return err
		}
		return s.queue.In(tx).Put(ctx, "notify", t.ID)
	})
}

// Assign gives a ticket to an agent who has time for it.
func (s *TicketService) Assign(ctx context.Context, number int64, agent string) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		a, err := s.people.In(tx).LockedAgent(ctx, agent)
		if err != nil {
			return err
		}
		load, err := s.people.In(tx).Load(ctx, a)
		if err != nil {
			return err
		}
		if load >= int64(a.Capacity) {
			return ErrBusy
		}
		t, err := s.tickets.In(tx).Locked(ctx, number)
		if err != nil {
			return err
		}
		if t.Status == StatusClosed {
			return ErrConflict
		}
		if err := tx.Model(t).Select("agent_id", "status").Updates(Ticket{AgentID: &a.ID, Status: StatusOpen}).Error; err != nil {
			return err
		}
		return tx.Create(&Event{TicketID: t.ID, What: "assigned to " + agent}).Error
	})
}

// Close closes a ticket, once.
func (s *TicketService) Close(ctx context.Context, number int64) error {
	if err := s.tickets.Move(ctx, number, StatusClosed, StatusNew, StatusOpen, StatusWaiting); err != nil {
		return err
	}
	t, err := s.tickets.ByNumber(ctx, number)
	if err != nil {
		return err
	}
	return s.db.WithContext(ctx).Create(&Event{TicketID: t.ID, What: "closed"}).Error
}

// Merge moves what was said about a ticket to another one, and hides it.
func (s *TicketService) Merge(ctx context.Context, from, into int64) error {
	if from == into {
		return ErrInvalid
	}
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		tickets := s.tickets.In(tx)
		// In one order, so that two merges do not wait for each other.
		first, err := tickets.Locked(ctx, min(from, into))
		if err != nil {
			return err
		}
		second, err := tickets.Locked(ctx, max(from, into))
		if err != nil {
			return err
		}
		old, kept := first, second
		if from > into {
			old, kept = second, first
		}
		if err := tx.Model(&Comment{}).Where("ticket_id = ?", old.ID).Update("ticket_id", kept.ID).Error; err != nil {
			return err
		}
		// The tags are a courtesy: without them the merge goes on.
		_ = tx.Transaction(func(tx *gorm.DB) error {
			var tags []Tag
			if err := tx.Model(old).Association("Tags").Find(&tags); err != nil {
				return err
			}
			return tx.Model(kept).Association("Tags").Append(tags)
		})
		if err := tx.Create(&Event{TicketID: kept.ID, What: fmt.Sprintf("took in %d", from)}).Error; err != nil {
			return err
		}
		return tickets.Delete(ctx, from)
	})
}
