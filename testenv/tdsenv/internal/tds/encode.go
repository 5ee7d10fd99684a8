package tds

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// collation is SQL_Latin1_General_CP1_CI_AS.
var collation = []byte{0x09, 0x04, 0xD0, 0x00, 0x34}

// Types on the wire.
const (
	wireNull           = 0x1F
	wireGUID           = 0x24
	wireInt            = 0x26
	wireDate           = 0x28
	wireTime           = 0x29
	wireDateTime2      = 0x2A
	wireDateTimeOffset = 0x2B
	wireBit            = 0x68
	wireDecimal        = 0x6A
	wireNumeric        = 0x6C
	wireFloat          = 0x6D
	wireMoney          = 0x6E
	wireDateTime       = 0x6F
	wireVarBinary      = 0xA5
	wireVarChar        = 0xA7
	wireBinary         = 0xAD
	wireChar           = 0xAF
	wireNVarChar       = 0xE7
	wireNChar          = 0xEF
)

var wireStrings = map[sqlval.Kind]uint8{
	sqlval.VarBinary: wireVarBinary, sqlval.Binary: wireBinary, sqlval.VarChar: wireVarChar, sqlval.Char: wireChar,
	sqlval.NVarChar: wireNVarChar, sqlval.NChar: wireNChar,
}

// width is the number of bytes of a fixed type.
func width(t sqlval.Type) uint8 {
	switch t.Kind {
	case sqlval.Bit, sqlval.TinyInt:
		return 1
	case sqlval.SmallInt:
		return 2
	case sqlval.BigInt, sqlval.Float, sqlval.Money, sqlval.DateTime:
		return 8
	case sqlval.Decimal:
		switch {
		case t.Prec <= 9:
			return 5
		case t.Prec <= 19:
			return 9
		case t.Prec <= 28:
			return 13
		}
		return 17
	case sqlval.GUID:
		return 16
	}
	return 4 // int, real, smallmoney, smalldatetime, and a NULL without a type
}

// typeInfo is TYPE_INFO; every type is one that can be NULL.
func (w *writer) typeInfo(t sqlval.Type) {
	if id, ok := wireStrings[t.Kind]; ok {
		w.uint8(id)
		switch {
		case t.Size == sqlval.Max:
			w.uint16(0xFFFF)
		case id == wireNVarChar || id == wireNChar:
			w.uint16(uint16(2 * max(t.Size, 1)))
		default:
			w.uint16(uint16(max(t.Size, 1)))
		}
		if !t.IsBinary() {
			w.bytes(collation)
		}
		return
	}
	switch t.Kind {
	case sqlval.Bit:
		w.bytes([]byte{wireBit, 1})
	case sqlval.Decimal:
		w.bytes([]byte{wireNumeric, width(t), t.Prec, t.Scale})
	case sqlval.Money, sqlval.SmallMoney:
		w.bytes([]byte{wireMoney, width(t)})
	case sqlval.Real, sqlval.Float:
		w.bytes([]byte{wireFloat, width(t)})
	case sqlval.GUID:
		w.bytes([]byte{wireGUID, 16})
	case sqlval.Date:
		w.uint8(wireDate)
	case sqlval.Time:
		w.bytes([]byte{wireTime, t.Scale})
	case sqlval.DateTime2:
		w.bytes([]byte{wireDateTime2, t.Scale})
	case sqlval.DateTimeOffset:
		w.bytes([]byte{wireDateTimeOffset, t.Scale})
	case sqlval.DateTime, sqlval.SmallDateTime:
		w.bytes([]byte{wireDateTime, width(t)})
	default:
		w.bytes([]byte{wireInt, width(t)})
	}
}

