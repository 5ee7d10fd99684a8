package lsn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

func TestParseLSN(t *testing.T) {
	for text, want := range map[string]lsn.LSN{
		"0/0":               0,
		"0/1":               1,
		"1/0":               1 << 32,
		"16/B374D848":       0x16_B374D848,
		"16/b374d848":       0x16_B374D848,
		"FFFFFFFF/FFFFFFFF": math.MaxUint64,
		"00000016/0374D848": 0x16_0374D848,
	} {
		got, err := lsn.ParseLSN(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestParseLSNIsStrict(t *testing.T) {
	for _, text := range []string{
		"", "/", "0", "0/", "/0", "0/0/0", "0//0", "16-B374D848", "16.B374D848",
		" 0/0", "0/0 ", "0 /0", "0/ 0", "0/0\n", "\t0/0", "0/0\x00",
		"+1/0", "0/+1", "-1/0", "0/-1", "0x1/0", "0/0x1", "1_0/0", "0/1_0",
		"G/0", "0/G", "000000001/0", "0/000000001", "100000000/0", "0/100000000",
		"٣/0", "0/１", "NaN/0", "-", "null",
	} {
		got, err := lsn.ParseLSN(text)
		require.ErrorContains(t, err, "readsplit: lsn ", "%q", text)
		assert.Zero(t, got, "%q", text)
	}
}

func TestLSNString(t *testing.T) {
	for l, want := range map[lsn.LSN]string{
		0: "0/0", 1: "0/1", 0x16_B374D848: "16/B374D848", 1 << 32: "1/0", math.MaxUint64: "FFFFFFFF/FFFFFFFF",
	} {
		assert.Equal(t, want, l.String())
	}
}

func TestRecordEnd(t *testing.T) {
	const block, segment = 8192, 16 << 20
	for name, c := range map[string]struct {
		at             lsn.LSN
		block, segment uint64
		want           lsn.LSN
	}{
		"past a page header":               {5*block + 24, block, segment, 5 * block},
		"past the last page's header":      {segment - block + 24, block, segment, segment - block},
		"past a segment header":            {3*segment + 40, block, segment, 3 * segment},
		"a high segment":                   {1<<40 + 40, block, segment, 1 << 40},
		"on a page end":                    {5 * block, block, segment, 5 * block},
		"on a segment end":                 {3 * segment, block, segment, 3 * segment},
		"one byte into a page's records":   {5*block + 25, block, segment, 5*block + 25},
		"one byte short of a header":       {5*block + 23, block, segment, 5*block + 23},
		"40 behind a page start":           {5*block + 40, block, segment, 5*block + 40},
		"24 behind a segment start":        {3*segment + 24, block, segment, 3 * segment},
		"39 behind a segment start":        {3*segment + 39, block, segment, 3*segment + 39},
		"41 behind a segment start":        {3*segment + 41, block, segment, 3*segment + 41},
		"mid page":                         {5*block + 4096, block, segment, 5*block + 4096},
		"64 MiB segments, old size's edge": {5*segment + 40, block, 4 * segment, 5*segment + 40},
		"64 MiB segments, edge":            {8*segment + 40, block, 4 * segment, 8 * segment},
		"4 KiB pages":                      {3*4096 + 24, 4096, segment, 3 * 4096},
		"block size unknown":               {5*block + 24, 0, segment, 5*block + 24},
		"segment size unknown":             {3*segment + 40, block, 0, 3*segment + 40},
		"both unknown":                     {3*segment + 40, 0, 0, 3*segment + 40},
		"nothing known, no position":       {0, 0, 0, 0},
		"no position":                      {0, block, segment, 0},
	} {
		assert.Equal(t, c.want, c.at.RecordEnd(c.block, c.segment), name)
	}
	// Correcting twice must not go back twice: what was corrected rests on an edge.
	for at := lsn.LSN(3 * segment); at < 3*segment+2*block; at++ {
		once := at.RecordEnd(block, segment)
		require.Equal(t, once, once.RecordEnd(block, segment), "%v", at)
		require.LessOrEqual(t, once, at)
		require.LessOrEqual(t, at-once, lsn.LSN(40))
	}
}

func FuzzParseLSN(f *testing.F) {
	for _, s := range []string{"0/0", "16/B374D848", "ffffffff/FFFFFFFF", "0x1/0", "1/2/3", " 1/2"} {
		f.Add(s, uint64(len(s))<<33)
	}
	f.Fuzz(func(t *testing.T, text string, n uint64) {
		got, err := lsn.ParseLSN(lsn.LSN(n).String())
		require.NoError(t, err)
		require.Equal(t, lsn.LSN(n), got)

		got, err = lsn.ParseLSN(text)
		if err != nil {
			require.Zero(t, got)
			return
		}
		// The only freedom of the text form is case and leading zeros.
		hi, lo, _ := strings.Cut(text, "/")
		trim := func(s string) string {
			if s = strings.TrimLeft(s, "0"); s == "" {
				return "0"
			}
			return strings.ToUpper(s)
		}
		require.Equal(t, trim(hi)+"/"+trim(lo), got.String())
	})
}
