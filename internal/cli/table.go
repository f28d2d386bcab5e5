package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// table is columns of text, each as wide as it needs to be.
type table struct {
	rows [][]string
}

func newTable(header ...string) *table { return &table{rows: [][]string{header}} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table. Numbers stand at the right of their columns.
func (t *table) write(w io.Writer) error {
	widths := make([]int, len(t.rows[0]))
	numeric := make([]bool, len(t.rows[0]))
	for i := range numeric {
		numeric[i] = len(t.rows) > 1
	}
	for n, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			if _, err := strconv.ParseInt(cell, 10, 64); n > 0 && err != nil {
				numeric[i] = false
			}
		}
	}
	var out strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if numeric[i] {
				line.WriteString(space + cell)
			} else {
				line.WriteString(cell + space)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// plain makes what a producer chose harmless for a terminal: what does not print is
// escaped, so that a name cannot move the cursor or fake a line.
func plain(text string) string {
	clean := true
	for _, r := range text {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// lines makes text of several lines harmless, and indents it.
func lines(text, indent string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out.WriteString(indent + plain(strings.ReplaceAll(line, "\t", "    ")) + "\n")
	}
	return out.String()
}

// short cuts text to so many characters.
func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// ago tells how long ago, or how soon, something is.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := now.Sub(t)
	if d < 0 {
		return "in " + span(-d)
	}
	return span(d) + " ago"
}

// span tells a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// count tells a number of jobs.
func count(n int64) string { return strconv.FormatInt(n, 10) }