// value is a value behind its TYPE_INFO.
func (w *writer) value(t sqlval.Type, v any) error {
	v, err := sqlval.Cast(v, t)
	if err != nil {
		return err
	}
	if _, ok := wireStrings[t.Kind]; ok {
		w.text(t, v)
		return nil
	}
	if v == nil {
		w.uint8(0)
		return nil
	}
	switch {
	case t.Kind == sqlval.Bit:
		w.uint8(1)
		if v.(bool) {
			w.uint8(1)
		} else {
			w.uint8(0)
		}
	case t.IsInt():
		w.uint8(width(t))
		w.bytes(binary.LittleEndian.AppendUint64(nil, uint64(v.(int64)))[:width(t)])
	case t.Kind == sqlval.Decimal:
		w.decimal(t, v.(sqlval.Dec))
	case t.IsDecimal():
		n := v.(sqlval.Dec).Rescale(4).Int.Int64()
		w.uint8(width(t))
		if t.Kind == sqlval.Money {
			w.uint32(uint32(n >> 32)) // the high half comes first
		}
		w.uint32(uint32(n))
	case t.Kind == sqlval.Real:
		w.uint8(4)
		w.uint32(math.Float32bits(float32(v.(float64))))
	case t.Kind == sqlval.Float:
		w.uint8(8)
		w.uint64(math.Float64bits(v.(float64)))
	case t.Kind == sqlval.GUID:
		g := v.(sqlval.UUID)
		w.uint8(16)
		w.bytes(g[:])
	case t.IsTime():
		w.time(t, v.(time.Time))
	default:
		return sqlval.NotModelled("a value of %s", t)
	}
	return nil
}

func (w *writer) decimal(t sqlval.Type, d sqlval.Dec) {
	n := width(t)
	w.uint8(n)
	sign := uint8(1)
	if d.Int.Sign() < 0 {
		sign = 0
	}
	w.uint8(sign)
	digits := new(big.Int).Abs(d.Int).FillBytes(make([]byte, n-1))
	slices.Reverse(digits)
	w.bytes(digits)
}

func (w *writer) text(t sqlval.Type, v any) {
	var b []byte
	switch x := v.(type) {
	case nil:
		if t.Size == sqlval.Max {
			w.uint64(math.MaxUint64)
		} else {
			w.uint16(0xFFFF)
		}
		return
	case []byte:
		b = x
	case string:
		if t.Kind == sqlval.NVarChar || t.Kind == sqlval.NChar {
			b = utf16Bytes(x)
		} else {
			b = latin1(x)
		}
	}
	if t.Size != sqlval.Max {
		w.uint16(uint16(len(b)))
		w.bytes(b)
		return
	}
	w.uint64(uint64(len(b)))
	if len(b) > 0 {
		w.uint32(uint32(len(b)))
		w.bytes(b)
	}
	w.uint32(0)
}

// latin1 is what a varchar keeps of a text.
func latin1(s string) []byte {
	var b []byte
	for _, r := range s {
		if r > 0xff || r >= 0x80 && r < 0xa0 {
			r = '?'
		}
		b = append(b, byte(r))
	}
	return b
}

var (
	firstDay = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	day1900  = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
)

// days counts days since a day. Durations reach 292 years only.
func days(t, since time.Time) int64 {
	return (t.Truncate(24*time.Hour).Unix() - since.Unix()) / 86400
}

func (w *writer) time(t sqlval.Type, v time.Time) {
	utc := v.UTC()
	sinceMidnight := utc.Sub(utc.Truncate(24 * time.Hour))
	date := days(utc, firstDay)
	day := []byte{byte(date), byte(date >> 8), byte(date >> 16)}
	switch t.Kind {
	case sqlval.Date:
		w.uint8(3)
		w.bytes(day)
		return
	case sqlval.DateTime:
		w.uint8(8)
		w.uint32(uint32(int32(days(utc, day1900))))
		w.uint32(uint32((int64(sinceMidnight)*3 + 5_000_000) / 10_000_000))
		return
	case sqlval.SmallDateTime:
		w.uint8(4)
		w.uint16(uint16(days(utc, day1900)))
		w.uint16(uint16(sinceMidnight / time.Minute))
		return
	}
	units := int64(sinceMidnight)
	for range 9 - t.Scale {
		units /= 10
	}
	clock := binary.LittleEndian.AppendUint64(nil, uint64(units))[:clockSize(t.Scale)]
	switch t.Kind {
	case sqlval.Time:
		w.uint8(uint8(len(clock)))
		w.bytes(clock)
	case sqlval.DateTime2:
		w.uint8(uint8(len(clock) + 3))
		w.bytes(clock)
		w.bytes(day)
	default:
		_, offset := v.Zone()
		w.uint8(uint8(len(clock) + 5))
		w.bytes(clock)
		w.bytes(day)
		w.uint16(uint16(int16(offset / 60)))
	}
}

func clockSize(scale uint8) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	}
	return 5
}
