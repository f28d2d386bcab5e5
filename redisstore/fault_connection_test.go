package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
)

func TestKilledConnectionsLoseNoJobAndRunNoneTwice(t *testing.T) {
	server := testserver.Redis(t)
	p := newPlant(t, server, server.URL(), longLock)
	p.fill(faultJobs / 2)
	p.work(20, 2*time.Millisecond)
	produced := p.produce(faultJobs/2, faultJobs)
	for kills := 0; kills < 10 && p.runs() < faultJobs*3/4; kills++ {
		p.do("CLIENT", "KILL", "TYPE", "normal")
		before := p.runs()
		p.await("jobs run after the kill", func() bool { return p.runs() > before+20 || p.runs() > faultJobs*3/4 })
	}
	produced()
	p.finish(faultJobs)
}

func TestAKilledSubscriptionIsMadeAgainAndMissesNothing(t *testing.T) {
	server := testserver.Redis(t)
	p := newPlant(t, server, server.URL(), longLock)
	ctx, cancel := context.WithTimeout(t.Context(), faultWait)
	defer cancel()
	const rounds = 6
	for n := range rounds {
		claimed, err := p.store.Claim(ctx, 0, driver.ClaimRequest{
			Queue: faultQueue, Worker: "worker", Token: "token", Limit: 1, LockDuration: driver.MillisOf(longLock),
		})
		if err != nil {
			t.Fatal(err)
		}
		woken := make(chan error, 1)
		go func() { woken <- p.store.AwaitWake(ctx, []string{faultQueue}, claimed.Cursor) }()
		if n%2 == 0 { // while it waits, as well as about when it begins to
			p.await("somebody listens", func() bool { return subscriptions(p) > 0 })
		}
		p.do("CLIENT", "KILL", "TYPE", "pubsub")
		p.produce(n, n+1)()
		if err := <-woken; err != nil {
			t.Fatalf("round %d: the waiter was not woken: %v", n, err)
		}
	}
	p.work(10, 0)
	p.finish(rounds)
}

// subscriptions returns how many connections listen.
func subscriptions(p *plant) int {
	list, err := p.server.Do("CLIENT", "LIST", "TYPE", "pubsub")
	if err != nil {
		p.Fatal(err)
	}
	return strings.Count(list, "cmd=")
}

func TestAConnectionThatNeverAnswersIsGivenUp(t *testing.T) {
	for name, mode := range map[string]testserver.ProxyMode{
		"nothing arrives":   testserver.Stall,
		"no answer arrives": testserver.StallReplies,
	} {
		t.Run(name, func(t *testing.T) {
			server := testserver.Redis(t)
			proxy := testserver.NewProxy(t, server.Addr())
			// What was held back may claim jobs for calls that were given up: such a job
			// runs when its lock has run out.
			p := newPlant(t, server, "redis://"+proxy.Addr()+"?read_timeout=500ms&write_timeout=500ms&dial_timeout=500ms", 4*time.Second)
			p.recoverStalled()
			p.fill(faultJobs / 2)
			p.work(20, 2*time.Millisecond)
			produced := p.produce(faultJobs/2, faultJobs)
			p.await("a quarter of the jobs has run", func() bool { return p.runs() > faultJobs/4 })
			p.outage(2500*time.Millisecond,
				func() error { proxy.Set(mode); return nil },
				func() error { proxy.Set(testserver.Pass); return nil })
			produced()
			p.finish(faultJobs)
		})
	}
}
