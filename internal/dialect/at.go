package dialect

import (
	"context"
	"reflect"
	"strconv"

	"gorm.io/gorm"
)

// At returns a dialector that is d but for the server: it opens host:port, whatever
// hosts its DSN names and whatever role they must have. Where address is not empty, that
// is dialled, and host is what a certificate must say and what a passfile is asked for.
// Where the driver cannot tell the two apart, address stands in for host, and a
// certificate that names only the host is refused. ok is false where there is no DSN to
// change.
func At(d gorm.Dialector, host, address string, port int) (at gorm.Dialector, ok bool) {
	if d.Name() != "postgres" || HasOwnPool(d) {
		return nil, false
	}
	text := Field(d, "DSN")
	if !text.IsValid() || text.Kind() != reflect.String {
		return nil, false
	}
	dsn, ok := parseDSN(text.String())
	if !ok {
		return nil, false
	}
	number := ""
	if port > 0 {
		number = strconv.Itoa(port)
	}
	if address != "" {
		if at = dialling(withDSN(d, dsn.only(host, number)), address); at != nil {
			return at, true
		}
		host = address
	}
	at = withDSN(d, dsn.only(host, number))
	return at, at != nil
}

// Port is the port of the first server in the DSN of d; 0: it names none.
func Port(d gorm.Dialector) int {
	text := Field(d, "DSN")
	if !text.IsValid() || text.Kind() != reflect.String {
		return 0
	}
	if _, ports, ok := Servers(text.String()); ok && len(ports) > 0 {
		return ports[0]
	}
	return 0
}

// dialling returns d with an option for pgx that keeps it from looking a host up: it is
// told the address. The option is a function of pgx's own connector, which has no name
// outside; nil where there is no such option, as where the driver is another one.
func dialling(d gorm.Dialector, address string) gorm.Dialector {
	if d == nil {
		return nil
	}
	if name := Field(d, "DriverName"); name.IsValid() && name.Kind() == reflect.String && name.Len() > 0 {
		return nil // opened by its name, without options
	}
	options := Field(d, "OptionOpenDB")
	if !options.IsValid() || options.Kind() != reflect.Slice || !options.CanSet() {
		return nil
	}
	option := options.Type().Elem()
	if option.Kind() != reflect.Func || option.NumIn() != 1 || option.NumOut() != 0 ||
		!lookup(reflect.New(option.In(0)).Elem()).IsValid() {
		return nil
	}
	tell := func(_ context.Context, _ string) ([]string, error) { return []string{address}, nil }
	all := reflect.MakeSlice(options.Type(), options.Len(), options.Len()+1)
	reflect.Copy(all, options)
	options.Set(reflect.Append(all, reflect.MakeFunc(option, func(args []reflect.Value) []reflect.Value {
		f := lookup(args[0])
		f.Set(reflect.ValueOf(tell).Convert(f.Type()))
		return nil
	})))
	return d
}

// lookup returns the field of pgx's connector that says how hosts are looked up. For a
// nil pointer it is that of a new connector.
func lookup(connector reflect.Value) reflect.Value {
	if connector.Kind() != reflect.Pointer || connector.Type().Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	if connector.IsNil() {
		connector = reflect.New(connector.Type().Elem())
	}
	config := connector.Elem().FieldByName("ConnConfig")
	if !config.IsValid() || config.Kind() != reflect.Struct || !config.CanSet() {
		return reflect.Value{}
	}
	f := config.FieldByName("LookupFunc")
	if !f.IsValid() || !f.CanSet() || !reflect.TypeFor[func(context.Context, string) ([]string, error)]().ConvertibleTo(f.Type()) {
		return reflect.Value{}
	}
	return f
}
