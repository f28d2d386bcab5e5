// Package httpapi serves a [braid.Client] over HTTP, in JSON: to look at jobs, queues,
// schedules and flows and act on them, to enqueue, and to work on jobs in any language.
//
//	http.Handle("/api/", httpapi.New(client))
//
// Every path begins with /api/v1/. The document of the API, in the OpenAPI 3.1 format,
// is served at /api/v1/openapi.json; docs/http-api.md tells it with examples.
//
// By default, who reaches the handler may do everything: mount it where only those can
// reach it, or give it [WithAuthorizer]. Requests of other sites' pages are refused in any case.
package httpapi
