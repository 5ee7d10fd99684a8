package around

import "gorm.io/gorm"

func NewOrders(tx *gorm.DB) Orders

type Orders struct{}

func (Orders) OfUser(id int64) *gorm.DB

func NewAccounts(tx *gorm.DB) Accounts

type Accounts struct{}

func (Accounts) Balance(id int64) *gorm.DB
