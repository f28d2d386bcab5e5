package server

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/braidmq/braid/dashboard"
	"github.com/braidmq/braid/httpapi"
)

// Tokens are what callers prove themselves with, and what each may do.
type Tokens struct {
	entries []tokenEntry
}

// tokenEntry keeps a token's hash, so that comparing takes the same time whatever was
// sent.
type tokenEntry struct {
	hash  [sha256.Size]byte
	roles httpapi.Roles
}

// shortestToken is how many bytes a token has at least.
const shortestToken = 16

// ReadTokens reads a token file: a token and its roles per line, such as
//
//	3vqZ0yTqYwXJpB1m read,operate
//
// Empty lines, and those that begin with #, are skipped.
func ReadTokens(path string) (*Tokens, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("braid: token file: %w", err)
	}
	defer file.Close()
	tokens, err := parseTokens(file)
	if err != nil {
		return nil, fmt.Errorf("braid: token file %s: %w", path, err)
	}
	return tokens, nil
}

// parseTokens never tells a token in its errors.
func parseTokens(from io.Reader) (*Tokens, error) {
	tokens := &Tokens{}
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d is not a token and its roles: write them with a space between, the roles separated by commas", number)
		}
		if len(fields[0]) < shortestToken {
			return nil, fmt.Errorf("the token of line %d is too short: use at least %d characters, drawn at random", number, shortestToken)
		}
		if !utf8.ValidString(fields[0]) {
			return nil, fmt.Errorf("the token of line %d is not valid UTF-8, so that not every client could send it: draw another", number)
		}
		roles, err := httpapi.ParseRoles(fields[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		entry := tokenEntry{hash: sha256.Sum256([]byte(fields[0])), roles: roles}
		for _, other := range tokens.entries {
			if other.hash == entry.hash {
				return nil, fmt.Errorf("the token of line %d is there twice: name all of its roles in one line", number)
			}
		}
		tokens.entries = append(tokens.entries, entry)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(tokens.entries) == 0 {
		return nil, fmt.Errorf("there is no token in it: write a line such as %q", "<token> read,operate")
	}
	return tokens, nil
}

// Roles returns what the request's token allows. It is sent as Authorization: Bearer,
// as the password of Basic, or, for requests that change nothing, in the cookie of the
// dashboard.
func (t *Tokens) Roles(r *http.Request) (httpapi.Roles, bool) {
	token, sent := bearer(r)
	if !sent {
		_, token, sent = r.BasicAuth()
	}
	if !sent && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		token, sent = dashboard.TokenOf(r)
	}
	if !sent {
		return httpapi.NoRoles, false
	}
	return t.of(token)
}

// of returns what a token allows, and whether it is one of these.
func (t *Tokens) of(token string) (httpapi.Roles, bool) {
	hash := sha256.Sum256([]byte(token))
	roles, known := httpapi.NoRoles, false
	for _, entry := range t.entries {
		if subtle.ConstantTimeCompare(hash[:], entry.hash[:]) == 1 {
			roles, known = entry.roles, true
		}
	}
	return roles, known
}

func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}
