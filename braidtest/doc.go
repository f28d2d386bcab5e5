// Package braidtest helps to test programs that use Braid: it tells what was enqueued,
// with its types, runs single jobs, and runs jobs with their delays, retries, schedules
// and flows on a clock that stands still until everything has been done.
//
//	func TestSignUp(t *testing.T) {
//		braidtest.Run(t, func(t *braidtest.T) {
//			t.Work(func(w *braid.Worker) { shop.Register(w) })
//
//			shop.SignUp(t.Context(), t.Client, "ada@example.com")
//
//			mail := braidtest.RequireOne(t, shop.SendMail)
//			if mail.Payload.To != "ada@example.com" {
//				t.Errorf("a mail to %s", mail.Payload.To)
//			}
//			t.Drain()                 // runs it, and what it enqueues, with all retries
//			t.Advance(24 * time.Hour) // and whatever falls due until tomorrow
//		})
//	}
//
// # The clock
//
// [Run] runs a test in a bubble of [testing/synctest]: time.Now, timers and contexts of
// all that the test starts follow a fake clock, which begins at midnight UTC of
// 2000-01-01 (see [StartAt]) and leaps ahead when nothing is left to do before the next
// timer. So hours of backoff take no time, and nothing is left to chance. What lives
// outside of the bubble, such as a pool of database connections that was opened before,
// must not be used in it, and what listens on the network has to stand behind an
// interface that the test replaces.
//
// [New] needs no bubble, and so no such care: it runs jobs against databases and servers
// on the real clock. There, delayed jobs stay until the test promotes them.
//
// # What Braid itself does
//
// Jobs run in a worker as in production, on a store in memory, so payloads and results
// are encoded, options are checked, and timeouts, panics and cancels do what they always
// do. What is random in production stays so: the jitter of [braid.Backoff], and the order
// of jobs that run beside each other. A schedule fires within a second of its slot.
package braidtest
