package redisstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid/internal/testserver"
)

func TestAServerThatGoesAwayAndComesBackWithItsDataLosesNoJob(t *testing.T) {
	for name, end := range map[string]func(*testserver.RedisServer) error{
		"shut down": (*testserver.RedisServer).Stop,
		"crashed":   (*testserver.RedisServer).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			server := testserver.Redis(t, testserver.AppendOnly())
			p := newPlant(t, server, server.URL(), longLock)
			p.fill(faultJobs / 2)
			p.work(20, 2*time.Millisecond)
			produced := p.produce(faultJobs/2, faultJobs)
			p.await("a quarter of the jobs has run", func() bool { return p.runs() > faultJobs/4 })
			p.outage(1500*time.Millisecond, func() error { return end(server) }, server.Start)
			produced()
			p.finish(faultJobs)
		})
	}
}

func TestAServerThatForgetsItsScriptsGetsThemAgain(t *testing.T) {
	server := testserver.Redis(t)
	p := newPlant(t, server, server.URL(), longLock)
	p.fill(faultJobs / 2)
	p.work(20, 2*time.Millisecond)
	produced := p.produce(faultJobs/2, faultJobs)
	for p.runs() < faultJobs*3/4 {
		p.do("SCRIPT", "FLUSH")
		before := p.runs()
		p.await("jobs run after the flush", func() bool { return p.runs() > before || before == faultJobs })
	}
	produced()
	p.finish(faultJobs)
}

func TestAServerWithoutMemoryRefusesAndLosesNothing(t *testing.T) {
	server := testserver.Redis(t)
	p := newPlant(t, server, server.URL(), longLock)
	p.fill(faultJobs / 2)
	p.work(20, 2*time.Millisecond)
	produced := p.produce(faultJobs/2, faultJobs)
	p.await("a quarter of the jobs has run", func() bool { return p.runs() > faultJobs/4 })
	limit := func(memory string) func() error {
		return func() error { _, err := server.Do("CONFIG", "SET", "maxmemory", memory); return err }
	}
	p.outage(1500*time.Millisecond, func() error {
		err := limit("1mb")()
		p.refusal("OOM")
		return err
	}, limit("0"))
	produced()
	p.finish(faultJobs)
}

func TestAFailoverLosesNoJobAndReplicasRefuse(t *testing.T) {
	primary := testserver.Redis(t)
	replica := testserver.Redis(t, testserver.ReplicaOf(primary))
	address := testserver.NewProxy(t, primary.Addr())
	p := newPlant(t, primary, "redis://"+address.Addr(), longLock)
	p.await("the replica is in step", func() bool {
		info, err := primary.Info("replication")
		return err == nil && strings.Contains(info["slave0"], "state=online")
	})
	p.fill(faultJobs / 2)
	p.work(20, 2*time.Millisecond)
	produced := p.produce(faultJobs/2, faultJobs)
	p.await("a quarter of the jobs has run", func() bool { return p.runs() > faultJobs/4 })
	p.outage(1500*time.Millisecond, func() error {
		_, err := primary.Do("FAILOVER") // in step, so that the new primary has everything
		p.await("the roles have changed", func() bool {
			was, err1 := primary.Info("replication")
			is, err2 := replica.Info("replication")
			return errors.Join(err1, err2) == nil && was["role"] == "slave" && is["role"] == "master"
		})
		p.refusal("READONLY")
		return err
	}, func() error {
		address.Retarget(replica.Addr())
		return nil
	})
	produced()
	p.finish(faultJobs)
}
