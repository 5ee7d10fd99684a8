package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/doctor"
)

// replica reads name=DSN. The errors show the name at most: the rest may hold a
// password.
func replica(text string) (doctor.Server, error) {
	name, dsn, ok := strings.Cut(strings.TrimSpace(text), "=")
	name = strings.TrimSpace(name)
	switch {
	case !ok || strings.ContainsAny(name, ":/@;"):
		return doctor.Server{}, fmt.Errorf("a replica needs a name in front of its DSN: name=DSN")
	case slices.Contains(keywords, strings.ToLower(name)):
		return doctor.Server{}, fmt.Errorf("%q is a keyword of DSNs: a replica needs a name in front of its DSN, as in pg2=%s=.. and so on", name, name)
	case name == "" || dsn == "":
		return doctor.Server{}, fmt.Errorf("name or DSN is empty: write name=DSN")
	}
	return doctor.Server{Name: name, DSN: dsn}, nil
}

// keywords are what a DSN may begin with.
var keywords = []string{"host", "hostaddr", "port", "dbname", "database", "user", "user id", "password", "passfile", "service", "sslmode", "server", "application_name"}

// config is the file of -config.
type config struct {
	Primary     string            `json:"primary"`
	Replicas    map[string]string `json:"replicas"`
	Status      string            `json:"status"`
	Pool        int               `json:"pool"`
	PrimaryPool int               `json:"primary_pool"`
	Instances   int               `json:"instances"`
	Looks       int               `json:"looks"`
	Watch       duration          `json:"watch"`
	Timeout     duration          `json:"timeout"`
	MaxLag      duration          `json:"max_lag"`
	Long        duration          `json:"long"`
}

func readConfig(file string) (c config, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("readsplit: -config: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("readsplit: -config %s: %w: readsplit doctor -h shows the fields", file, err)
	}
	if d.More() {
		return c, fmt.Errorf("readsplit: -config %s: there is something behind the object: one object in braces is read", file)
	}
	return c, nil
}

// fill takes from the file what no flag said.
func (c config) fill(t *doctor.Topology) error {
	pick(&t.Primary.DSN, c.Primary)
	if len(t.Replicas) == 0 {
		for _, name := range slices.Sorted(maps.Keys(c.Replicas)) {
			t.Replicas = append(t.Replicas, doctor.Server{Name: name, DSN: c.Replicas[name]})
		}
	}
	pick(&t.Status, c.Status)
	pick(&t.Pool, c.Pool)
	pick(&t.PrimaryPool, c.PrimaryPool)
	pick(&t.Instances, c.Instances)
	pick(&t.Looks, c.Looks)
	pick(&t.Watch, time.Duration(c.Watch))
	pick(&t.Timeout, time.Duration(c.Timeout))
	pick(&t.MaxLag, time.Duration(c.MaxLag))
	pick(&t.LongTransaction, time.Duration(c.Long))
	return nil
}

// environment is what the variables of the process say.
type environment map[string]string

func variables(environ []string) environment {
	e := environment{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		e[name] = value
	}
	return e
}

// fill takes the servers from the environment, where no flag named any, nor an
// application.
func (e environment) fill(t *doctor.Topology) error {
	if t.Primary.DSN != "" || len(t.Replicas) > 0 || t.Status != "" {
		return nil
	}
	t.Primary.DSN = e["READSPLIT_PRIMARY"]
	n := 0
	for line := range strings.Lines(e["READSPLIT_REPLICAS"]) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s, err := replica(line)
		if err != nil {
			return fmt.Errorf("readsplit: READSPLIT_REPLICAS, line %d: %w", n, err)
		}
		t.Replicas = append(t.Replicas, s)
	}
	if t.Primary.DSN == "" && len(t.Replicas) == 0 {
		return fmt.Errorf("readsplit: no server is named: give -primary and -replica, -config, or READSPLIT_PRIMARY and READSPLIT_REPLICAS; readsplit doctor -h says more")
	}
	return nil
}

var isVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// resolve puts the values of variables where env:NAME stands.
func (e environment) resolve(t *doctor.Topology) error {
	values := []*string{&t.Primary.DSN, &t.Status}
	for i := range t.Replicas {
		values = append(values, &t.Replicas[i].DSN)
	}
	for _, v := range values {
		name, ok := strings.CutPrefix(*v, "env:")
		if !ok {
			continue
		}
		if !isVariable.MatchString(name) {
			// The shell has put the value here, of env:$NAME: it may hold a password.
			return fmt.Errorf("readsplit: what stands behind env: is no name of a variable; it is not shown, since it may hold a password: write env:NAME, without a $")
		}
		if *v = e[name]; *v == "" {
			return fmt.Errorf("readsplit: env:%s: the variable %s is not set, or empty", name, name)
		}
	}
	return nil
}
