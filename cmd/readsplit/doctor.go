package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/readsplit/readsplit/doctor"
)

const doctorUsage = `readsplit doctor [flags]

Examines a primary and its replicas, and prints what is wrong, why it matters,
and what to do. It writes nothing to the servers.

  readsplit doctor -primary env:PRIMARY_DSN -replica pg2=env:PG2_DSN
  readsplit doctor -config servers.json -json
  readsplit doctor -status http://10.0.0.5:6060/debug/readsplit/

A DSN is a URL (postgres://user@host/database) or pairs (host=.. dbname=..), with
the password in it, in PGPASSWORD or in ~/.pgpass. Other users of this machine
see command lines: env:NAME stands for what the variable NAME holds.
Where no flag names a server, these variables are read:

  READSPLIT_PRIMARY    the primary's DSN
  READSPLIT_REPLICAS   a line for each replica: name=DSN

-config names a file of JSON; flags win over it:

  {"primary": "env:PRIMARY_DSN", "replicas": {"pg2": "host=pg2 dbname=shop"},
   "pool": 64, "primary_pool": 40, "instances": 3, "max_lag": "2s",
   "watch": "10s", "timeout": "5s", "long": "1m", "status": "http://.."}

Exit status: 0 nothing worse than notices, 1 warnings, 2 problems, 3 nothing was
examined (wrong flags, or nobody answered).

Flags:
`

func runDoctor(ctx context.Context, args, environ []string, out, errs io.Writer) int {
	t, asJSON, err := doctorFlags(args, environ, out)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return exitUsage
	}
	report, err := doctor.Examine(ctx, t)
	if err != nil {
		fmt.Fprintln(errs, err)
		return exitUsage
	}
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(report)
	} else {
		err = report.WriteText(out)
	}
	if err != nil {
		fmt.Fprintln(errs, "readsplit: the report could not be written:", err)
		return exitUsage
	}
	return report.ExitStatus()
}

// doctorFlags reads the flags, then the file, then the environment. No error quotes
// what may hold a password; help goes to out.
func doctorFlags(args, environ []string, out io.Writer) (t doctor.Topology, asJSON bool, err error) {
	flags := flag.NewFlagSet("readsplit doctor", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // it would quote values
	flags.Usage = func() {}
	var wrong error
	file := flags.String("config", "", "a `file` of JSON that names the servers")
	flags.StringVar(&t.Primary.DSN, "primary", "", "the primary's `DSN`, or env:NAME")
	flags.Func("replica", "a replica as `name=DSN`, or name=env:NAME; may be repeated", func(text string) error {
		s, err := replica(text)
		if err != nil {
			wrong = fmt.Errorf("readsplit: -replica: %w", err)
		}
		t.Replicas = append(t.Replicas, s)
		return nil
	})
	flags.StringVar(&t.Status, "status", "", "the `URL` of a running application's status page, or env:NAME")
	flags.DurationVar(&t.Watch, "watch", 0, "how long to watch lag, 0s for once (default 10s)")
	flags.DurationVar(&t.Timeout, "timeout", 0, "the longest time for a connection and for an answer (default 5s)")
	flags.IntVar(&t.Looks, "looks", 0, "how many connections to each name, to see several servers behind it (default 8)")
	flags.DurationVar(&t.MaxLag, "max-lag", 0, "the application's Config.MaxLag (default 2s)")
	flags.DurationVar(&t.LongTransaction, "long", 0, "from which age on a transaction is reported (default 1m)")
	flags.IntVar(&t.Pool, "pool", 0, "Config.Pool.MaxOpen: connections of one process to each replica (default 64)")
	flags.IntVar(&t.PrimaryPool, "primary-pool", 0, "SetMaxOpenConns of the primary's pool (default: not judged)")
	flags.IntVar(&t.Instances, "instances", 0, "how many processes share the servers (default 1)")
	flags.BoolVar(&asJSON, "json", false, "write JSON")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, doctorUsage)
		flags.SetOutput(out)
		flags.PrintDefaults()
		return t, asJSON, err
	case err != nil:
		return t, asJSON, fmt.Errorf("readsplit: %w; readsplit doctor -h shows the flags", err)
	case wrong != nil:
		return t, asJSON, wrong
	case flags.NArg() > 0:
		return t, asJSON, fmt.Errorf("readsplit: there is something behind the flags: each replica needs a -replica in front of it, and a DSN with blanks quotes around it")
	}
	flags.Visit(func(f *flag.Flag) {
		if f.Name == "watch" && t.Watch == 0 {
			t.Watch = doctor.Off
		}
	})
	env := variables(environ)
	if *file != "" {
		c, err := readConfig(*file)
		if err != nil {
			return t, asJSON, err
		}
		if err := c.fill(&t); err != nil {
			return t, asJSON, err
		}
	} else if err := env.fill(&t); err != nil {
		return t, asJSON, err
	}
	return t, asJSON, env.resolve(&t)
}

// pick keeps what is there, and takes another value where nothing is.
func pick[T comparable](there *T, other T) {
	var zero T
	if *there == zero {
		*there = other
	}
}

// duration is one in a file: "10s".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}
