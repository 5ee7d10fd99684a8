package around

import "gorm.io/gorm"

type Accounts struct{ db *gorm.DB }
