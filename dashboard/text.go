package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/braidmq/braid"
)

// functions are what templates call.
var functions = template.FuncMap{
	"number": func(n any) string { return number(reflect.ValueOf(n).Int()) }, "ago": ago, "until": until, "span": span, "stamp": stamp, "machine": machineTime,
	"pretty": pretty, "shown": shown, "named": named, "cut": cut, "list": func(v ...any) []any { return v },
	"add": func(a, b int) int { return a + b }, "slots": slots,
}

// number writes a number with its thousands apart.
func number[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return sign + digits
}

// ago tells how long ago a time is.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case d < -time.Second:
		return "in " + span(-d)
	case d < time.Second:
		return "just now"
	default:
		return span(d) + " ago"
	}
}

// until tells how soon a time is.
func until(t, now time.Time) string {
	if d := t.Sub(now); d > 0 {
		return "in " + span(d)
	}
	return "now"
}

// span tells a duration in its largest unit or two.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	if d < 48*time.Hour {
		return fmt.Sprintf("1 day %d h", int(d.Hours())-24)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// stamp tells a time in full, in its own zone.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02 15:04:05 MST")
}

// machineTime tells a time as the attribute datetime wants it.
func machineTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// longestShown bounds how much of one value a page shows.
const longestShown = 64 << 10

// pretty indents JSON, every digit as it was; what is none is shown as it is.
func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if len(raw) > longestShown || json.Indent(&out, raw, "", "  ") != nil {
		return shown(cutBytes(string(raw)))
	}
	return shown(out.String())
}

func cutBytes(text string) string {
	if len(text) <= longestShown {
		return text
	}
	return strings.ToValidUTF8(text[:longestShown], "") + fmt.Sprintf("\n… and %s bytes more", number(len(text)-longestShown))
}

// shown makes text visible as it is: characters that do not print, or that change the
// direction of what follows, are written as what they are.
func shown(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if hidden(r) {
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// named is shown for a name, which stands in one line and may be a link: it is quoted where
// one could not tell it.
func named(name string) string {
	if strings.TrimSpace(name) != name || strings.ContainsAny(name, "\n\t") {
		return strconv.Quote(name)
	}
	return shown(name)
}

func hidden(r rune) bool {
	const joiner = '\u200d' // inside emoji
	return r != '\n' && r != '\t' && r != joiner && !unicode.IsGraphic(r)
}

// cut shortens text to its first line, and so many characters of it.
func cut(text string, most int) string {
	line, _, more := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	runes := []rune(shown(line))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	if more {
		return string(runes) + " …"
	}
	return string(runes)
}

// slots sums up what a worker, or several, have to do.
func slots(queues []braid.WorkerQueue) (sum struct{ Slots, InFlight int }) {
	for _, q := range queues {
		sum.Slots += q.Slots
		sum.InFlight += q.InFlight
	}
	return sum
}
