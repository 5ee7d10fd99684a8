package main

import (
	"context"
	"errors"
	"syscall"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
)

var downAtStart = behaviour{
	name:  "down_at_start",
	title: "One of two replicas is down at start",
	story: "A deployment happens while a replica is being maintained. dbresolver opens each replica in `db.Use`, and returns the error of the first that it cannot reach: the application does not start. " +
		"One that goes on all the same reads from the primary for ever, and leaves alone the replica that was well.",
	ours: "A server that is down is no error of the configuration. The replica joins when it comes up.",
	held: []test{{"fault_replica_test.go", "TestFaultReplicaDownAtStart"}, {"trap_plugin_test.go", "TestT10ReplicasAreOpenedApart"}},
	show: showDownAtStart,
}

func showDownAtStart(ctx context.Context, s *stage.Stage, _ size) (pair, error) {
	if err := s.Prepare(ctx, orders); err != nil {
		return pair{}, err
	}
	down := s.Cluster.Replica(1)
	undo, err := down.Stop(ctx)
	if err != nil {
		return pair{}, err
	}
	naive, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return pair{}, err
	}
	failed := s.UseDBResolver(naive, s.Cluster.Replicas()...)

	routed, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return pair{}, err
	}
	cfg := readsplit.Config{}
	for _, r := range s.Cluster.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: s.Dialector(r)})
	}
	plugin := readsplit.New(cfg)
	s.OnEnd(plugin.Close)
	failedToo := routed.Use(plugin)
	if err := errors.Join(undo(), s.Cluster.WaitCaughtUp(ctx)); err != nil {
		return pair{}, err
	}

	served := func(db *gorm.DB) (server string, err error) {
		err = db.WithContext(stage.Customer(ctx)).Raw("SELECT current_setting('cluster_name')").Scan(&server).Error
		return server, err
	}
	away := tally{}
	for range 20 {
		server, err := served(naive)
		if err != nil {
			return pair{}, err
		}
		away.add(server == s.Cluster.Primary().Name(), nil)
	}
	joined := failedToo == nil && stage.Eventually(ctx, "the replica serves", func() bool {
		server, err := served(routed)
		return err == nil && server == down.Name()
	}) == nil
	p := pair{
		cell{"`db.Use` fails; when it is back, " + away.cell("on the primary", true).says, errors.Is(failed, syscall.ECONNREFUSED) && away.all()},
		cell{"starts; when it is back, it serves", joined},
	}
	if !p.dbresolver.holds {
		p.dbresolver.says = "starts"
	}
	if !joined {
		p.readsplit.says = "does not join"
	}
	return p, nil
}
