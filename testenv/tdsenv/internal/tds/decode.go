package tds

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// fixedTypes have neither a length nor a NULL.
var fixedTypes = map[uint8]sqlval.Kind{
	0x30: sqlval.TinyInt, 0x32: sqlval.Bit, 0x34: sqlval.SmallInt, 0x38: sqlval.Int, 0x7F: sqlval.BigInt,
	0x3A: sqlval.SmallDateTime, 0x3B: sqlval.Real, 0x3C: sqlval.Money, 0x3D: sqlval.DateTime, 0x3E: sqlval.Float, 0x7A: sqlval.SmallMoney,
}

var intKinds = map[uint8]sqlval.Kind{1: sqlval.TinyInt, 2: sqlval.SmallInt, 4: sqlval.Int, 8: sqlval.BigInt}

// parameter reads TYPE_INFO and the value behind it.
func (r *reader) parameter() (sqlval.Type, any) {
	id := r.uint8()
	if kind, ok := fixedTypes[id]; ok {
		t := sqlval.Type{Kind: kind}
		return t, r.scalar(t, r.take(int(width(t))))
	}
	var t sqlval.Type
	switch id {
	case wireNull:
		return sqlval.NullType, nil
	case wireInt:
		t.Kind = intKinds[r.uint8()]
	case wireBit:
		r.uint8()
		t.Kind = sqlval.Bit
	case wireFloat:
		t.Kind = sqlval.Float
		if r.uint8() == 4 {
			t.Kind = sqlval.Real
		}
	case wireMoney:
		t.Kind = sqlval.Money
		if r.uint8() == 4 {
			t.Kind = sqlval.SmallMoney
		}
	case wireDateTime:
		t.Kind = sqlval.DateTime
		if r.uint8() == 4 {
			t.Kind = sqlval.SmallDateTime
		}
	case wireGUID:
		r.uint8()
		t.Kind = sqlval.GUID
	case wireDecimal, wireNumeric:
		r.uint8()
		t = sqlval.Type{Kind: sqlval.Decimal, Prec: r.uint8(), Scale: r.uint8()}
		if t.Prec < 1 || t.Prec > 38 || t.Scale > t.Prec {
			r.fail("decimal(%d,%d)", t.Prec, t.Scale)
		}
	case wireDate:
		t.Kind = sqlval.Date
	case wireTime, wireDateTime2, wireDateTimeOffset:
		t.Kind = map[uint8]sqlval.Kind{wireTime: sqlval.Time, wireDateTime2: sqlval.DateTime2, wireDateTimeOffset: sqlval.DateTimeOffset}[id]
		if t.Scale = r.uint8(); t.Scale > 7 {
			r.fail("a time of scale %d", t.Scale)
		}
	default:
		for kind, wire := range wireStrings {
			if wire == id {
				return r.textParameter(kind)
			}
		}
		r.fail("a parameter of type 0x%02X, which the double does not model", id)
		return sqlval.NullType, nil
	}
	if t.Kind == sqlval.Null {
		r.fail("an integer of an unknown size")
	}
	b := r.take(int(r.uint8()))
	if len(b) == 0 {
		return t, nil
	}
	return t, r.scalar(t, b)
}

func (r *reader) fail(format string, a ...any) {
	if r.err == nil {
		r.err = malformed(format, a...)
	}
	r.b = nil
}

func (r *reader) textParameter(kind sqlval.Kind) (sqlval.Type, any) {
	t := sqlval.Type{Kind: kind}
	size := r.uint16()
	if !t.IsBinary() {
		r.take(len(collation))
	}
	wide := kind == sqlval.NVarChar || kind == sqlval.NChar
	t.Size = int(size)
	if wide {
		t.Size = int(size) / 2
	}
	t.Size = max(t.Size, 1)
	var b []byte
	if size == 0xFFFF {
		t.Size = sqlval.Max
		total := r.uint64()
		if total == math.MaxUint64 {
			return t, nil
		}
		for chunk := r.uint32(); chunk > 0 && r.err == nil; chunk = r.uint32() {
			if chunk > math.MaxInt32 {
				r.fail("a chunk of %d bytes", chunk)
				break
			}
			b = append(b, r.take(int(chunk))...)
		}
	} else {
		n := r.uint16()
		if n == 0xFFFF {
			return t, nil
		}
		b = r.take(int(n))
	}
	switch {
	case t.IsBinary():
		return t, append([]byte{}, b...)
	case wide:
		return t, utf16Text(b)
	}
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return t, string(runes)
}

