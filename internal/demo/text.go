package demo

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/braidmq/braid/internal/plural"
)

// How much of the longer lists the text shows; JSON has all of it.
const (
	shownExtensions = 15
	shownGroups     = 5
	shownCopies     = 4
	shownFailures   = 20
)

// WriteText writes the report for people.
func (r *Report) WriteText(to io.Writer) error {
	out := bufio.NewWriter(to)
	store := r.Store + " store"
	if r.ChildStore != "" {
		store += ", children in a " + r.ChildStore + " store"
	}
	fmt.Fprintf(out, "%s files in %s: %.2f s, %s jobs/s (%s, %d at once)\n",
		Number(r.Files), r.Folder, r.Seconds, Number(int64(r.JobsPerSecond)), store, r.Concurrency)
	if r.Partial {
		fmt.Fprintf(out, "PARTIAL: interrupted; %s jobs were taken back, and files not found yet are not counted\n", Number(r.Unfinished))
	}
	totals := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(totals, "\nfiles\t%s\t\nbytes\t%s\t\nlines\t%s\t\nfailed\t%s\t\nduplicates\t%s\t\nwasted bytes\t%s\t\n",
		Number(r.Files), Number(r.Bytes), Number(r.Lines), Number(r.Failed), Number(r.Duplicates), Number(r.WastedBytes))
	totals.Flush()

	r.writeExtensions(out)
	r.writeKinds(out)
	r.writeLargest(out)
	r.writeDuplicates(out)
	r.writeFailures(out)
	return out.Flush()
}

func (r *Report) writeExtensions(out io.Writer) {
	if len(r.Extensions) == 0 {
		return
	}
	fmt.Fprintln(out, "\nBy extension")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tfiles\tbytes\tlines\t")
	row := func(name string, e Extension) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", name, Number(e.Files), Number(e.Bytes), Number(e.Lines))
	}
	for _, e := range r.Extensions[:min(shownExtensions, len(r.Extensions))] {
		name := e.Extension.String()
		if name == "" {
			name = "(none)"
		}
		row(name, e)
	}
	if len(r.Extensions) > shownExtensions {
		var rest Extension
		for _, e := range r.Extensions[shownExtensions:] {
			rest.Files += e.Files
			rest.Bytes += e.Bytes
			rest.Lines += e.Lines
		}
		row("("+count(int64(len(r.Extensions)-shownExtensions), "other", "others")+")", rest)
	}
	table.Flush()
}

func (r *Report) writeKinds(out io.Writer) {
	if len(r.Kinds) == 0 {
		return
	}
	var text, binary Kind
	for _, k := range r.Kinds {
		sum := &binary
		if k.Text {
			sum = &text
		}
		sum.Files += k.Files
		sum.Bytes += k.Bytes
	}
	fmt.Fprintln(out, "\nBy kind of content")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\tfiles\tbytes\t\ntext\t%s\t%s\t\nbinary\t%s\t%s\t\n",
		Number(text.Files), Number(text.Bytes), Number(binary.Files), Number(binary.Bytes))
	table.Flush()
}

func (r *Report) writeLargest(out io.Writer) {
	if len(r.Largest) == 0 {
		return
	}
	fmt.Fprintln(out, "\nLargest")
	for _, f := range r.Largest {
		fmt.Fprintf(out, "%15s  %s\n", Number(f.Bytes), f.Path)
	}
}

func (r *Report) writeDuplicates(out io.Writer) {
	if len(r.DuplicateGroups) == 0 {
		return
	}
	fmt.Fprintf(out, "\nDuplicates: %s, %s, %s wasted\n", count(int64(len(r.DuplicateGroups)), "group", "groups"),
		count(r.Duplicates, "copy", "copies"), count(r.WastedBytes, "byte", "bytes"))
	for _, g := range r.DuplicateGroups[:min(shownGroups, len(r.DuplicateGroups))] {
		fmt.Fprintf(out, "%15s  %d × %s bytes\n", Number(g.Wasted()), len(g.Paths), Number(g.Bytes))
		for _, path := range g.Paths[:min(shownCopies, len(g.Paths))] {
			fmt.Fprintf(out, "%15s  %s\n", "", path)
		}
		more(out, len(g.Paths)-shownCopies, "file", "files")
	}
	more(out, len(r.DuplicateGroups)-shownGroups, "group", "groups")
}

func (r *Report) writeFailures(out io.Writer) {
	if len(r.Failures) > 0 {
		fmt.Fprintln(out, "\nFiles that could not be read")
		for _, f := range r.Failures[:min(shownFailures, len(r.Failures))] {
			fmt.Fprintf(out, "  %s: %s (%s)\n", f.Path, filename(f.Error), count(int64(f.Attempts), "attempt", "attempts"))
		}
		more(out, len(r.Failures)-shownFailures, "file", "files")
	}
	if len(r.UnreadableFolders) > 0 {
		fmt.Fprintln(out, "\nFolders that could not be read")
		for _, f := range r.UnreadableFolders[:min(shownFailures, len(r.UnreadableFolders))] {
			fmt.Fprintf(out, "  %s: %s\n", f.Path, filename(f.Error))
		}
		more(out, len(r.UnreadableFolders)-shownFailures, "folder", "folders")
	}
}

// more says how many entries of a list were left out, if any.
func more(out io.Writer, left int, one, many string) {
	if left > 0 {
		fmt.Fprintf(out, "%15s  … %s more %s (--json lists all)\n", "", Number(int64(left)), plural.Word(left, one, many))
	}
}

// count says how many there are of what is called one, or many.
func count(n int64, one, many string) string {
	return Number(n) + " " + plural.Word(n, one, many)
}

// Number formats a number with commas between its thousands.
func Number(n int64) string {
	if n < 0 {
		return strconv.FormatInt(n, 10)
	}
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
