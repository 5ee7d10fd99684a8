package chart

import "flag"

// Other says whether flags ask for another measurement than the one that a page tells of.
// Its prose names the defaults: tables of a short run, of other distances or of another
// PostgreSQL would stand below what they are not.
func Other(flags *flag.FlagSet) (other bool) {
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "page", "readme", "part":
		case "pg":
			other = other || f.Value.String() != "15"
		default:
			other = other || f.Value.String() != f.DefValue
		}
	})
	return other
}
