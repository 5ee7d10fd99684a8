// Package words is how the conformance suite speaks to SQL Server: to the double, and to a real one.
package words

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/conformance"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// PositionAndWindow is what an availability group proves by its views.
var PositionAndWindow = conformance.Proof{Name: "position and window", Window: true, Position: true}

// Marker is what a marker table proves.
func Marker(table string) conformance.Proof {
	return conformance.Proof{Name: "marker", Position: true, Configure: func(cfg *readsplit.Config) { cfg.SQLServer.Marker = table }}
}

// SQL is T-SQL.
var SQL = conformance.SQL{
	Who:    "@@SERVERNAME",
	Slow:   "WAITFOR DELAY '00:00:00.2'; SELECT @@SERVERNAME",
	Insert: "INSERT INTO conformance_books (title, copies, author_id) OUTPUT INSERTED.id VALUES (?, 3, ?)",
	// There is no FOR UPDATE, which is what clause.Locking says.
	Lock: func(db *gorm.DB) *gorm.DB { return db.Table("conformance_books WITH (UPDLOCK)") },
	Statements: []conformance.Statement{
		{Text: "SELECT title FROM conformance_books"},
		{Text: "-- a comment\nSELECT title FROM conformance_books WHERE title <> 'UPDLOCK; DELETE FROM conformance_books'"},
		{Text: "SELECT [title] FROM [conformance_books] WHERE [title] <> N'it''s'"},
		{Text: "SELECT TOP 1 title FROM conformance_books WITH (NOLOCK)"},
		{Text: "SELECT title FROM conformance_books UNION ALL SELECT name FROM conformance_authors"},
		{Text: "SELECT title FROM conformance_books ORDER BY id OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY"},
		{Text: "SELECT title FROM conformance_books WITH (UPDLOCK)", Reason: policy.ReasonLockingRead},
		{Text: "SELECT title FROM conformance_books WITH (ROWLOCK, XLOCK)", Reason: policy.ReasonLockingRead},
		{Text: "SELECT @@IDENTITY", Reason: policy.ReasonUnknownStatement},
		{Text: "SELECT SCOPE_IDENTITY()", Reason: policy.ReasonUnknownStatement},
		{Text: "INSERT INTO conformance_books (title, copies, author_id) OUTPUT INSERTED.title VALUES ('returned', 3, 0)", Reason: policy.ReasonWrite},
		{Text: "UPDATE conformance_books SET copies = 4 OUTPUT INSERTED.title WHERE title = 'returned'", Reason: policy.ReasonWrite},
		{Text: "DELETE FROM conformance_books OUTPUT DELETED.title WHERE title = 'returned'", Reason: policy.ReasonWrite},
		{Text: "SELECT title FROM conformance_books; DELETE FROM conformance_books WHERE title = 'nothing'", Reason: policy.ReasonWrite},
	},
	Errors: codes(map[retry.Action]string{
		retry.Elsewhere: "976 978 979 982 983 988 921 922 4221 3947 3948 1219 3961 1205 1222 3980 3988 916",
		retry.Primary:   "208 207 195 2715 2812 3906",
		retry.Surface:   "8134 245 229 2627",
	}),
	RefusedWrite: "3906", Deadlock: "1205", Duplicate: "2627 2601",
	Code: func(err error) string {
		var e interface{ SQLErrorNumber() int32 }
		if errors.As(err, &e) {
			return fmt.Sprint(e.SQLErrorNumber())
		}
		return ""
	},
}

func codes(by map[retry.Action]string) (all []conformance.Error) {
	for action := range maps.Keys(by) {
		for _, code := range strings.Fields(by[action]) {
			all = append(all, conformance.Error{Code: code, Action: action})
		}
	}
	return all
}
