package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// most is how many times its cost on the empty store an operation may cost.
const most = 2

// writeTable writes a row per operation and a column per setting; the last column is
// the last setting as a multiple of the first.
func writeTable(w io.Writer, columns []column) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range columns {
		fmt.Fprint(t, "\t"+c.setting)
	}
	first, last := columns[0], columns[len(columns)-1]
	fmt.Fprintf(t, "\t%s/%s\t\n", last.setting, first.setting)
	beyond := 0
	for i, row := range first.rows {
		fmt.Fprint(t, row.name)
		for _, c := range columns {
			fmt.Fprintf(t, "\t%.1f", c.rows[i].perItem())
		}
		ratio := last.rows[i].perItem() / row.perItem()
		mark := ""
		if ratio > most {
			mark = " !"
			beyond++
		}
		fmt.Fprintf(t, "\t%.2f×%s\t\n", ratio, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d of %d operations cost more than %d times as much.\n", beyond, len(first.rows), most)
	for _, c := range columns {
		if c.worst != "" {
			fmt.Fprintf(w, "slowest call, %s: %s\n", c.setting, c.worst)
		}
	}
	return nil
}
