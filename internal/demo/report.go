package demo

import (
	"cmp"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Report is what the jobs found. Paths are relative to the folder; one that is not
// UTF-8 is {"base64": …} in JSON.
type Report struct {
	Folder filename `json:"folder"`
	Store  string   `json:"store"` // its kind
	// ChildStore is the kind of the store that the files' jobs were in, if not the same.
	ChildStore string `json:"childStore,omitempty"`

	Files  int64 `json:"files"`  // regular files whose job finished, well or not
	Bytes  int64 `json:"bytes"`  // in the files that were read
	Lines  int64 `json:"lines"`  // line feeds in them
	Failed int64 `json:"failed"` // files that could not be read
	// Duplicates is the number of files whose content an earlier file has: all but the
	// first of each group. WastedBytes are in those.
	Duplicates  int64 `json:"duplicates"`
	WastedBytes int64 `json:"wastedBytes"`

	Seconds       float64 `json:"seconds"`
	JobsPerSecond float64 `json:"jobsPerSecond"`
	Concurrency   int     `json:"concurrency"`
	// Partial: the demo was interrupted; Unfinished jobs were taken back.
	Partial    bool  `json:"partial"`
	Unfinished int64 `json:"unfinished"`

	Extensions      []Extension      `json:"extensions"`      // most bytes first
	Kinds           []Kind           `json:"kinds"`           // most files first
	Largest         []LargeFile      `json:"largest"`         // at most five, the largest first
	DuplicateGroups []DuplicateGroup `json:"duplicateGroups"` // most wasted bytes first
	Failures        []FailedFile     `json:"failures"`        // by path
	// UnreadableFolders could not be listed, or not to their end; by path.
	UnreadableFolders []UnreadableFolder `json:"unreadableFolders"`
}

// Extension sums up the files of one extension: what follows the last dot of the
// name, in lower case. A dot at the beginning does not count.
type Extension struct {
	Extension filename `json:"extension"` // with its dot; empty: none
	Files     int64    `json:"files"`
	Bytes     int64    `json:"bytes"`
	Lines     int64    `json:"lines"`
}

// Kind sums up the files of one media type, as their first bytes suggest it.
type Kind struct {
	Kind  string `json:"kind"`
	Text  bool   `json:"text"` // whether that is a kind of text
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
}

// LargeFile is one of the largest files.
type LargeFile struct {
	Path  filename `json:"path"`
	Bytes int64    `json:"bytes"`
}

// DuplicateGroup are files with the same content.
type DuplicateGroup struct {
	SHA256 string     `json:"sha256"`
	Bytes  int64      `json:"bytes"` // of one of them
	Paths  []filename `json:"paths"` // in byte order
}

// Wasted is how many bytes the copies take.
func (g DuplicateGroup) Wasted() int64 { return g.Bytes * int64(len(g.Paths)-1) }

// FailedFile is a file whose job failed.
type FailedFile struct {
	Path     filename `json:"path"`
	Error    string   `json:"error"`
	Attempts int      `json:"attempts"`
}

// UnreadableFolder is a folder that the walk could not look into.
type UnreadableFolder struct {
	Path  filename `json:"path"`
	Error string   `json:"error"`
}

// largestFiles is how many of the largest files the report lists.
const largestFiles = 5

// tally adds up results. It has a lock, because a demo that is interrupted may look at
// it while a phase of its flow that ignores the end of its context still runs.
type tally struct {
	mu         sync.Mutex
	sum        Report
	extensions map[string]*Extension
	kinds      map[string]*Kind
	contents   map[[32]byte]*content
}

// content is one content and the files that have it.
type content struct {
	bytes int64
	paths []filename
}

func newTally() *tally {
	t := &tally{}
	t.forgetFiles()
	return t
}

// forgetFiles leaves nothing but the folders that were skipped.
func (t *tally) forgetFiles() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum = Report{UnreadableFolders: t.sum.UnreadableFolders}
	t.extensions = make(map[string]*Extension)
	t.kinds = make(map[string]*Kind)
	t.contents = make(map[[32]byte]*content)
}

