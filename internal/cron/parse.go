package cron

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/plural"
)

// Options says which expressions Parse accepts. The zero value is the usual form:
// five fields, or a descriptor such as @daily.
type Options struct {
	// Seconds also accepts a sixth field in front, the second. An expression of five
	// fields still means second 0.
	Seconds bool
}

// Parse parses a cron expression. Its fields are minute, hour, day of month,
// month and day of week, each a list of *, values, ranges (1-5) and steps (*/5,
// 10-40/5; 10/5 goes on to the end of the field; no step is beyond the field). Months and days of the week have
// English names of three letters, in any case; 7 is Sunday too; ? stands for * in
// the two day fields. Descriptors: @yearly, @annually, @monthly, @weekly, @daily,
// @midnight, @hourly.
//
// A refusal is a [*driver.InvalidError] with the field "cron".
func Parse(expr string, opts Options) (Schedule, error) {
	s, reason := parse(expr, opts)
	if reason != "" {
		return Schedule{}, &driver.InvalidError{Field: "cron", Value: expr, Reason: reason}
	}
	return s, nil
}

// descriptors are the expressions that have a name.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// fieldRule is what one field accepts.
type fieldRule struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
	question bool     // whether ? stands for *
	usage    string   // what to write
}

var (
	secondRule = fieldRule{name: "second", max: 59, usage: "0 to 59"}
	minuteRule = fieldRule{name: "minute", max: 59, usage: "0 to 59"}
	hourRule   = fieldRule{name: "hour", max: 23, usage: "0 to 23"}
	domRule    = fieldRule{name: "day of month", min: 1, max: 31, question: true, usage: "1 to 31"}
	monthRule  = fieldRule{name: "month", min: 1, max: 12, usage: "1 to 12, or JAN to DEC",
		names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}}
	dowRule = fieldRule{name: "day of week", max: 6, question: true, usage: "0 to 7 (0 and 7 are Sunday), or SUN to SAT",
		names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}}
)

// parse returns the schedule, or the reason why there is none.
func parse(expr string, opts Options) (Schedule, string) {
	if len(expr) > driver.MaxCronBytes {
		return Schedule{}, fmt.Sprintf("is %d bytes long; the limit is %d; write ranges and steps in place of long lists", len(expr), driver.MaxCronBytes)
	}
	expr = strings.TrimSpace(expr)
	switch {
	case expr == "":
		return Schedule{}, `is empty; write five fields, such as "0 9 * * *"`
	case hasPrefixFold(expr, "TZ="), hasPrefixFold(expr, "CRON_TZ="):
		return Schedule{}, "names a time zone; leave it out here and give the zone in the tz argument"
	case expr[0] == '@':
		fields, ok := descriptors[strings.ToLower(expr)]
		if !ok {
			return Schedule{}, "is no known descriptor; use @yearly, @monthly, @weekly, @daily or @hourly, five fields, or every for a fixed distance"
		}
		expr = fields
	}
	texts := strings.Fields(expr)
	switch n := len(texts); {
	case n == 5:
		texts = append([]string{"0"}, texts...)
	case n == 6 && opts.Seconds:
	case n == 6:
		return Schedule{}, "has 6 fields; write minute, hour, day of month, month and day of week, or allow seconds by option"
	default:
		return Schedule{}, "has " + plural.Of(n, "field", "fields") + "; write minute, hour, day of month, month and day of week"
	}

	var s Schedule
	var star, every [6]bool
	for i, f := range []struct {
		rule *fieldRule
		bits *uint64
	}{{&secondRule, &s.second}, {&minuteRule, &s.minute}, {&hourRule, &s.hour}, {&domRule, &s.dom}, {&monthRule, &s.month}, {&dowRule, &s.dow}} {
		set, repeats, reason := f.rule.parse(texts[i])
		if reason != "" {
			return Schedule{}, reason
		}
		*f.bits, every[i] = set, repeats
		star[i] = texts[i][0] == '*' || texts[i][0] == '?'
	}
	s.interval = every[1] || every[2]
	s.eitherDay = !star[3] && !star[5]
	return s, ""
}

// parse returns the set of a field's values, and whether it has a wildcard or a
// step.
func (r *fieldRule) parse(text string) (set uint64, repeats bool, reason string) {
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			return 0, false, fmt.Sprintf("%s %q has an empty list entry; use %s, separated by single commas", r.name, text, r.usage)
		}
		values, repeat, reason := r.parsePart(part)
		if reason != "" {
			return 0, false, reason
		}
		set |= values
		repeats = repeats || repeat
	}
	return set, repeats, ""
}

// parsePart parses one entry of a field's list.
func (r *fieldRule) parsePart(part string) (set uint64, repeats bool, reason string) {
	span, stepText, stepped := strings.Cut(part, "/")
	lowText, highText, ranged := strings.Cut(span, "-")
	low, high := r.min, r.max
	switch {
	case span == "*" || span == "?" && r.question:
		repeats = true
	case span == "?":
		return 0, false, fmt.Sprintf("%s %q: ? is for the day fields; use *", r.name, part)
	default:
		var ok bool
		if low, ok = r.value(lowText); !ok {
			return 0, false, fmt.Sprintf("%s %q is not valid; use %s", r.name, part, r.usage)
		}
		if !ranged && r == &dowRule && low == 7 {
			low = 0
		}
		switch {
		case ranged:
			if high, ok = r.value(highText); !ok {
				return 0, false, fmt.Sprintf("%s %q is not valid; use %s", r.name, part, r.usage)
			}
			if r == &dowRule && high == 0 && low > 0 {
				high = 7 // FRI-SUN
			}
		case !stepped:
			high = low
		}
	}
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || stepText[0] == '+' {
			return 0, false, fmt.Sprintf("%s %q: the step is not valid; use a whole number of at least 1, such as */5", r.name, part)
		}
		if most := r.max - r.min + 1; step > most {
			return 0, false, fmt.Sprintf("%s %q: the step goes beyond the field; use 1 to %d", r.name, part, most)
		}
		repeats = true
	}
	if low > high {
		return 0, false, fmt.Sprintf("%s %q ends before it begins; write it as two ranges, separated by a comma", r.name, part)
	}
	for v := low; v <= high; v += step {
		set |= 1 << v
	}
	if r == &dowRule && set&(1<<7) != 0 {
		set = set&^(1<<7) | 1
	}
	return set, repeats, ""
}

// value returns the number that text stands for.
func (r *fieldRule) value(text string) (int, bool) {
	for i, name := range r.names {
		if strings.EqualFold(text, name) {
			return r.min + i, true
		}
	}
	most := r.max
	if r == &dowRule {
		most = 7
	}
	v, err := strconv.ParseUint(text, 10, 8)
	if err != nil || int(v) < r.min || int(v) > most {
		return 0, false
	}
	return int(v), true
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
