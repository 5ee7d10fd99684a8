package frameworks

import (
	"context"
	"errors"

	"gorm.io/gorm"
)

// Shop is the application. It is written without a thought of replicas; whoever calls
// it gives it the context of the request.
type Shop struct{ DB *gorm.DB }

// ErrSoldOut is what Order returns for what is sold out.
var ErrSoldOut = errors.New("sold out")

// Order places an order. What is sold out is noted, and an error.
func (s *Shop) Order(ctx context.Context, title string) error {
	if err := s.DB.WithContext(ctx).Exec("INSERT INTO orders (title) VALUES (?)", title).Error; err != nil {
		return err
	}
	switch title {
	case "sold out":
		return ErrSoldOut
	case "a bug":
		panic("a bug")
	}
	return nil
}

// Orders says how many orders a server has, and which.
func (s *Shop) Orders(ctx context.Context) (found string, err error) {
	err = s.DB.WithContext(ctx).Raw("SELECT count(*) || ' on ' || current_setting('cluster_name') FROM orders").Scan(&found).Error
	return found, err
}
