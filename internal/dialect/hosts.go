package dialect

import (
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"

	"gorm.io/gorm"
)

// Host is one of the servers that a dialector's DSN names.
type Host struct {
	// Name is host:port, or the path of a Unix socket's folder and the port.
	Name string
	// Dialector opens this server alone, whatever its role.
	Dialector gorm.Dialector
}

// Hosts returns one dialector for each host in the DSN of a PostgreSQL dialector.
// They are what d is but for the DSN, from which target_session_attrs is gone:
// a server's role is asked of it, and one that refuses connections in its present
// role could not be asked. It returns nil where there is no DSN to look at, or
// none that is understood.
func Hosts(d gorm.Dialector) []Host {
	if d.Name() != "postgres" || HasOwnPool(d) {
		return nil
	}
	text := Field(d, "DSN")
	if !text.IsValid() || text.Kind() != reflect.String {
		return nil
	}
	dsn, ok := parseDSN(text.String())
	if !ok {
		return nil
	}
	dsn.restricted = dsn.restricted || os.Getenv("PGTARGETSESSIONATTRS") != ""
	names, ports, ok := dsn.servers()
	if !ok {
		return nil
	}
	hosts := make([]Host, len(names))
	for i := range names {
		hosts[i].Name = nameOf(names[i], ports[i])
		if len(names) == 1 && !dsn.restricted {
			hosts[i].Dialector = d // nothing to take out
			continue
		}
		if hosts[i].Dialector = withDSN(d, dsn.only(names[i], ports[i])); hosts[i].Dialector == nil {
			return nil
		}
	}
	return hosts
}

func nameOf(host, port string) string {
	if port == "" {
		port = "5432"
	}
	switch {
	case host == "":
		host = "localhost"
	case strings.HasPrefix(host, "/"):
		return host + ":" + port
	}
	return net.JoinHostPort(host, port)
}

// servers returns the hosts and their ports, an empty text for a default. As pgx
// does: one port is every host's, else there is one for each, and what the DSN
// leaves out comes from the environment.
func (d *dsn) servers() (hosts, ports []string, ok bool) {
	list := func(value *string, variable string) []string {
		if value == nil {
			return strings.Split(os.Getenv(variable), ",")
		}
		return strings.Split(*value, ",")
	}
	hosts, given := list(d.host, "PGHOST"), list(d.port, "PGPORT")
	if len(given) > 1 && len(given) != len(hosts) {
		return nil, nil, false
	}
	for i := range hosts {
		port := given[0]
		if len(given) > 1 {
			port = given[i]
		}
		ports = append(ports, port)
	}
	return hosts, ports, true
}

// withDSN returns a copy of d, and of its configuration, with another DSN; nil
// where that is not possible.
func withDSN(d gorm.Dialector, text string) gorm.Dialector {
	for {
		w, ok := d.(interface{ Unwrap() gorm.Dialector })
		if !ok {
			break
		}
		d = w.Unwrap()
	}
	v := reflect.ValueOf(d)
	pointer := v.Kind() == reflect.Pointer
	if pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	config := copied.Elem()
	if c := config.FieldByName("Config"); c.IsValid() {
		config = c
		if c.Kind() == reflect.Pointer {
			if c.IsNil() || !c.CanSet() {
				return nil
			}
			own := reflect.New(c.Type().Elem())
			own.Elem().Set(c.Elem())
			c.Set(own)
			config = own.Elem()
		}
	}
	field := config.FieldByName("DSN")
	if !field.IsValid() || !field.CanSet() || field.Kind() != reflect.String {
		return nil
	}
	field.SetString(text)
	if !pointer {
		copied = copied.Elem()
	}
	out, _ := copied.Interface().(gorm.Dialector)
	return out
}

// Servers returns the hosts of a DSN and their ports, 0 where none is named; ok is
// false where it is not understood.
func Servers(text string) (hosts []string, ports []int, ok bool) {
	dsn, ok := parseDSN(text)
	if !ok {
		return nil, nil, false
	}
	hosts, given, ok := dsn.servers()
	if !ok {
		return nil, nil, false
	}
	ports = make([]int, len(hosts))
	for i, p := range given {
		if hosts[i] == "" {
			hosts[i] = "localhost"
		}
		if p == "" {
			continue
		}
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return nil, nil, false
		}
		ports[i] = int(n)
	}
	return hosts, ports, true
}
