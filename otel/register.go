package otel

import (
	"errors"
	"fmt"

	"github.com/readsplit/readsplit"
)

// Register has what x counts, and what p knows, collected by the readers of the
// MeterProvider, each time that they collect, until [Observer.Unregister]. p is the
// plugin that x is among the Observers of; it may be registered before db.Use.
//
// An Observer is for one plugin at a time: it is an error while it has one.
func (x *Observer) Register(p *readsplit.Plugin) error {
	if p == nil {
		return errors.New("readsplit: otel: Register was called without a plugin: give it what readsplit.New returned")
	}
	x.registering.Lock()
	defer x.registering.Unlock()
	if x.plugin.Load() != nil {
		return errors.New("readsplit: otel: this Observer has a plugin already: make one for each with otel.New, told apart by Options.Attributes, or Unregister it first")
	}
	x.plugin.Store(p)
	collecting, err := x.meter.RegisterCallback(x.collect, x.in.observed...)
	if err != nil {
		x.plugin.Store(nil)
		return fmt.Errorf("readsplit: otel: %w", err)
	}
	x.collecting = collecting
	x.over.Store(false)
	return nil
}

// Unregister takes back what Register did: nothing of the plugin is collected or kept
// alive any more, and what x hears of from then on is neither counted nor put on a
// span. The counts are forgotten. Two histograms stay as they are for as long as the
// MeterProvider, which nobody can take them from: readsplit.decision.wait and
// readsplit.capture.duration.
//
// It may be called without Register, and more than once.
func (x *Observer) Unregister() error {
	x.registering.Lock()
	defer x.registering.Unlock()
	x.over.Store(true)
	collecting := x.collecting
	x.collecting = nil
	x.plugin.Store(nil)
	var err error
	if collecting != nil {
		if err = collecting.Unregister(); err != nil {
			err = fmt.Errorf("readsplit: otel: %w", err)
		}
	}
	x.collection.Lock()
	defer x.collection.Unlock()
	x.shares, x.deaf = shares{}, 0
	x.heard.Store(false)
	x.statements.clear()
	x.transactions.clear()
	x.retries.clear()
	x.tokens.clear()
	return err
}
