// Package sqlval has the types and values of T-SQL that the double understands, and how one
// becomes another. What it does not understand is an error with the number that a server has for
// it, or 102: nothing is taken for something else in silence.
package sqlval

import (
	"fmt"
	"math/big"
)

// Kind is a type without its length.
type Kind uint8

// The kinds, in the order of T-SQL's precedence: of two operands the one with the lower precedence
// is converted to the other's type.
const (
	Null Kind = iota // an untyped NULL
	Predicate
	Binary
	VarBinary
	Char
	VarChar
	NChar
	NVarChar
	GUID
	Bit
	TinyInt
	SmallInt
	Int
	BigInt
	SmallMoney
	Money
	Decimal
	Real
	Float
	Time
	Date
	SmallDateTime
	DateTime
	DateTime2
	DateTimeOffset
)

// Max is the Size of varchar(max) and the like.
const Max = -1

// Type is a T-SQL type.
type Type struct {
	Kind  Kind
	Size  int   // characters or bytes of strings and binaries; Max
	Prec  uint8 // of decimals
	Scale uint8 // of decimals, and digits of fractional seconds
}

// Types without a length.
var (
	NullType   = Type{Kind: Null}
	PredType   = Type{Kind: Predicate}
	BitType    = Type{Kind: Bit}
	TinyType   = Type{Kind: TinyInt}
	IntType    = Type{Kind: Int}
	BigIntType = Type{Kind: BigInt}
	FloatType  = Type{Kind: Float}
	GUIDType   = Type{Kind: GUID}
	TimeType   = Type{Kind: DateTimeOffset, Scale: 7}
	LSNType    = Type{Kind: Decimal, Prec: 25}
)

// NVarCharType is nvarchar(n).
func NVarCharType(n int) Type { return Type{Kind: NVarChar, Size: n} }

var names = map[Kind]string{
	Null: "NULL", Predicate: "a condition", Binary: "binary", VarBinary: "varbinary", Char: "char", VarChar: "varchar",
	NChar: "nchar", NVarChar: "nvarchar", GUID: "uniqueidentifier", Bit: "bit", TinyInt: "tinyint", SmallInt: "smallint",
	Int: "int", BigInt: "bigint", SmallMoney: "smallmoney", Money: "money", Decimal: "decimal", Real: "real", Float: "float",
	Time: "time", Date: "date", SmallDateTime: "smalldatetime", DateTime: "datetime", DateTime2: "datetime2", DateTimeOffset: "datetimeoffset",
}

// Name is the type's name without its length, as catalogue views have it.
func (t Type) Name() string { return names[t.Kind] }

// String is the type as a declaration has it.
func (t Type) String() string {
	switch {
	case t.IsString() || t.IsBinary():
		if t.Size == Max {
			return t.Name() + "(max)"
		}
		return fmt.Sprintf("%s(%d)", t.Name(), t.Size)
	case t.Kind == Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Prec, t.Scale)
	case t.Kind == DateTime2 || t.Kind == DateTimeOffset || t.Kind == Time:
		return fmt.Sprintf("%s(%d)", t.Name(), t.Scale)
	}
	return t.Name()
}

// IsString says that values are Go strings.
func (t Type) IsString() bool { return t.Kind >= Char && t.Kind <= NVarChar }

// IsBinary says that values are byte slices.
func (t Type) IsBinary() bool { return t.Kind == Binary || t.Kind == VarBinary }

// IsInt says that values are int64.
func (t Type) IsInt() bool { return t.Kind >= TinyInt && t.Kind <= BigInt }

// IsDecimal says that values are Dec.
func (t Type) IsDecimal() bool { return t.Kind >= SmallMoney && t.Kind <= Decimal }

// IsFloat says that values are float64.
func (t Type) IsFloat() bool { return t.Kind == Real || t.Kind == Float }

// IsNumber says that one can calculate with it.
func (t Type) IsNumber() bool { return t.Kind >= Bit && t.Kind <= Float }

// IsTime says that values are time.Time.
func (t Type) IsTime() bool { return t.Kind >= Time }

// Dec is a decimal: Int / 10^Scale.
type Dec struct {
	Int   *big.Int
	Scale uint8
}

// UUID is a uniqueidentifier in the order of its bytes on the wire.
type UUID [16]byte

// String is the text that SQL Server shows: the first three groups are little-endian.
func (g UUID) String() string {
	return fmt.Sprintf("%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-%X",
		g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9], g[10:])
}

// scaleOf is the scale at which values of a decimal type are kept.
func (t Type) scaleOf() uint8 {
	if t.Kind == Money || t.Kind == SmallMoney {
		return 4
	}
	return t.Scale
}

// precOf is the number of digits of a decimal type.
func (t Type) precOf() uint8 {
	switch t.Kind {
	case Money:
		return 19
	case SmallMoney:
		return 10
	}
	return t.Prec
}

// AsDecimal is the decimal type that holds every value of a number type exactly.
func (t Type) AsDecimal() Type {
	switch t.Kind {
	case Bit:
		return Type{Kind: Decimal, Prec: 1}
	case TinyInt:
		return Type{Kind: Decimal, Prec: 3}
	case SmallInt:
		return Type{Kind: Decimal, Prec: 5}
	case Int:
		return Type{Kind: Decimal, Prec: 10}
	case BigInt:
		return Type{Kind: Decimal, Prec: 19}
	case Money, SmallMoney:
		return Type{Kind: Decimal, Prec: t.precOf(), Scale: 4}
	}
	return t
}

// Common is the type to which two operands are brought before they are compared, united or
// added.
func Common(a, b Type) Type {
	if a.Kind < b.Kind {
		a, b = b, a
	}
	switch {
	case a.IsString() && b.IsString(), a.IsBinary() && b.IsBinary():
		if b.Size == Max || a.Size != Max && b.Size > a.Size {
			a.Size = b.Size
		}
		if b.Kind == VarChar && a.Kind == NChar {
			a.Kind = NVarChar
		}
	case a.Kind == Decimal && b.IsNumber():
		b = b.AsDecimal()
		scale := max(a.Scale, b.Scale)
		whole := max(a.Prec-a.Scale, b.Prec-b.Scale)
		a.Prec, a.Scale = min(whole+scale, 38), scale
	case a.IsTime() && a.Kind == b.Kind:
		a.Scale = max(a.Scale, b.Scale)
	}
	return a
}
