package overhead

import (
	"fmt"
	"io"
	"time"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/side"
)

// Setups are what each case runs in; plain GORM comes first.
func Setups(prepare bool) []Setup {
	setups := []Setup{{Plugin: "plain", Prepare: prepare}}
	for _, n := range []int{1, 3, 10} {
		setups = append(setups, Setup{Plugin: "dbresolver", Replicas: n, Prepare: prepare})
	}
	for _, n := range []int{0, 1, 3, 10} {
		setups = append(setups,
			Setup{Plugin: "readsplit", Replicas: n, Prepare: prepare},
			Setup{Plugin: "readsplit", Replicas: n, Prepare: prepare, Session: true})
	}
	return setups
}

// Options say how much is measured.
type Options struct {
	Rounds int
	Batch  time.Duration
	Raw    io.Writer // gets the lines of benchstat; nil: nobody does
}

// Run measures every case in every setup and writes a table.
func Run(w io.Writer, catalog nullpg.Catalog, o Options) error {
	for _, prepare := range []bool{false, true} {
		if _, err := fmt.Fprintf(w, "\n### PrepareStmt: %t\n\n%s", prepare, side.TableHead); err != nil {
			return err
		}
		if err := run(w, catalog, o, prepare); err != nil {
			return err
		}
	}
	return nil
}

func run(w io.Writer, catalog nullpg.Catalog, o Options, prepare bool) (err error) {
	var opened []*Opened
	defer func() {
		for _, one := range opened {
			if e := one.Close(); err == nil {
				err = e
			}
		}
	}()
	for _, s := range Setups(prepare) {
		one, err := Open(s, catalog)
		if err != nil {
			return err
		}
		opened = append(opened, one)
	}
	for _, c := range Cases {
		var forms []side.Form
		for _, one := range opened {
			forms = append(forms, side.Form{Name: one.Name(), Op: c.Times(one)})
		}
		results := side.Measure(forms, o.Rounds, o.Batch)
		if err := side.Table(w, c.Name, results); err != nil {
			return err
		}
		if o.Raw != nil {
			if err := side.Benchstat(o.Raw, fmt.Sprintf("%s/prepare=%t", c.Name, prepare), results); err != nil {
				return err
			}
		}
	}
	return nil
}
