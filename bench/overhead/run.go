package overhead

import (
	"errors"
	"fmt"

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

// OfThree are the setups that are compared where one number has to do: three replicas, and
// a session where there are sessions.
func OfThree(prepare bool) []Setup {
	return []Setup{
		{Plugin: "plain", Prepare: prepare}, {Plugin: "dbresolver", Replicas: 3, Prepare: prepare},
		{Plugin: "readsplit", Replicas: 3, Prepare: prepare, Session: true},
	}
}

// With opens setups, runs f, and closes them.
func With(setups []Setup, catalog nullpg.Catalog, f func([]*Opened) error) (err error) {
	var opened []*Opened
	defer func() {
		for _, o := range opened {
			err = errors.Join(err, o.Close())
		}
	}()
	for _, s := range setups {
		o, err := Open(s, catalog)
		if err != nil {
			return err
		}
		opened = append(opened, o)
	}
	return f(opened)
}

// Forms are the ways to do c, for measuring.
func (c Case) Forms(opened []*Opened) (forms []side.Form) {
	for _, o := range opened {
		forms = append(forms, side.Form{Name: o.Name(), Op: c.Times(o)})
	}
	return forms
}

// Measured is one case in every setup.
type Measured struct {
	Case    string
	Prepare bool
	Results []side.Result
}

// Name is how the case appears in tables.
func (m Measured) Name() string {
	if m.Prepare {
		return m.Case + ", prepared"
	}
	return m.Case
}

// Run measures every case in every setup; measure says how much.
func Run(catalog nullpg.Catalog, measure func([]side.Form) []side.Result) (all []Measured, err error) {
	for _, prepare := range []bool{false, true} {
		err := With(Setups(prepare), catalog, func(opened []*Opened) error {
			for _, c := range Cases {
				all = append(all, Measured{Case: c.Name, Prepare: prepare, Results: measure(c.Forms(opened))})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("overhead: %w", err)
		}
	}
	return all, nil
}
