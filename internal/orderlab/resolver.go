package orderlab

import (
	"errors"
	"io"

	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"
)

// CloseResolver closes the pools of dbresolver, which has no Close: they have to be taken
// from it one by one.
func CloseResolver(r *dbresolver.DBResolver) error {
	var errs []error
	err := r.Call(func(pool gorm.ConnPool) error {
		if c, ok := pool.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}
