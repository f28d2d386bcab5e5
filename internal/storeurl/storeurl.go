// Package storeurl opens a store by its URL. It is the one place that knows every
// store that the program braid links.
package storeurl

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
	"github.com/braidmq/braid/pgstore"
	"github.com/braidmq/braid/redisstore"
)

// Form describes one kind of URL.
type Form struct {
	Scheme  string // what stands before the colon
	Example string
	About   string
}

// Forms returns the kinds of URL that Open takes.
func Forms() []Form {
	return []Form{
		{Scheme: "memory", Example: "memory:", About: "in this process; gone when it ends"},
		{Scheme: "sqlite", Example: "sqlite:PATH", About: "in a SQLite file, which processes of one machine may share"},
		{Scheme: "postgres", Example: "postgres://user:password@localhost:5432/database?schema=public",
			About: "a Postgres database, with libpq's parameters; made ready by braid migrate up"},
		{Scheme: "redis", Example: "redis://localhost:6379/0?prefix=braid", About: "a Redis or Valkey server; rediss: with TLS, unix: by socket"},
	}
}

// Open opens the store that a URL names, the [Default] one if it is empty; the caller
// closes it. A URL that Open does not know is a [*driver.InvalidError] that lists those
// it knows. Errors never show the URL's password.
func Open(ctx context.Context, raw string) (driver.Store, error) {
	return OpenLogged(ctx, raw, slog.Default())
}

// OpenQuiet is [Open] for commands that only look or operate: it logs no warnings about
// the settings of a server, which concern those who run it.
func OpenQuiet(ctx context.Context, raw string) (driver.Store, error) {
	return OpenLogged(ctx, raw, slog.New(slog.DiscardHandler))
}

// OpenLogged is [Open] for programs with a logger of their own: the store logs to it.
func OpenLogged(ctx context.Context, raw string, logger *slog.Logger) (driver.Store, error) {
	if raw == "" {
		standard, err := Default()
		if err != nil {
			return nil, err
		}
		raw = standard
	}
	scheme, rest, found := strings.Cut(raw, ":")
	if !found {
		return nil, refuse(raw, "has no scheme; use "+known())
	}
	switch strings.ToLower(scheme) {
	case "memory":
		if rest != "" {
			return nil, refuse(raw, "a memory store has no address; use memory:")
		}
		return memstore.New(), nil
	case "sqlite":
		path, err := sqlitePath(raw, rest)
		if err != nil {
			return nil, err
		}
		return openSQLite(raw, path, logger)
	case "postgres", "postgresql":
		if err := checkServer(raw); err != nil {
			return nil, err
		}
		store, err := pgstore.Open(ctx, strings.ToLower(scheme)+":"+rest, pgstore.WithLogger(logger))
		if err != nil {
			return nil, err
		}
		return store, nil
	case "redis", "rediss", "unix":
		if err := checkServer(raw); err != nil {
			return nil, err
		}
		redis.SetLogger(redisLog{logger})
		store, err := redisstore.Open(ctx, strings.ToLower(scheme)+":"+rest, redisstore.WithLogger(logger))
		var invalid *driver.InvalidError
		if errors.As(err, &invalid) && invalid.Field == "store url" {
			return nil, refuse(raw, invalid.Reason) // hides more of the URL than the store does
		}
		if err != nil {
			return nil, err
		}
		return store, nil
	default:
		return nil, refuse(raw, "has an unknown scheme; use "+known())
	}
}

// hidden stands where something secret may have been.
const hidden = "xxxxx"

// Redact returns the URL without what may be secret: the password, and every
// parameter whose name speaks of one. What is not a URL, or one with an @ where none
// belongs, such as behind a / in the password, is cut to its scheme.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		scheme, _, found := strings.Cut(raw, ":")
		if !found {
			return hidden
		}
		return cut(scheme)
	}
	switch {
	case u.Scheme == "":
		if strings.ContainsAny(raw, "@= ") { // a URL with a slip, or words such as password=…
			return hidden
		}
		return raw
	case u.Scheme == "sqlite" && u.User == nil: // a path, which may have anything in it
		return raw
	case astray(u):
		return cut(u.Scheme)
	}
	parameters := strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' })
	for i, parameter := range parameters {
		name, _, _ := strings.Cut(parameter, "=")
		if secret(name) {
			parameters[i] = name + "=" + hidden
		}
	}
	u.RawQuery = strings.Join(parameters, "&")
	return u.Redacted()
}

// astray reports whether there is something where none belongs: words behind a scheme, or
// an @, in front of which most of a password may be.
func astray(u *url.URL) bool {
	return u.Opaque != "" || strings.Contains(u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@")
}

// checkServer refuses the URL of a server whose password is not in its place: what is
// taken for the name of a database, say, is shown in errors and logs.
func checkServer(raw string) error {
	if u, err := url.Parse(raw); err == nil && astray(u) {
		return refuse(raw, "has something else than //host behind its scheme, or an @ behind its host; use "+strings.ToLower(u.Scheme)+"://user:password@host/…, with %2F, %3F, %23 and %40 for / ? # and @ of the password")
	}
	return nil
}

// cut is what is shown of a URL that is wrong beyond its scheme.
func cut(scheme string) string {
	if strings.ContainsAny(scheme, "@/?= ") {
		return hidden
	}
	return scheme + ":" + hidden
}

// secret reports whether a parameter of that name may hold a secret.
func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"pass", "pwd", "secret", "token", "key"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

func refuse(raw, reason string) error {
	return &driver.InvalidError{Field: "store", Value: Redact(raw), Reason: reason}
}

// known lists the examples, as an error message names them.
func known() string {
	var examples []string
	for _, form := range Forms() {
		examples = append(examples, form.Example)
	}
	if len(examples) == 1 {
		return examples[0]
	}
	last := len(examples) - 1
	return strings.Join(examples[:last], ", ") + " or " + examples[last]
}
