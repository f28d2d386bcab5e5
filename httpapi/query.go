package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// query are the parameters of a request.
type query struct{ values url.Values }

// parseQuery reads the query of a request, and refuses parameters that the endpoint
// does not have, so that a mistyped filter never selects everything.
func parseQuery(raw string, e *endpoint) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, invalid("", "the query cannot be read: %v", err)
	}
	for name, all := range values {
		p, key := findParam(name, e)
		switch {
		case p == nil:
			return query{}, invalid(clip(name), "is not a parameter of this request; see %sopenapi.json", Prefix)
		case p.kind == mapParam && key == "":
			return query{}, invalid(clip(name), "needs a key: write %s[key]=value", p.name)
		case p.kind != listParam && len(all) > 1:
			return query{}, invalid(clip(name), "is given twice")
		}
		for _, value := range all {
			if !utf8.ValidString(value) {
				return query{}, invalid(clip(name), "is not valid UTF-8")
			}
			if p.values == nil || value == "" {
				continue
			}
			for part := range strings.SplitSeq(value, ",") {
				if !slices.Contains(p.values, part) {
					return query{}, invalid(p.name, "cannot be %q; use %s", clip(part), strings.Join(p.values, ", "))
				}
			}
		}
	}
	return query{values}, nil
}

// findParam finds the parameter of that name, and the key of one that is a map.
func findParam(name string, e *endpoint) (*param, string) {
	base, key, isMap := strings.Cut(name, "[")
	if isMap {
		key = strings.TrimSuffix(key, "]")
	}
	for i := range e.query {
		if p := &e.query[i]; p.name == name || isMap && p.kind == mapParam && p.name == base && strings.HasSuffix(name, "]") {
			return p, key
		}
	}
	if name == storeParam.name {
		return &storeParam, ""
	}
	return nil, ""
}

func (q query) text(name string) string { return q.values.Get(name) }

// list returns all values of a repeated parameter; nil if there are none.
func (q query) list(name string) []string {
	var all []string
	for _, value := range q.values[name] {
		if value != "" {
			all = append(all, strings.Split(value, ",")...)
		}
	}
	return all
}

// number returns a whole number from least to most, or def if it is not there.
func (q query) number(name string, def, least, most int) (int, error) {
	text := q.text(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, invalid(name, "cannot be %q; use a number from %d to %d", clip(text), least, most)
	}
	return n, nil
}

// time returns a time in RFC 3339; zero if it is not there.
func (q query) time(name string) (time.Time, error) {
	text := q.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, invalid(name, "cannot be %q; use a time such as 2026-01-31T09:00:00Z", clip(text))
	}
	return t, nil
}

// fields returns a map parameter; nil if it is not there.
func (q query) fields(name string) map[string]string {
	var fields map[string]string
	for full, values := range q.values {
		if key, ok := strings.CutPrefix(full, name+"["); ok && strings.HasSuffix(key, "]") {
			if fields == nil {
				fields = make(map[string]string)
			}
			fields[strings.TrimSuffix(key, "]")] = values[0]
		}
	}
	return fields
}

// clip shortens what the caller sent, for a message.
func clip(text string) string {
	const most = 64
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
