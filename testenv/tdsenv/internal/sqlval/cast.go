package sqlval

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Cast brings a value to a type, as CAST does: strings are cut to their length.
func Cast(v any, to Type) (any, error) {
	if v == nil || to.Kind == Null {
		return v, nil
	}
	switch {
	case to.IsString():
		s, err := toText(v, to)
		if err != nil {
			return nil, err
		}
		return cut(s, to), nil
	case to.IsBinary():
		return toBinary(v, to)
	case to.Kind == Bit:
		return toBit(v)
	case to.IsInt():
		return toInt(v, to)
	case to.IsDecimal():
		return toDec(v, to)
	case to.IsFloat():
		return toFloat(v, to)
	case to.IsTime():
		return toTime(v, to)
	case to.Kind == GUID:
		return toUUID(v)
	}
	return nil, cannot(v, to)
}

// Assign brings a value to the type of the column or variable that it goes into: what does not
// fit is an error, not cut.
func Assign(v any, to Type) (any, error) {
	if to.Size != Max && v != nil {
		if s, ok := v.(string); ok && to.IsString() && length(strings.TrimRight(s, " "), to) > to.Size {
			return nil, Errorf(2628, "String or binary data would be truncated; the type is %s, the value has %d characters.", to, length(s, to))
		}
		if b, ok := v.([]byte); ok && to.IsBinary() && len(b) > to.Size {
			return nil, Errorf(2628, "String or binary data would be truncated; the type is %s, the value has %d bytes.", to, len(b))
		}
	}
	return Cast(v, to)
}

func cannot(v any, to Type) *Error {
	return Errorf(529, "Explicit conversion from %s to %s is not allowed.", TypeOf(v), to)
}

func failed(v any, to Type) *Error {
	return Errorf(245, "Conversion failed when converting the %s value '%v' to data type %s.", TypeOf(v).Name(), v, to.Name())
}

func overflow(to Type) *Error {
	return Errorf(8115, "Arithmetic overflow error converting expression to data type %s.", to.Name())
}

// TypeOf is the type of a value that has no column.
func TypeOf(v any) Type {
	switch x := v.(type) {
	case int64:
		if x == int64(int32(x)) {
			return IntType
		}
		return BigIntType
	case float64:
		return FloatType
	case bool:
		return BitType
	case string:
		return NVarCharType(max(1, min(length(x, Type{Kind: NVarChar}), 4000)))
	case []byte:
		return Type{Kind: VarBinary, Size: max(1, len(x))}
	case Dec:
		digits := uint8(len(new(big.Int).Abs(x.Int).String()))
		return Type{Kind: Decimal, Prec: max(digits, x.Scale, 1), Scale: x.Scale}
	case time.Time:
		return TimeType
	case UUID:
		return GUIDType
	}
	return NullType
}

func length(s string, t Type) int {
	if t.Kind == NVarChar || t.Kind == NChar {
		return len(utf16.Encode([]rune(s)))
	}
	return len([]rune(s))
}

func cut(s string, to Type) string {
	if to.Size == Max || to.Size == 0 {
		return s
	}
	if units := utf16.Encode([]rune(s)); len(units) > to.Size {
		s = string(utf16.Decode(units[:to.Size]))
	}
	if (to.Kind == NChar || to.Kind == Char) && length(s, to) < to.Size {
		s += strings.Repeat(" ", to.Size-length(s, to))
	}
	return s
}

func toText(v any, to Type) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case int64:
		return strconv.FormatInt(x, 10), nil
	case bool:
		return strconv.Itoa(bit(x)), nil
	case float64:
		return strconv.FormatFloat(x, 'g', 6, 64), nil
	case Dec:
		return x.String(), nil
	case UUID:
		return x.String(), nil
	case time.Time:
		if _, offset := x.Zone(); offset != 0 {
			return x.Format("2006-01-02 15:04:05.0000000 -07:00"), nil
		}
		return x.Format("2006-01-02 15:04:05.0000000"), nil
	case []byte:
		if to.Kind == NVarChar || to.Kind == NChar {
			units := make([]uint16, len(x)/2)
			for i := range units {
				units[i] = uint16(x[2*i]) | uint16(x[2*i+1])<<8
			}
			return string(utf16.Decode(units)), nil
		}
		return string(x), nil
	}
	return "", cannot(v, to)
}

