package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/braidmq/braid/internal/demo"
)

const (
	barInterval  = 100 * time.Millisecond
	lineInterval = 2 * time.Second // of plain lines, where there is no terminal
	usualWidth   = 80              // of a terminal that does not tell
)

// showProgress shows how far a demo is until the returned function is called: a bar
// that redraws itself on a terminal, a line now and then elsewhere.
func showProgress(to io.Writer, progress func() demo.Progress) (stop func()) {
	interval, show := lineInterval, func() { fmt.Fprintln(to, progressText(progress())) }
	clear := func() {}
	if width, ok := terminalWidth(to); ok {
		interval = barInterval
		show = func() { fmt.Fprint(to, "\r\x1b[K"+progressBar(progress(), width)) }
		clear = func() { fmt.Fprint(to, "\r\x1b[K") }
	}
	quit := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				show()
			case <-quit:
				clear()
				return
			}
		}
	})
	return func() {
		close(quit)
		shown.Wait()
	}
}

// terminalWidth returns the columns of the terminal that w is, if it is one.
func terminalWidth(w io.Writer) (int, bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = usualWidth
	}
	return width, true
}

// progressText says how far a demo is.
func progressText(p demo.Progress) string {
	total := "at least " + demo.Number(p.Found)
	if p.Walked {
		total = demo.Number(p.Found)
	}
	text := fmt.Sprintf("%s of %s files, %s MB", demo.Number(p.Done), total, demo.Number(p.Bytes/1_000_000))
	if p.Failed > 0 {
		text += ", " + demo.Number(p.Failed) + " failed"
	}
	return text
}

// progressBar is progressText behind a bar, in no more than width columns.
func progressBar(p demo.Progress, width int) string {
	const widest = 30
	text := progressText(p)
	room := min(widest, width-utf8.RuneCountInString(text)-4)
	if room < 5 {
		return text[:min(len(text), width-1)]
	}
	filled := 0
	if p.Found > 0 {
		filled = int(p.Done * int64(room) / p.Found)
	}
	return "[" + strings.Repeat("█", filled) + strings.Repeat("░", room-filled) + "] " + text
}
