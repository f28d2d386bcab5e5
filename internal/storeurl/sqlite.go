package storeurl

import "strings"

// sqlitePath returns the path of a URL such as sqlite:jobs.db, sqlite:/var/jobs.db or
// sqlite:///var/jobs.db. Nothing in it is decoded.
func sqlitePath(raw, rest string) (string, error) {
	if after, slashes := strings.CutPrefix(rest, "//"); slashes {
		if !strings.HasPrefix(after, "/") {
			return "", refuse(raw, "names a host; use sqlite:PATH, such as sqlite:jobs.db")
		}
		rest = after
	}
	if rest == "" {
		return "", refuse(raw, "names no file; use sqlite:PATH, such as sqlite:jobs.db")
	}
	return rest, nil
}
