// Package dashboard shows jobs, queues, schedules, flows and workers in a browser, and
// lets people act on them. It is a plain [net/http.Handler] over a *braid.Client: mount
// it in a program of your own, or let braid server serve it.
//
//	mux.Handle("/braid/", dashboard.New(client, dashboard.WithBase("/braid")))
//
// Without [WithAuthorizer] or [WithLogin] everybody who reaches the handler may do
// everything, so put it behind whatever guards your other pages for the staff.
//
// Pages are rendered on the server and work without script, but for live updates. All
// that a producer chose is shown as text. What changes something is a POST, and those
// that another site's page sends are refused.
package dashboard
