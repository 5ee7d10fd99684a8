package readonlyguard_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/readonlyguard"
)

func TestMark(t *testing.T) {
	plain := context.Background()
	marked := readonlyguard.ReadOnly(plain)
	assert.False(t, readonlyguard.IsReadOnly(plain))
	assert.True(t, readonlyguard.IsReadOnly(marked))
	assert.Equal(t, marked, readonlyguard.ReadOnly(marked), "marked twice is marked once")
	derived, cancel := context.WithCancel(context.WithoutCancel(marked))
	defer cancel()
	assert.True(t, readonlyguard.IsReadOnly(derived))
}

// The hooks of a noisy tag do what the test wants.
type noisy struct {
	ID   int64
	Name string
}

func (noisy) TableName() string { return "tags" }

var onFind, onCreate func(tx *gorm.DB) error

func (*noisy) AfterFind(tx *gorm.DB) error {
	if onFind != nil {
		return onFind(tx)
	}
	return nil
}

func (*noisy) AfterCreate(tx *gorm.DB) error {
	if onCreate != nil {
		return onCreate(tx)
	}
	return nil
}

// The mark survives whatever a hook makes of its session, and ends a write in it; reads go on.
func TestHooksOfReads(t *testing.T) {
	s := open(t, mode{})
	defer func() { onFind = nil }()

	for name, write := range map[string]func(tx *gorm.DB) error{
		"tx":          func(tx *gorm.DB) error { return tx.Create(&Tag{Name: "x"}).Error },
		"NewDB":       func(tx *gorm.DB) error { return tx.Session(&gorm.Session{NewDB: true}).Create(&Tag{Name: "x"}).Error },
		"WithContext": func(tx *gorm.DB) error { return s.db.WithContext(tx.Statement.Context).Create(&Tag{Name: "x"}).Error },
		"SkipHooks": func(tx *gorm.DB) error {
			return tx.Session(&gorm.Session{SkipHooks: true}).Create(&Tag{Name: "x"}).Error
		},
		"PrepareStmt": func(tx *gorm.DB) error {
			return tx.Session(&gorm.Session{PrepareStmt: true}).Create(&Tag{Name: "x"}).Error
		},
		"Transaction": func(tx *gorm.DB) error {
			return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&Tag{Name: "x"}).Error })
		},
		"DefaultTimeout": func(tx *gorm.DB) error { return tx.Exec("DELETE FROM tags").Error },
	} {
		t.Run(name, func(t *testing.T) {
			onFind = write
			err, panicked := attempt(func() error { return s.reads.First(&noisy{}).Error })
			assert.True(t, panicked)
			require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
			onFind = func(tx *gorm.DB) error { return tx.Take(&Author{}).Error }
			require.NoError(t, s.reads.First(&noisy{}).Error)
			s.usable(t)
		})
	}
	for _, sent := range s.log() {
		assert.NotRegexp(t, "INSERT|DELETE", sent)
	}
}

// A context is marked for itself: sessions beside it, before it and around it write as ever.
func TestOtherSessionsWrite(t *testing.T) {
	s := open(t, mode{})
	require.NoError(t, s.writes.Create(&Tag{Name: "new"}).Error)
	require.NoError(t, s.reads.WithContext(context.Background()).Create(&Tag{Name: "newer"}).Error)
	require.NoError(t, s.db.AutoMigrate(&Tag{}))
	var n int64
	require.NoError(t, s.reads.Model(&Tag{}).Count(&n).Error)
	assert.Equal(t, int64(4), n)
	assert.Contains(t, s.log(), "BEGIN")
	assert.NotContains(t, s.log(), "BEGIN READ ONLY")
}

// gorm's own methods are recognised by who called them. Those of an outer session, in whose hook a read session reads,
// are not its callers.
func TestReadSessionInsideAnotherSessionsWrite(t *testing.T) {
	s := open(t, mode{})
	defer func() { onFind, onCreate = nil, nil }()
	var found int
	inside := func(tx *gorm.DB) error {
		tx = tx.Session(&gorm.Session{NewDB: true, Context: readonlyguard.ReadOnly(tx.Statement.Context)})
		var authors []Author
		if err := tx.Limit(1).Order("id").Find(&authors).Error; err != nil {
			return err
		}
		found += len(authors)
		return tx.Transaction(func(tx *gorm.DB) error { return tx.Find(&authors).Error })
	}

	onFind = inside
	require.NoError(t, s.writes.FirstOrCreate(&noisy{}, noisy{Name: "classic"}).Error)
	assert.Equal(t, 1, found)

	onFind, onCreate = nil, inside
	require.NoError(t, s.writes.CreateInBatches([]noisy{{Name: "a"}, {Name: "b"}, {Name: "c"}}, 2).Error)
	assert.Equal(t, 4, found)
}

// A transaction of a read session is one on the server too, which refuses what was done with another context.
func TestTransactionsAreReadOnlyOnTheServer(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			s := open(t, m)
			var readOnly, isolation string
			look := func(tx *gorm.DB) error {
				if err := tx.Raw("SHOW transaction_read_only").Scan(&readOnly).Error; err != nil {
					return err
				}
				return tx.Raw("SHOW transaction_isolation").Scan(&isolation).Error
			}

			require.NoError(t, s.reads.Transaction(look))
			assert.Equal(t, "on read committed", readOnly+" "+isolation)
			opts := &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
			require.NoError(t, s.reads.Transaction(look, opts))
			assert.Equal(t, "on repeatable read", readOnly+" "+isolation)
			assert.False(t, opts.ReadOnly, "the caller's options")
			require.NoError(t, s.writes.Transaction(look, opts))
			assert.Equal(t, "off repeatable read", readOnly+" "+isolation)

			err := s.reads.Transaction(func(tx *gorm.DB) error {
				return tx.WithContext(context.Background()).Create(&Tag{Name: "x"}).Error
			})
			require.ErrorContains(t, err, "25006")
			s.usable(t)

			tx := s.reads.Begin()
			require.NoError(t, tx.Error)
			_, panicked := attempt(func() error { return tx.Create(&Tag{Name: "x"}).Error })
			assert.Equal(t, !m.returnErrors, panicked)
			require.NoError(t, tx.Rollback().Error)
			s.usable(t)
		})
	}
}

// An application that looks for its *sql.Tx and *sql.DB finds them.
func TestPoolIsTransparent(t *testing.T) {
	s := open(t, mode{})
	require.NoError(t, s.writes.Transaction(func(tx *gorm.DB) error {
		assert.IsType(t, &sql.Tx{}, tx.Statement.ConnPool)
		return nil
	}))
	require.NoError(t, s.reads.Transaction(func(tx *gorm.DB) error {
		assert.IsType(t, &sql.Tx{}, tx.Statement.ConnPool)
		return nil
	}))
	db, err := s.db.DB()
	require.NoError(t, err)
	assert.Equal(t, 1, db.Stats().MaxOpenConnections)
	require.NoError(t, s.db.ConnPool.(interface{ Ping() error }).Ping())

	prepared := open(t, mode{prepareStmt: true})
	require.IsType(t, &gorm.PreparedStmtDB{}, prepared.db.ConnPool)
	db, err = prepared.db.DB()
	require.NoError(t, err)
	assert.Equal(t, 1, db.Stats().MaxOpenConnections)
}
