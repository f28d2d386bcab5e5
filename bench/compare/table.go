package compare

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Goal is something that the first system shall reach.
type Goal struct {
	Text string
	// Judge returns what was reached, as text, and whether that is enough; ok is false
	// if it could not be measured, because a system is missing.
	Judge func(first *Figures, others map[string]*Figures) (reached string, met, ok bool)
}

// WriteTable writes the figures, one row per measure and one column per system, with
// the first system's figure as a multiple of each other one's, and then the goals.
func WriteTable(w io.Writer, figures []Figures, goals []Goal) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	first := &figures[0]
	header := ""
	for i := range figures {
		header += "\t" + figures[i].System
	}
	for i := range figures[1:] {
		header += "\t" + first.System + "/" + figures[i+1].System
	}
	fmt.Fprintln(t, header+"\t")
	for _, row := range rows(figures) {
		if !slices.ContainsFunc(figures, func(f Figures) bool { return row.figure(&f) != 0 }) {
			continue // nobody has such a figure
		}
		line := row.name
		for i := range figures {
			line += "\t" + row.format(row.figure(&figures[i]))
		}
		for i := range figures[1:] {
			line += "\t" + ratio(row.figure(first), row.figure(&figures[i+1]))
		}
		fmt.Fprintln(t, line+"\t")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return writeGoals(w, figures, goals)
}

func writeGoals(w io.Writer, figures []Figures, goals []Goal) error {
	others := make(map[string]*Figures)
	for i := range figures[1:] {
		others[figures[i+1].System] = &figures[i+1]
	}
	fmt.Fprintf(w, "\nGoals of %s\n", figures[0].System)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, goal := range goals {
		reached, met, ok := goal.Judge(&figures[0], others)
		verdict := "missed"
		switch {
		case !ok:
			reached, verdict = "", "not measured"
		case met:
			verdict = "met"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", goal.Text, reached, verdict)
	}
	return t.Flush()
}

// row is one measure of the table.
type row struct {
	name   string
	figure func(*Figures) float64
	format func(float64) string
}

func rows(figures []Figures) []row {
	var all []row
	var concurrencies []int
	for c := range figures[0].Processing {
		concurrencies = append(concurrencies, c)
	}
	slices.Sort(concurrencies)
	for _, c := range concurrencies {
		all = append(all, row{fmt.Sprintf("process, %d at once (jobs/s)", c),
			func(f *Figures) float64 { return f.Processing[c] }, count})
	}
	microseconds := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	return append(all,
		row{"process, best (jobs/s)", func(f *Figures) float64 { best, _ := f.BestProcessing(); return best }, count},
		row{"enqueue one by one (jobs/s)", func(f *Figures) float64 { return f.Single }, count},
		row{"enqueue in batches (jobs/s)", func(f *Figures) float64 { return f.Batch }, count},
		row{"server time per job, commands (µs)", func(f *Figures) float64 { return microseconds(f.Commands) }, decimal},
		row{"server time per job, all (µs)", func(f *Figures) float64 { return microseconds(f.CPU) }, decimal},
		row{"memory per waiting job (B)", func(f *Figures) float64 { return float64(f.Memory) }, count},
	)
}

func ratio(first, other float64) string {
	if first == 0 || other == 0 {
		return "–"
	}
	return strconv.FormatFloat(first/other, 'f', 2, 64) + "×"
}

func decimal(f float64) string {
	if f == 0 {
		return "–"
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// count writes a whole number with commas between its thousands.
func count(f float64) string {
	if f == 0 {
		return "–"
	}
	digits := strconv.FormatFloat(f, 'f', 0, 64)
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}
