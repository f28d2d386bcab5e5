package httpapi

import (
	_ "embed"
	"net/http"
)

// Info tells who answers.
type Info struct {
	Version string `json:"version" doc:"Of the server; empty if it does not say."`
	Now     Time   `json:"now" doc:"The time of the store."`
	Store   string `json:"store" doc:"The name of the store of this request."`
	// Kind and Location say where the store keeps its data, without secrets.
	Kind     string   `json:"kind"`
	Location string   `json:"location"`
	Format   int      `json:"format" doc:"The version of the stored format."`
	Stores   []string `json:"stores" doc:"The names of all stores."`
	Roles    string   `json:"roles" doc:"What the caller may do."`
}

//go:embed openapi.json
var document []byte

func infoEndpoints() []*endpoint {
	return []*endpoint{
		{method: get, path: "info", role: NoRoles, tag: "info", summary: "Tell who answers, and what the caller may do", reply: Info{}, serve: info},
		{method: get, path: "openapi.json", role: NoRoles, tag: "info", summary: "This document", serve: func(c *call) (any, error) {
			c.answered = true
			c.w.Header().Set("Content-Type", "application/json")
			c.w.WriteHeader(http.StatusOK)
			_, _ = c.w.Write(document) // the caller may have gone
			return nil, nil
		}},
		{method: get, path: "events", role: RoleRead, tag: "info", summary: "Stream what changes, as server-sent events",
			reply: nil, serve: streamEvents},
	}
}

func info(c *call) (any, error) {
	roles, known := c.h.authorize(c.r)
	if !known {
		return nil, &Error{Status: http.StatusUnauthorized, Code: CodeUnauthorized, Message: "this needs a token: Authorization: Bearer …"}
	}
	now, err := c.client.Now()
	if err != nil {
		return nil, err
	}
	store, err := c.client.StoreInfo()
	if err != nil {
		return nil, err
	}
	return Info{
		Version: c.h.version, Now: timeOf(now), Store: c.client.StoreName(), Stores: c.client.Stores(), Roles: roles.String(),
		Kind: store.Kind, Location: store.Location, Format: store.Format,
	}, nil
}
