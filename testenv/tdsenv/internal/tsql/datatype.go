package tsql

import (
	"strconv"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

var typeNames = map[string]sqlval.Kind{
	"binary": sqlval.Binary, "varbinary": sqlval.VarBinary, "char": sqlval.Char, "varchar": sqlval.VarChar,
	"nchar": sqlval.NChar, "nvarchar": sqlval.NVarChar, "sysname": sqlval.NVarChar, "uniqueidentifier": sqlval.GUID,
	"bit": sqlval.Bit, "tinyint": sqlval.TinyInt, "smallint": sqlval.SmallInt, "int": sqlval.Int, "integer": sqlval.Int,
	"bigint": sqlval.BigInt, "smallmoney": sqlval.SmallMoney, "money": sqlval.Money, "decimal": sqlval.Decimal,
	"numeric": sqlval.Decimal, "real": sqlval.Real, "float": sqlval.Float, "time": sqlval.Time, "date": sqlval.Date,
	"smalldatetime": sqlval.SmallDateTime, "datetime": sqlval.DateTime, "datetime2": sqlval.DateTime2,
	"datetimeoffset": sqlval.DateTimeOffset,
}

// dataType reads a type: nvarchar(50), decimal(25, 0), varbinary(max).
func (p *parser) dataType() sqlval.Type {
	t := p.peek()
	kind, ok := typeNames[lower(t.text)]
	if !ok || t.kind != tokWord && t.kind != tokQuoted {
		panic(failure{sqlval.Errorf(2715, "Cannot find data type %s, or the double does not model it.", t.raw)})
	}
	p.take()
	args := p.typeArgs()
	typ := sqlval.Type{Kind: kind}
	first := func(otherwise int) int {
		if len(args) == 0 {
			return otherwise
		}
		return args[0]
	}
	switch {
	case lower(t.text) == "sysname":
		typ.Size = 128
	case typ.IsString() || typ.IsBinary():
		typ.Size = first(1)
		limit := 8000
		if kind == sqlval.NVarChar || kind == sqlval.NChar {
			limit = 4000
		}
		if typ.Size == 0 || typ.Size > limit {
			panic(failure{sqlval.Errorf(131, "The size (%d) given to the type '%s' exceeds the maximum allowed for any data type (%d).", typ.Size, t.raw, limit)})
		}
	case kind == sqlval.Decimal:
		typ.Prec = uint8(min(first(18), 255))
		if len(args) > 1 {
			typ.Scale = uint8(min(args[1], 255))
		}
		if typ.Prec < 1 || typ.Prec > 38 || typ.Scale > typ.Prec {
			panic(failure{sqlval.Errorf(2750, "Column or parameter: specified column precision %d or scale %d is wrong.", typ.Prec, typ.Scale)})
		}
	case kind == sqlval.Float && first(53) <= 24:
		typ.Kind = sqlval.Real
	case kind == sqlval.Time || kind == sqlval.DateTime2 || kind == sqlval.DateTimeOffset:
		scale := first(7)
		if scale < 0 || scale > 7 {
			panic(failure{sqlval.Errorf(1002, "Line 1: Specified scale %d is invalid.", scale)})
		}
		typ.Scale = uint8(scale)
	}
	return typ
}

func (p *parser) typeArgs() []int {
	if !p.symbol("(") {
		return nil
	}
	var args []int
	for {
		switch t := p.peek(); {
		case p.word("max"):
			args = append(args, sqlval.Max)
		case t.kind == tokNumber:
			n, err := strconv.Atoi(t.text)
			if err != nil {
				p.unexpected()
			}
			p.take()
			args = append(args, n)
		default:
			p.unexpected()
		}
		if !p.symbol(",") {
			break
		}
	}
	p.want(")")
	return args
}
