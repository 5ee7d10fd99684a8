package readonlyguard

import (
	"slices"
	"strings"

	"github.com/readsplit/readsplit/sqlclass"
)

// managesSession reports whether the text, which is neither a read nor provably a write, is one statement that
// changes nothing but the state of its own connection and transaction. A read session needs these: a nested gorm
// transaction sends SAVEPOINT, and row-level security a SET or a SELECT set_config.
func managesSession(d sqlclass.Dialect, info sqlclass.Info, sql string) bool {
	if info.Flags.Has(sqlclass.Multi) {
		return false
	}
	if d == sqlclass.SQLServer {
		return managesTransact(sql)
	}
	switch info.Verb {
	case sqlclass.Set, sqlclass.SetTransaction, sqlclass.Reset, sqlclass.Show, sqlclass.Discard,
		sqlclass.Begin, sqlclass.Commit, sqlclass.Rollback,
		sqlclass.Savepoint, sqlclass.Release, sqlclass.RollbackTo,
		sqlclass.Deallocate:
		return true
	case sqlclass.Select:
		return info.Flags.Has(sqlclass.SetsLocal) || info.Flags.Has(sqlclass.SetsSession) && onlySetConfig(sql)
	}
	return false
}

// onlySetConfig reports whether set_config is all that keeps the text from being a read: with a function that is known
// to read in its place, it is one.
func onlySetConfig(sql string) bool {
	return sqlclass.Classify(sqlclass.PostgreSQL, strings.ReplaceAll(sql, "set_config", "concat")).Class == sqlclass.Read
}

// managesTransact knows the few sentences of Transact-SQL that gorm and its users need. It wants them whole: there,
// another statement may follow without a semicolon, and "COMMIT EXEC p" is two.
func managesTransact(sql string) bool {
	words := strings.Fields(strings.ToLower(strings.TrimSuffix(strings.TrimSpace(sql), ";")))
	for _, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool {
			return r != '_' && r != '@' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
		}) {
			return false
		}
	}
	transaction := func(w string) bool { return w == "tran" || w == "transaction" }
	switch {
	case len(words) == 0:
		return false
	case words[0] == "save":
		return len(words) == 3 && transaction(words[1])
	case words[0] == "begin":
		return (len(words) == 2 || len(words) == 3) && transaction(words[1])
	case words[0] == "commit", words[0] == "rollback":
		return len(words) == 1 || (len(words) == 2 || len(words) == 3) && (transaction(words[1]) || words[1] == "work")
	case len(words) > 4 && slices.Equal(words[:4], []string{"set", "transaction", "isolation", "level"}):
		return slices.Contains(isolationLevels, strings.Join(words[4:], " "))
	}
	return words[0] == "set" && len(words) == 3 // SET NOCOUNT ON, SET LOCK_TIMEOUT 100
}

var isolationLevels = []string{"read uncommitted", "read committed", "repeatable read", "snapshot", "serializable"}
