package readsplit

import (
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// reloads reports whether a query reads a row again that the destination holds
// already: it has a primary key, by which GORM looks for it, and something else
// beside. Whoever does that is about to change the row by what they see; from a
// replica they would overwrite what was written since. A destination that has
// nothing but its key is an ordinary way to look a row up.
func reloads(stmt *gorm.Statement) bool {
	s, v := stmt.Schema, stmt.ReflectValue
	if s == nil || s.PrioritizedPrimaryField == nil || v.Kind() != reflect.Struct || v.Type() != s.ModelType || stmt.SQL.Len() > 0 {
		return false
	}
	if v.IsZero() || isZero(s.PrioritizedPrimaryField, v) { // most are all empty, which is quicker to see
		return false
	}
	for _, f := range s.Fields {
		if f.DBName != "" && !f.PrimaryKey && !isZero(f, v) {
			return true
		}
	}
	return false
}

// isZero reports whether a field of a model has its zero value. It changes
// nothing: schema.Field makes what an embedded pointer points to.
func isZero(f *schema.Field, v reflect.Value) bool {
	for i, index := range f.StructField.Index {
		if index < 0 {
			index = -index - 1 // of a pointer to an embedded struct
		}
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return true
			}
			v = v.Elem()
		}
		v = v.Field(index)
	}
	return v.IsZero()
}
