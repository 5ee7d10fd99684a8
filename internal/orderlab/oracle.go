package orderlab

import (
	"sync"
	"time"
)

// oracle knows which orders a customer must find in a list: those whose commit
// was acknowledged before the list was asked for. It learns of an order only when
// the call that placed it has returned, so that it never demands one too early.
type oracle struct {
	customers []placed // by customer
	lost      int      // set by keep
}

// placed are the orders of one customer.
type placed struct {
	mu sync.Mutex
	// acknowledged only grows, so that a part of it from the front stays what it
	// was when it was taken.
	acknowledged []receipt
	missing      map[int64]struct{}
}

// receipt is an order whose commit was acknowledged.
type receipt struct {
	id     int64
	number int       // in the workload
	at     time.Time // when the acknowledgement was there
}

func newOracle(customers int) *oracle { return &oracle{customers: make([]placed, customers+1)} }

// acknowledge says that the commit of an order was acknowledged.
func (o *oracle) acknowledge(customer, order int64, number int) {
	p := &o.customers[customer]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acknowledged = append(p.acknowledged, receipt{id: order, number: number, at: time.Now()})
}

// due returns the orders that a list must show which is asked for from now on.
func (o *oracle) due(customer int64) []receipt {
	p := &o.customers[customer]
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acknowledged[:len(p.acknowledged):len(p.acknowledged)]
}

// judge returns the orders that were due and are missing in the list, and
// remembers them. An order that a full page has no room for any more is not
// missing.
func (o *oracle) judge(customer int64, due []receipt, list List) (missing []receipt) {
	if len(due) == 0 {
		return nil
	}
	shown := make(map[int64]struct{}, len(list.IDs))
	for _, id := range list.IDs {
		shown[id] = struct{}{}
	}
	oldest := int64(0) // everything newer than this must be there
	if list.Full {
		oldest = list.IDs[len(list.IDs)-1]
	}
	for _, order := range due {
		if _, ok := shown[order.id]; !ok && order.id >= oldest {
			missing = append(missing, order)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	p := &o.customers[customer]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missing == nil {
		p.missing = make(map[int64]struct{})
	}
	for _, order := range missing {
		p.missing[order.id] = struct{}{}
	}
	return missing
}

// missed returns how many orders were missing in at least one list.
func (o *oracle) missed() (orders int) {
	for i := range o.customers {
		p := &o.customers[i]
		p.mu.Lock()
		orders += len(p.missing)
		p.mu.Unlock()
	}
	return orders
}

// keep forgets the orders that did not survive, and returns how many these are. What is
// no longer there cannot be missing; that it was lost is for the servers to answer for.
func (o *oracle) keep(survived func(order int64) bool) (lost int) {
	for i := range o.customers {
		p := &o.customers[i]
		p.mu.Lock()
		var kept []receipt
		for _, r := range p.acknowledged {
			if survived(r.id) {
				kept = append(kept, r)
			} else {
				lost++
			}
		}
		p.acknowledged = kept // a new slice: lists under way have a part of the old one
		p.mu.Unlock()
	}
	o.lost += lost
	return lost
}
