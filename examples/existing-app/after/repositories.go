package desk

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// Errors that the handlers turn into answers.
var (
	ErrNotFound = errors.New("there is no such ticket")
	ErrConflict = errors.New("the ticket does not allow that any more")
	ErrBusy     = errors.New("the agent has no time for another ticket")
	ErrInvalid  = errors.New("something is missing")
)

// Tickets is the repository of tickets. It works on the application's database, or inside a
// transaction.
type Tickets struct{ db *gorm.DB }

// In returns the same repository inside a transaction.
func (Tickets) In(tx *gorm.DB) Tickets { return Tickets{tx} }

// ByNumber returns a ticket with all that belongs to it.
func (r Tickets) ByNumber(ctx context.Context, number int64) (*Ticket, error) {
	var t Ticket
	err := r.db.WithContext(ctx).
		Preload("Customer").Preload("Agent").Preload("Tags").
		Preload("Comments", func(tx *gorm.DB) *gorm.DB { return tx.Order("comments.id") }).
		Where("number = ?", number).First(&t).Error
	return &t, translated(err)
}

// Locked returns a ticket that nobody else can change until the transaction ends.
func (r Tickets) Locked(ctx context.Context, number int64) (*Ticket, error) {
	var t Ticket
	err := r.db.WithContext(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("number = ?", number).Take(&t).Error
	return &t, translated(err)
}

// Filter is what a list shows.
type Filter struct {
	Status   Status
	Customer string // email
	Agent    string // name
	Tag      string
	Page     int // from 0
}

const pageSize = 20

// List returns a page of tickets, the most urgent first, and how many there are in all.
func (r Tickets) List(ctx context.Context, f Filter) (page []Ticket, total int64, err error) {
	query := r.db.WithContext(ctx).Model(&Ticket{}).Scopes(f.scope)
	if err := query.Session(&gorm.Session{}).Count(&total).Error; err != nil {
		return nil, 0, err
	}
	err = query.Session(&gorm.Session{}).Preload("Customer").Joins("Agent").
		Order("tickets.priority DESC, tickets.number").Limit(pageSize).Offset(f.Page * pageSize).Find(&page).Error
	return page, total, err
}

func (f Filter) scope(tx *gorm.DB) *gorm.DB {
	if f.Status != "" {
		tx = tx.Where("tickets.status = ?", f.Status)
	}
	if f.Customer != "" {
		tx = tx.Where("tickets.customer_id = (?)", tx.Session(&gorm.Session{NewDB: true}).Model(&Customer{}).Select("id").Where("email = ?", f.Customer))
	}
	if f.Agent != "" {
		tx = tx.Where("tickets.agent_id = (?)", tx.Session(&gorm.Session{NewDB: true}).Model(&Agent{}).Select("id").Where("name = ?", f.Agent))
	}
	if f.Tag != "" {
		tx = tx.Where("EXISTS (SELECT 1 FROM ticket_tags tt JOIN tags ON tags.id = tt.tag_id WHERE tt.ticket_id = tickets.id AND tags.name = ?)", f.Tag)
	}
	return tx
}

// NextNumber takes the next number. A number that is taken and not used is lost.
func (r Tickets) NextNumber(ctx context.Context) (n int64, err error) {
	err = r.db.WithContext(ctx).Raw("SELECT nextval('ticket_numbers')").Scan(&n).Error
	return n, err
}

// Move changes a ticket's status, if it has one of the others.
func (r Tickets) Move(ctx context.Context, number int64, to Status, from ...Status) error {
	res := r.db.WithContext(ctx).Model(&Ticket{}).Where("number = ? AND status IN ?", number, from).Update("status", to)
	if res.Error == nil && res.RowsAffected == 0 {
		return ErrConflict
	}
	return res.Error
}

// Delete hides a ticket, Restore shows it again.
func (r Tickets) Delete(ctx context.Context, number int64) error {
	res := r.db.WithContext(ctx).Where("number = ?", number).Delete(&Ticket{})
	if res.Error == nil && res.RowsAffected == 0 {
		return ErrNotFound
	}
	return res.Error
}

// Restore shows a deleted ticket again.
func (r Tickets) Restore(ctx context.Context, number int64) error {
	res := r.db.WithContext(ctx).Unscoped().Model(&Ticket{}).Where("number = ? AND deleted_at IS NOT NULL", number).Update("deleted_at", nil)
	if res.Error == nil && res.RowsAffected == 0 {
		return ErrNotFound
	}
	return res.Error
}

// History returns the events of a ticket, also of a deleted one.
func (r Tickets) History(ctx context.Context, number int64) (what []string, err error) {
	err = r.db.WithContext(ctx).Model(&Event{}).
		Joins("JOIN tickets ON tickets.id = events.ticket_id").Where("tickets.number = ?", number).
		Order("events.id").Pluck("events.what", &what).Error
	return what, err
}

// Escalate raises the priority of what nobody has touched for a while, and returns which
// tickets those were.
func (r Tickets) Escalate(ctx context.Context, untouched time.Time) (numbers []int64, err error) {
	err = r.db.WithContext(ctx).Raw(`WITH raised AS (
			UPDATE tickets SET priority = priority + 1, updated_at = now()
			WHERE status IN ('new', 'open') AND updated_at < ? AND deleted_at IS NULL
			RETURNING id, number
		), noted AS (
			INSERT INTO events (ticket_id, what, created_at) SELECT id, 'escalated', now() FROM raised
		)
		SELECT number FROM raised ORDER BY number`, untouched).Scan(&numbers).Error
	return numbers, err
}

// People is the repository of customers and agents.
type People struct{ db *gorm.DB }

// In returns the same repository inside a transaction.
func (People) In(tx *gorm.DB) People { return People{tx} }

// Customer returns the customer with this address, who is new or has a new name.
func (r People) Customer(ctx context.Context, name, email string) (*Customer, error) {
	c := Customer{Name: name, Email: email}
	err := r.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "email"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}).Create(&c).Error
	return &c, err
}

// Hire makes an agent, or changes how many tickets one takes.
func (r People) Hire(ctx context.Context, name string, capacity int) (*Agent, error) {
	var a Agent
	err := r.db.WithContext(ctx).Where(Agent{Name: name}).Assign(map[string]any{"capacity": capacity}).FirstOrCreate(&a).Error
	return &a, err
}

// LockedAgent returns an agent whom nobody else can give tickets until the transaction ends.
func (r People) LockedAgent(ctx context.Context, name string) (*Agent, error) {
	var a Agent
	err := r.db.WithContext(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).Where("name = ?", name).Take(&a).Error
	return &a, translated(err)
}

// Load is how many tickets an agent has.
func (r People) Load(ctx context.Context, a *Agent) (n int64, err error) {
	err = r.db.WithContext(ctx).Model(&Ticket{}).Where("agent_id = ? AND status <> ?", a.ID, StatusClosed).Count(&n).Error
	return n, err
}

func translated(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return ErrNotFound
	}
	return err
}
