package sqlval

import (
	"math/big"
	"strings"
)

var ten = big.NewInt(10)

func pow10(n uint8) *big.Int { return new(big.Int).Exp(ten, big.NewInt(int64(n)), nil) }

// DecOf is an integer as a decimal.
func DecOf(n int64) Dec { return Dec{Int: big.NewInt(n)} }

// Rescale rounds half away from zero, as SQL Server does.
func (d Dec) Rescale(scale uint8) Dec {
	switch {
	case scale == d.Scale:
		return d
	case scale > d.Scale:
		return Dec{new(big.Int).Mul(d.Int, pow10(scale-d.Scale)), scale}
	}
	div := pow10(d.Scale - scale)
	half := new(big.Int).Quo(div, big.NewInt(2))
	n := new(big.Int).Set(d.Int)
	if n.Sign() < 0 {
		n.Sub(n, half)
	} else {
		n.Add(n, half)
	}
	return Dec{n.Quo(n, div), scale}
}

// truncated drops the digits behind the scale.
func (d Dec) truncated() *big.Int { return new(big.Int).Quo(d.Int, pow10(d.Scale)) }

// Cmp compares two decimals of any scales.
func (d Dec) Cmp(o Dec) int {
	scale := max(d.Scale, o.Scale)
	return d.Rescale(scale).Int.Cmp(o.Rescale(scale).Int)
}

func (d Dec) String() string {
	digits := new(big.Int).Abs(d.Int).String()
	if n := int(d.Scale); n > 0 {
		if len(digits) <= n {
			digits = strings.Repeat("0", n-len(digits)+1) + digits
		}
		digits = digits[:len(digits)-n] + "." + digits[len(digits)-n:]
	}
	if d.Int.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}

// Float is the nearest float.
func (d Dec) Float() float64 {
	f, _ := new(big.Rat).SetFrac(d.Int, pow10(d.Scale)).Float64()
	return f
}

// ParseDec reads digits with at most one point. Scale is what stands behind it.
func ParseDec(s string) (Dec, bool) {
	s = strings.TrimSpace(s)
	body := strings.TrimLeft(s, "+-")
	whole, fraction, _ := strings.Cut(body, ".")
	if len(s)-len(body) > 1 || whole+fraction == "" || len(whole)+len(fraction) > 76 {
		return Dec{}, false
	}
	for _, c := range whole + fraction {
		if c < '0' || c > '9' {
			return Dec{}, false
		}
	}
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return Dec{}, false
	}
	if strings.HasPrefix(s, "-") {
		n.Neg(n)
	}
	return Dec{n, uint8(len(fraction))}, true
}

// fits says whether a decimal has a place in a type.
func (t Type) fits(d Dec) bool {
	return len(new(big.Int).Abs(d.Int).String()) <= int(t.precOf())
}