// add counts a file that was read.
func (t *tally) add(path string, found facts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Files++
	t.sum.Bytes += found.Bytes
	t.sum.Lines += found.Lines

	e := at(t.extensions, extensionOf(path))
	e.Files++
	e.Bytes += found.Bytes
	e.Lines += found.Lines
	k := at(t.kinds, found.Kind)
	k.Files++
	k.Bytes += found.Bytes

	var sum [32]byte
	_, _ = hex.Decode(sum[:], []byte(found.SHA256)) // our own handler wrote it
	c := at(t.contents, sum)
	c.bytes = found.Bytes
	c.paths = append(c.paths, filename(path))
	t.place(LargeFile{Path: filename(path), Bytes: found.Bytes})
}

// fail counts a file that could not be read.
func (t *tally) fail(path, message string, attempts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Files++
	t.sum.Failed++
	t.sum.Failures = append(t.sum.Failures, FailedFile{Path: filename(path), Error: message, Attempts: attempts})
}

// skip notes a folder that could not be listed.
func (t *tally) skip(path string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.UnreadableFolders = append(t.sum.UnreadableFolders, UnreadableFolder{Path: filename(path), Error: reasonOf(err)})
}

// report returns what was added, sorted, so that two runs on the same files agree.
func (t *tally) report() *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.sum
	r.Extensions, r.Kinds, r.DuplicateGroups = []Extension{}, []Kind{}, []DuplicateGroup{}
	r.Largest = append([]LargeFile{}, r.Largest...)
	r.Failures = append([]FailedFile{}, r.Failures...)
	r.UnreadableFolders = append([]UnreadableFolder{}, r.UnreadableFolders...)

	for name, e := range t.extensions {
		e.Extension = filename(name)
		r.Extensions = append(r.Extensions, *e)
	}
	slices.SortFunc(r.Extensions, func(a, b Extension) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Extension, b.Extension))
	})
	for name, k := range t.kinds {
		k.Kind, k.Text = name, strings.HasPrefix(name, "text/")
		r.Kinds = append(r.Kinds, *k)
	}
	slices.SortFunc(r.Kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(a.Kind, b.Kind))
	})
	for sum, c := range t.contents {
		if len(c.paths) == 1 {
			continue
		}
		slices.Sort(c.paths)
		group := DuplicateGroup{SHA256: hex.EncodeToString(sum[:]), Bytes: c.bytes, Paths: c.paths}
		r.DuplicateGroups = append(r.DuplicateGroups, group)
		r.Duplicates += int64(len(c.paths) - 1)
		r.WastedBytes += group.Wasted()
	}
	slices.SortFunc(r.DuplicateGroups, func(a, b DuplicateGroup) int {
		return cmp.Or(cmp.Compare(b.Wasted(), a.Wasted()), cmp.Compare(a.Paths[0], b.Paths[0]))
	})
	slices.SortFunc(r.Failures, func(a, b FailedFile) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(r.UnreadableFolders, func(a, b UnreadableFolder) int { return cmp.Compare(a.Path, b.Path) })
	return &r
}

// place puts a file among the largest, if it is one of them.
func (t *tally) place(f LargeFile) {
	at, _ := slices.BinarySearchFunc(t.sum.Largest, f, func(a, b LargeFile) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	if at == largestFiles {
		return
	}
	t.sum.Largest = slices.Insert(t.sum.Largest, at, f)
	t.sum.Largest = t.sum.Largest[:min(largestFiles, len(t.sum.Largest))]
}

// extensionOf returns the extension of a file's name, in lower case with its dot.
func extensionOf(path string) string {
	return strings.ToLower(filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")))
}

// at returns the entry of a key, a new one if there is none.
func at[K comparable, V any](m map[K]*V, key K) *V {
	v, ok := m[key]
	if !ok {
		v = new(V)
		m[key] = v
	}
	return v
}