func toBinary(v any, to Type) (any, error) {
	var b []byte
	switch x := v.(type) {
	case []byte:
		b = x
	case string:
		b = []byte(x)
	case UUID:
		b = x[:]
	case int64:
		b = []byte{byte(x >> 24), byte(x >> 16), byte(x >> 8), byte(x)}
		if TypeOf(v).Kind == BigInt {
			b = append([]byte{byte(x >> 56), byte(x >> 48), byte(x >> 40), byte(x >> 32)}, b...)
		}
	default:
		return nil, cannot(v, to)
	}
	if to.Size != Max && to.Size != 0 && len(b) > to.Size {
		b = b[:to.Size]
	}
	if to.Kind == Binary && len(b) < to.Size {
		b = append(append([]byte{}, b...), make([]byte, to.Size-len(b))...)
	}
	return b, nil
}

func toBit(v any) (any, error) {
	switch x := v.(type) {
	case bool:
		return x, nil
	case int64:
		return x != 0, nil
	case float64:
		return x != 0, nil
	case Dec:
		return x.Int.Sign() != 0, nil
	case string:
		switch Fold(strings.TrimSpace(x)) {
		case "true", "1":
			return true, nil
		case "false", "0", "":
			return false, nil
		}
		return nil, failed(v, BitType)
	}
	return nil, cannot(v, BitType)
}

var intRange = map[Kind][2]int64{
	TinyInt: {0, 255}, SmallInt: {math.MinInt16, math.MaxInt16},
	Int: {math.MinInt32, math.MaxInt32}, BigInt: {math.MinInt64, math.MaxInt64},
}

func toInt(v any, to Type) (any, error) {
	var n int64
	switch x := v.(type) {
	case int64:
		n = x
	case bool:
		n = int64(bit(x))
	case float64:
		if x < math.MinInt64 || x >= math.MaxInt64 || x != x {
			return nil, overflow(to)
		}
		n = int64(x)
	case Dec:
		whole := x.truncated()
		if !whole.IsInt64() {
			return nil, overflow(to)
		}
		n = whole.Int64()
	case string:
		text := strings.TrimSpace(x)
		if text == "" {
			break
		}
		parsed, err := strconv.ParseInt(strings.TrimPrefix(text, "+"), 10, 64)
		if err != nil {
			return nil, failed(v, to)
		}
		n = parsed
	case []byte:
		for _, c := range x[max(0, len(x)-8):] {
			n = n<<8 | int64(c)
		}
	default:
		return nil, cannot(v, to)
	}
	if r := intRange[to.Kind]; n < r[0] || n > r[1] {
		return nil, overflow(to)
	}
	return n, nil
}

func toDec(v any, to Type) (any, error) {
	var d Dec
	switch x := v.(type) {
	case Dec:
		d = x
	case int64:
		d = DecOf(x)
	case bool:
		d = DecOf(int64(bit(x)))
	case float64:
		parsed, ok := ParseDec(strconv.FormatFloat(x, 'f', int(to.scaleOf()), 64))
		if !ok {
			return nil, overflow(to)
		}
		d = parsed
	case string:
		parsed, ok := ParseDec(x)
		if !ok {
			return nil, Errorf(8114, "Error converting data type %s to numeric.", TypeOf(v).Name())
		}
		d = parsed
	default:
		return nil, cannot(v, to)
	}
	d = d.Rescale(to.scaleOf())
	if !to.fits(d) {
		return nil, overflow(to)
	}
	return d, nil
}

func toFloat(v any, to Type) (any, error) {
	var f float64
	switch x := v.(type) {
	case float64:
		f = x
	case int64:
		f = float64(x)
	case bool:
		f = float64(bit(x))
	case Dec:
		f = x.Float()
	case string:
		parsed, err := strconv.ParseFloat(strings.TrimSpace(x), 64)
		if err != nil {
			return nil, Errorf(8114, "Error converting data type %s to %s.", TypeOf(v).Name(), to.Name())
		}
		f = parsed
	default:
		return nil, cannot(v, to)
	}
	if to.Kind == Real {
		f = float64(float32(f))
	}
	return f, nil
}

func toUUID(v any) (any, error) {
	switch x := v.(type) {
	case UUID:
		return x, nil
	case []byte:
		var g UUID
		copy(g[:], x)
		return g, nil
	case string:
		g, ok := ParseUUID(x)
		if !ok {
			return nil, Errorf(8169, "Conversion failed when converting from a character string to uniqueidentifier.")
		}
		return g, nil
	}
	return nil, cannot(v, GUIDType)
}

// ParseUUID reads the text of a uniqueidentifier, with or without braces.
func ParseUUID(s string) (UUID, bool) {
	s = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "{"), "}")
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return UUID{}, false
	}
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != 16 {
		return UUID{}, false
	}
	return UUID{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]}, true
}
