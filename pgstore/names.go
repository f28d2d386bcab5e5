package pgstore

import (
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
)

// defaultPrefix is what the names of all tables, indexes and sequences begin with.
const defaultPrefix = "braid_"

// names says where the tables are.
type names struct {
	schema string
	prefix string
}

// placeholder is how SQL files name what depends on the schema and the prefix: @jobs is
// a table or sequence, @'jobs' is the same as a string, #jobs_waiting is an index, which
// cannot be qualified where it is made.
var placeholder = regexp.MustCompile(`@'([a-z_]+)'|@([a-z_]+)|#([a-z_]+)`)

// render puts the names in the place of placeholders.
func (n names) render(sql string) string {
	return placeholder.ReplaceAllStringFunc(sql, func(found string) string {
		switch {
		case strings.HasPrefix(found, "@'"):
			return quoteText(n.table(strings.Trim(found, "@'")))
		case strings.HasPrefix(found, "@"):
			return n.table(found[1:])
		default:
			return quoteName(n.prefix + found[1:])
		}
	})
}

// table returns the qualified name of a table or sequence.
func (n names) table(name string) string {
	return quoteName(n.schema) + "." + quoteName(n.prefix+name)
}

// channel is the name of the NOTIFY channel, at most 63 bytes.
func (n names) channel() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(n.schema + "\x00" + n.prefix))
	return "braid_" + strconv.FormatUint(h.Sum64(), 36)
}

// lockKey returns the key of an advisory lock.
func (n names) lockKey(what string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(n.schema + "\x00" + n.prefix + "\x00" + what))
	return int64(h.Sum64()) //nolint:gosec // any 64 bits will do
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
