package lsn_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

func TestParseSQLServerLSN(t *testing.T) {
	for text, want := range map[string]lsn.LSN{
		"0":                         0,
		"45000000030400001":         45<<36 | 304<<12 | 1,
		"0000000045000000030400001": 45<<36 | 304<<12 | 1,
		"1000000000000000":          1 << 36,
		"268435455001677721504095":  1<<64 - 1,
	} {
		got, err := lsn.ParseSQLServerLSN(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		again, err := lsn.ParseSQLServerLSN(got.SQLServerText())
		require.NoError(t, err, text)
		assert.Equal(t, want, again, text)
	}
	for _, text := range []string{
		"268435456000000000000001",  // virtual log file
		"45001677721600001",         // block
		"45000000030404096",         // slot
		"9999999999999999999999999", // the largest there is
	} {
		got, err := lsn.ParseSQLServerLSN(text)
		require.ErrorIs(t, err, lsn.ErrSQLServerRange, text)
		assert.Zero(t, got, text)
	}
	for _, text := range []string{"", " 1", "1 ", "-1", "+1", "1.0", "1e5", "0x1F", "45000000030400001a", strings.Repeat("0", 26), "100001", "٤٥"} {
		got, err := lsn.ParseSQLServerLSN(text)
		require.Error(t, err, text)
		assert.NotErrorIs(t, err, lsn.ErrSQLServerRange, text)
		assert.Zero(t, got, text)
	}
}

// TestSQLServerBytes: neither slots nor the numbers of log files are taken for bytes.
func TestSQLServerBytes(t *testing.T) {
	at := func(vlf, block, slot uint64) lsn.LSN { return lsn.LSN(vlf<<36 | block<<12 | slot) }
	for _, tt := range []struct {
		from, to lsn.LSN
		want     uint64
	}{
		{at(45, 304, 1), at(45, 304, 2), 1},
		{at(45, 304, 9), at(45, 312, 1), 8 * 512},
		{at(45, 304, 1), at(46, 16, 1), 16 * 512},
		{at(45, 304, 1), at(99, 16, 1), 16 * 512},
	} {
		assert.Equal(t, tt.want, lsn.SQLServerBytes(tt.from, tt.to), "%s to %s", tt.from.SQLServerText(), tt.to.SQLServerText())
	}
}

// TestSQLServerOrder: two numbers that are positions lie to each other as their
// positions do.
func TestSQLServerOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	part := func(limit uint64) uint64 {
		switch rng.IntN(4) {
		case 0:
			return rng.Uint64N(3)
		case 1:
			return limit - 1 - rng.Uint64N(3)
		default:
			return rng.Uint64N(limit)
		}
	}
	type number struct {
		exact *big.Int
		at    lsn.LSN
	}
	var all []number
	for range 120 {
		text := fmt.Sprintf("%d%010d%05d", 1+part(1<<28-1), part(1<<24), part(1<<12))
		exact, ok := new(big.Int).SetString(text, 10)
		require.True(t, ok)
		at, err := lsn.ParseSQLServerLSN(text)
		require.NoError(t, err, text)
		require.Equal(t, text, at.SQLServerText())
		all = append(all, number{exact, at})
	}
	for _, a := range all {
		for _, b := range all {
			switch a.exact.Cmp(b.exact) {
			case -1:
				require.Less(t, a.at, b.at, "%v %v", a.exact, b.exact)
			case 0:
				require.Equal(t, a.at, b.at)
			default:
				require.Greater(t, a.at, b.at, "%v %v", a.exact, b.exact)
			}
		}
	}
}

func FuzzParseSQLServerLSN(f *testing.F) {
	for _, text := range []string{"0", "45000000030400001", "268435455001677721504095", "268435456000000000000001", "1e9", "-4"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := lsn.ParseSQLServerLSN(text)
		if err != nil {
			require.Zero(t, at)
			return
		}
		exact, ok := new(big.Int).SetString(text, 10)
		require.True(t, ok)
		require.Equal(t, exact.String(), at.SQLServerText(), "the very number comes back")
	})
}
