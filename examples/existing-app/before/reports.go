package desk

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"

	"gorm.io/gorm"
)

// ReportService only reads.
type ReportService struct{ db *gorm.DB }

// Line is one agent in the report; without a name: what nobody works on.
type Line struct {
	Agent    string  `json:"agent"`
	Open     int64   `json:"open"`
	Closed   int64   `json:"closed"`
	Comments float64 `json:"comments_per_ticket"`
}

// Report counts tickets by agent.
func (s *ReportService) Report(ctx context.Context) (lines []Line, err error) {
	err = s.db.WithContext(ctx).Raw(`
		WITH said AS (SELECT ticket_id, count(*) AS n FROM comments GROUP BY ticket_id)
		SELECT coalesce(a.name, '') AS agent,
			count(*) FILTER (WHERE t.status <> 'closed') AS open,
			count(*) FILTER (WHERE t.status = 'closed') AS closed,
			coalesce(avg(said.n), 0)::float8 AS comments
		FROM tickets t LEFT JOIN agents a ON a.id = t.agent_id LEFT JOIN said ON said.ticket_id = t.id
		WHERE t.deleted_at IS NULL
		GROUP BY a.name ORDER BY a.name NULLS LAST`).Scan(&lines).Error
	return lines, err
}

// Hit is one result of a search.
type Hit struct {
	Number  int64  `json:"number"`
	Subject string `json:"subject"`
}

// Search finds words in tickets and in what was said about them.
func (s *ReportService) Search(ctx context.Context, words string) (hits []Hit, err error) {
	err = s.db.WithContext(ctx).Raw(`
		SELECT number, subject FROM tickets t
		WHERE deleted_at IS NULL AND (
			to_tsvector('english', subject || ' ' || text) @@ plainto_tsquery('english', @words)
			OR EXISTS (SELECT 1 FROM comments c WHERE c.ticket_id = t.id AND to_tsvector('english', c.text) @@ plainto_tsquery('english', @words)))
		ORDER BY number LIMIT 50`, map[string]any{"words": words}).Scan(&hits).Error
	return hits, err
}

// Export writes all tickets as CSV, without ever holding them all.
func (s *ReportService) Export(ctx context.Context, w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"number", "status", "subject", "customer"}); err != nil {
		return err
	}
	var batch []Ticket
	res := s.db.WithContext(ctx).Preload("Customer").FindInBatches(&batch, 100, func(*gorm.DB, int) error {
		for _, t := range batch {
			if err := out.Write([]string{strconv.FormatInt(t.Number, 10), string(t.Status), t.Subject, t.Customer.Email}); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
	return res.Error
}
