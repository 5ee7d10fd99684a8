// Package dialect looks into the configuration of GORM's dialectors, which all
// drivers keep alike and none gives away.
package dialect

import (
	"reflect"

	"gorm.io/gorm"
)

// HasOwnPool reports whether the application gave the dialector a pool of its
// own, in a field Conn of its configuration, as GORM's dialectors call it.
func HasOwnPool(d gorm.Dialector) bool {
	c := Field(d, "Conn")
	return c.IsValid() && c.Kind() == reflect.Interface && !c.IsNil()
}

// Field returns a field of a dialector's configuration, the zero Value where it
// has none of that name.
func Field(d gorm.Dialector, name string) reflect.Value {
	for {
		w, ok := d.(interface{ Unwrap() gorm.Dialector })
		if !ok {
			break
		}
		d = w.Unwrap()
	}
	v := reflect.Indirect(reflect.ValueOf(d))
	if v.Kind() == reflect.Struct {
		if c := v.FieldByName("Config"); c.IsValid() {
			v = reflect.Indirect(c)
		}
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}
