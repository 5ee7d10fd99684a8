package desk

import (
	"time"

	"gorm.io/gorm"
)

// Status is where a ticket stands.
type Status string

// The life of a ticket.
const (
	StatusNew     Status = "new"
	StatusOpen    Status = "open" // somebody works on it
	StatusWaiting Status = "waiting"
	StatusClosed  Status = "closed"
)

// Customer is who asks.
type Customer struct {
	ID        int64     `json:"-"`
	Name      string    `json:"name"`
	Email     string    `gorm:"uniqueIndex" json:"email"`
	CreatedAt time.Time `json:"-"`
}

// Agent is who answers, a bounded number of tickets at a time.
type Agent struct {
	ID       int64  `json:"-"`
	Name     string `gorm:"uniqueIndex" json:"name"`
	Capacity int    `json:"capacity"`
}

// Ticket is one question. A ticket that was deleted stays in the table.
type Ticket struct {
	ID         int64          `json:"-"`
	Number     int64          `gorm:"uniqueIndex" json:"number"`
	Subject    string         `json:"subject"`
	Text       string         `json:"text"`
	Status     Status         `gorm:"index" json:"status"`
	Priority   int            `json:"priority"`
	CustomerID int64          `gorm:"index" json:"-"`
	Customer   Customer       `json:"customer"`
	AgentID    *int64         `gorm:"index" json:"-"`
	Agent      *Agent         `json:"agent,omitempty"`
	Comments   []Comment      `json:"comments,omitempty"`
	Tags       []Tag          `gorm:"many2many:ticket_tags" json:"tags,omitempty"`
	CreatedAt  time.Time      `json:"created_at"`
	UpdatedAt  time.Time      `json:"updated_at"`
	DeletedAt  gorm.DeletedAt `gorm:"index" json:"-"`
}

// Comment is what somebody said about a ticket.
type Comment struct {
	ID        int64     `json:"-"`
	TicketID  int64     `gorm:"index" json:"-"`
	Author    string    `json:"author"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
}

// Tag is what tickets are about.
type Tag struct {
	ID   int64  `json:"-"`
	Name string `gorm:"uniqueIndex" json:"name"`
}

// Event is one line of a ticket's history. Hooks write most of them.
type Event struct {
	ID        int64
	TicketID  int64 `gorm:"index"`
	What      string
	CreatedAt time.Time
}

// Job is work for later: the queue is a table.
type Job struct {
	ID        int64
	Kind      string
	TicketID  int64
	RunAt     time.Time `gorm:"index"`
	Attempts  int
	LastError string
	DoneAt    *time.Time
}

// Mail is what was sent.
type Mail struct {
	ID        int64
	To        string
	Subject   string
	Text      string
	CreatedAt time.Time
}

// AfterCreate implements gorm's hook.
func (t *Ticket) AfterCreate(tx *gorm.DB) error {
	return tx.Create(&Event{TicketID: t.ID, What: "opened"}).Error
}

// AfterCreate implements gorm's hook: who answers a ticket moves it, in the same transaction.
func (c *Comment) AfterCreate(tx *gorm.DB) error {
	return tx.Create(&Event{TicketID: c.TicketID, What: "comment by " + c.Author}).Error
}

func migrate(db *gorm.DB) error {
	if err := db.AutoMigrate(&Customer{}, &Agent{}, &Tag{}, &Ticket{}, &Comment{}, &Event{}, &Job{}, &Mail{}); err != nil {
		return err
	}
	return db.Exec("CREATE SEQUENCE IF NOT EXISTS ticket_numbers START 1000").Error
}
