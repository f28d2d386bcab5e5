package sqlitestore

import (
	sqldriver "database/sql/driver"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// value returns an argument as drivers take it. Absent times and values are NULL,
// and so are empty payloads and exits; an empty string is an empty string, see
// optional.
func value(arg any) sqldriver.Value {
	switch v := arg.(type) {
	case nil, int64, string:
		return v
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case []byte:
		if len(v) == 0 {
			return nil
		}
		return string(v)
	case behindEveryText:
		return []byte{0xff}
	case driver.State:
		return int64(v)
	case driver.Outcome:
		return int64(v)
	case driver.ChildStatus:
		return int64(v)
	case driver.Time:
		return int64(v)
	case driver.Millis:
		return int64(v)
	case driver.Opt[driver.Time]:
		if !v.Set {
			return nil
		}
		return int64(v.Value)
	case driver.Opt[int64]:
		if !v.Set {
			return nil
		}
		return v.Value
	}
	panic(fmt.Sprintf("sqlitestore: an argument of type %T", arg))
}

// behindEveryText is a value that SQLite orders behind every text.
type behindEveryText struct{}

func values(args []any) []sqldriver.Value {
	all := make([]sqldriver.Value, len(args))
	for i, arg := range args {
		all[i] = value(arg)
	}
	return all
}

func anyValues(args []any) []any {
	all := make([]any, len(args))
	for i, arg := range args {
		all[i] = value(arg)
	}
	return all
}

// optional is NULL for the empty string.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// optionalTime returns a column that may be NULL.
func (r row) optionalTime(column int) driver.Opt[driver.Time] {
	if r.null(column) {
		return driver.Opt[driver.Time]{}
	}
	return driver.Some(driver.Time(r.integer(column)))
}

func (r row) time(column int) driver.Time { return driver.Time(r.integer(column)) }
