package tds

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// What the server encodes, its own decoder of parameters reads: they agree on every type, and
// drivertest asks other people's code.
func TestValuesComeBack(t *testing.T) {
	at := time.Date(1753, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	lsn, _ := new(big.Int).SetString("-9999999999999999999999999", 10)
	for _, c := range []struct {
		typ sqlval.Type
		v   any
	}{
		{sqlval.BitType, true}, {sqlval.TinyType, int64(200)}, {sqlval.Type{Kind: sqlval.SmallInt}, int64(-3)}, {sqlval.IntType, int64(math.MinInt32)},
		{sqlval.BigIntType, int64(math.MaxInt64)}, {sqlval.FloatType, 0.1}, {sqlval.LSNType, sqlval.Dec{Int: lsn}},
		{sqlval.Type{Kind: sqlval.Money}, sqlval.Dec{Int: big.NewInt(-15_000), Scale: 4}}, {sqlval.NVarCharType(3), "ж"}, {sqlval.NVarCharType(sqlval.Max), ""},
		{sqlval.Type{Kind: sqlval.VarBinary, Size: 4}, []byte{1}}, {sqlval.GUIDType, sqlval.UUID{1, 2}}, {sqlval.TimeType, at},
		{sqlval.Type{Kind: sqlval.DateTime2, Scale: 1}, at}, {sqlval.Type{Kind: sqlval.DateTime}, at}, {sqlval.Type{Kind: sqlval.Date}, at.Truncate(24 * time.Hour)},
	} {
		for _, v := range []any{c.v, nil} {
			w := &writer{}
			w.typeInfo(c.typ)
			require.NoError(t, w.value(c.typ, v))
			r := &reader{b: w.b}
			typ, got := r.parameter()
			require.NoError(t, r.err, c.typ)
			require.Empty(t, r.b, c.typ)
			require.Equal(t, c.typ, typ)
			if v == nil {
				require.Nil(t, got)
			} else {
				require.Zero(t, sqlval.Order(v, got), "%s: %v, %v", c.typ, v, got)
			}
		}
	}
}

func TestMessagesOfSeveralPackets(t *testing.T) {
	packet := func(kind, status byte, body string) []byte {
		return append([]byte{kind, status, 0, byte(8 + len(body)), 0, 0, 0, 0}, body...)
	}
	m, err := readMessage(bytes.NewReader(append(packet(1, 0, "one"), packet(1, 9, "two")...)))
	require.NoError(t, err)
	require.Equal(t, "onetwo", string(m.Payload))
	_, err = readMessage(bytes.NewReader(append(packet(1, 0, "one"), packet(3, 1, "two")...)))
	require.ErrorIs(t, err, ErrMessage)
	_, err = readMessage(bytes.NewReader([]byte{1, 1, 0, 7, 0, 0, 0, 0}))
	require.ErrorIs(t, err, ErrMessage)
}

func FuzzParsers(f *testing.F) {
	call := &writer{}
	call.uint32(4)
	call.uint16(0xFFFF)
	call.uint16(10)
	call.uint16(0)
	call.byteText("@p1")
	call.uint8(0)
	call.typeInfo(sqlval.NVarCharType(sqlval.Max))
	_ = call.value(sqlval.NVarCharType(sqlval.Max), "SELECT 1")
	f.Add(call.b)
	f.Add([]byte{0, 0, 6, 0, 1, 0xff, 2})
	f.Add(binary.LittleEndian.AppendUint32(nil, math.MaxUint32))
	f.Add(make([]byte, 94))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = ParsePrelogin(b)
		_, _ = ParseLogin(b)
		_, _ = ParseBatch(b)
		_, _ = ParseCall(b)
		_, _ = ParseTx(b)
		_, _ = readMessage(bytes.NewReader(b))
	})
}
