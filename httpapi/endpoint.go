package httpapi

import "net/http"

// endpoint is one operation of the API: how it is reached, and, for the document, what
// it takes and gives.
type endpoint struct {
	method  string
	path    string
	role    Roles
	tag     string
	summary string
	query   []param
	body    any  // a value of the request's type; nil: none
	reply   any  // a value of the reply's type; nil: not JSON
	heavy   bool // its reply may hold many jobs, or large ones: it takes its turn
	serve   func(*call) (any, error)
}

// param is a parameter of the query.
type param struct {
	name        string
	kind        paramKind
	description string
	values      []string // all that are allowed; nil: any
}

type paramKind string

const (
	textParam paramKind = "string"
	listParam paramKind = "array" // repeated, or separated by commas
	numParam  paramKind = "integer"
	mapParam  paramKind = "object" // name[key]=value
)

var storeParam = param{"store", textParam, "The name of the store; without it, the default one.", nil}

// endpoints are all operations.
var endpoints = func() []*endpoint {
	var all []*endpoint
	for _, group := range [][]*endpoint{
		infoEndpoints(), jobEndpoints(), operateEndpoints(), queueEndpoints(), scheduleEndpoints(), flowEndpoints(), workEndpoints(),
		workerEndpoints(), statsEndpoints(),
	} {
		all = append(all, group...)
	}
	for _, e := range all {
		e.path = Prefix + e.path
	}
	return all
}()

// withBody is an endpoint's function that takes a JSON body of type T.
func withBody[T any](serve func(*call, *T) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		body := new(T)
		if err := c.decode(body); err != nil {
			return nil, err
		}
		return serve(c, body)
	}
}

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	remove = http.MethodDelete
)