// scalar decodes the bytes of a value that is not NULL.
func (r *reader) scalar(t sqlval.Type, b []byte) any {
	wrong := func() any {
		r.fail("%d bytes of %s", len(b), t)
		return nil
	}
	if w := int(width(t)); !t.IsTime() && t.Kind != sqlval.Decimal && len(b) != w {
		return wrong()
	}
	switch {
	case t.Kind == sqlval.Bit:
		return b[0] != 0
	case t.Kind == sqlval.TinyInt:
		return int64(b[0])
	case t.IsInt():
		padded := append(append([]byte{}, b...), make([]byte, 8-len(b))...)
		shift := 64 - 8*len(b)
		return int64(binary.LittleEndian.Uint64(padded)<<shift) >> shift
	case t.Kind == sqlval.Real:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case t.Kind == sqlval.Float:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case t.Kind == sqlval.SmallMoney:
		return sqlval.Dec{Int: big.NewInt(int64(int32(binary.LittleEndian.Uint32(b)))), Scale: 4}
	case t.Kind == sqlval.Money:
		n := int64(uint64(binary.LittleEndian.Uint32(b))<<32 | uint64(binary.LittleEndian.Uint32(b[4:])))
		return sqlval.Dec{Int: big.NewInt(n), Scale: 4}
	case t.Kind == sqlval.GUID:
		return sqlval.UUID(b)
	case t.Kind == sqlval.Decimal:
		if len(b) < 2 || len(b) > 17 {
			return wrong()
		}
		digits := slices.Clone(b[1:])
		slices.Reverse(digits)
		n := new(big.Int).SetBytes(digits)
		if b[0] == 0 {
			n.Neg(n)
		}
		return sqlval.Dec{Int: n, Scale: t.Scale}
	}
	return r.timeValue(t, b, wrong)
}

func (r *reader) timeValue(t sqlval.Type, b []byte, wrong func() any) any {
	day := func(b []byte) time.Time {
		return firstDay.AddDate(0, 0, int(b[0])|int(b[1])<<8|int(b[2])<<16)
	}
	switch t.Kind {
	case sqlval.Date:
		if len(b) != 3 {
			return wrong()
		}
		return day(b)
	case sqlval.DateTime:
		if len(b) != 8 {
			return wrong()
		}
		ticks := int64(binary.LittleEndian.Uint32(b[4:]))
		return day1900.AddDate(0, 0, int(int32(binary.LittleEndian.Uint32(b)))).Add(time.Duration((ticks*10+1)/3) * time.Millisecond)
	case sqlval.SmallDateTime:
		if len(b) != 4 {
			return wrong()
		}
		return day1900.AddDate(0, 0, int(binary.LittleEndian.Uint16(b))).Add(time.Duration(binary.LittleEndian.Uint16(b[2:])) * time.Minute)
	}
	n := clockSize(t.Scale)
	want := map[sqlval.Kind]int{sqlval.Time: n, sqlval.DateTime2: n + 3, sqlval.DateTimeOffset: n + 5}[t.Kind]
	if len(b) != want {
		return wrong()
	}
	units := int64(binary.LittleEndian.Uint64(append(append([]byte{}, b[:n]...), make([]byte, 8-n)...)))
	for range 9 - t.Scale {
		units *= 10
	}
	switch t.Kind {
	case sqlval.Time:
		return firstDay.Add(time.Duration(units))
	case sqlval.DateTime2:
		return day(b[n:]).Add(time.Duration(units))
	}
	offset := int(int16(binary.LittleEndian.Uint16(b[n+3:])))
	return day(b[n:]).Add(time.Duration(units)).In(time.FixedZone("", offset*60))
}
