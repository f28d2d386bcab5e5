// Package drivertest is the conformance suite of Braid's stores: what a
// [driver.Store] must do, as cases that run against any store.
//
// A store runs it from a test of its own:
//
//	func TestConformance(t *testing.T) {
//		drivertest.Run(t, drivertest.Harness{
//			Open: func(t drivertest.TB, o drivertest.StoreOptions) driver.Store {
//				s := mystore.New(…)
//				t.Cleanup(func() { s.Close() })
//				return s
//			},
//		})
//	}
//
// Every case runs as a subtest in a fresh store, carries the rule that it checks,
// and prints it when it fails. Time is made up: cases pass 0, 1000, … as now, to
// real servers too. A case runs unless it needs something that the harness
// declares the store not to have; nothing is skipped otherwise.
package drivertest
