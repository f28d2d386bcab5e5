package flowtree

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/braidmq/braid/internal/plural"
)

// WriteText writes the tree for people.
func (n *Node) WriteText(to io.Writer) error {
	out := bufio.NewWriter(to)
	fmt.Fprintln(out, strings.Join(n.facts(n.ID), "  "))
	n.writeChildren(out, "")
	return out.Flush()
}

func (n *Node) writeChildren(out io.Writer, indent string) {
	var rest []string
	for _, outcome := range slices.Sorted(maps.Keys(n.More)) {
		rest = append(rest, fmt.Sprintf("%d %s", n.More[outcome], outcome))
	}
	for i, child := range n.Children {
		branch, below := "├─ ", "│  "
		if i == len(n.Children)-1 && len(rest) == 0 {
			branch, below = "└─ ", "   "
		}
		fmt.Fprintln(out, indent+branch+strings.Join(child.facts(child.Key), "  "))
		child.writeChildren(out, indent+below)
	}
	if len(rest) > 0 && len(n.Children) > 0 {
		fmt.Fprintln(out, indent+"└─ … and "+strings.Join(rest, ", "))
	}
}

// facts are the parts of a job's line.
func (n *Node) facts(called string) []string {
	state := n.State
	if n.Outcome != "" {
		state = n.Outcome
	}
	facts := []string{printable(called), "(" + printable(n.Name) + ")", state}
	if n.Flow != nil {
		facts = append(facts, n.counts())
	}
	if n.Error != "" {
		facts = append(facts, printable(n.Error))
	}
	if n.Waits != "" {
		facts = append(facts, printable(n.Waits))
	}
	return facts
}

func (n *Node) counts() string {
	f := n.Flow
	parts := []string{}
	for _, part := range []struct {
		number int64
		what   string
	}{{f.Pending, "pending"}, {f.Completed, "completed"}, {f.Failed, "failed"}, {f.Cancelled, "cancelled"}} {
		if part.number > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.number, part.what))
		}
	}
	text := plural.Of(f.Total(), "child", "children")
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if f.FailFast {
		text += "; fails fast"
	}
	return text
}

// printable is a text in one line, quoted if a terminal would not show it as it is.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
