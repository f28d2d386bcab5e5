//go:build unix

package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheReportAgreesWithTheFiles(t *testing.T) {
	root := tree(t)
	report := run(t, t.Context(), newDemo(t, root, newStore(t)))
	want := compute(t, root)
	if report.Files != want.files || report.Bytes != want.bytes || report.Lines != want.lines ||
		report.Duplicates != want.duplicates || report.WastedBytes != want.wasted || report.Failed != 0 || report.Partial {
		t.Errorf("report %+v\nwant %+v", report, want)
	}
	var files, size, lines int64
	for _, e := range report.Extensions {
		files, size, lines = files+e.Files, size+e.Bytes, lines+e.Lines
		if e.Extension == ".txt" && e.Files != 3 || e.Extension == "" && e.Files != 4 {
			t.Errorf("extension %q has %d files", e.Extension, e.Files)
		}
	}
	if files != want.files || size != want.bytes || lines != want.lines {
		t.Errorf("the extensions add up to %d files, %d bytes, %d lines; want %+v", files, size, lines, want)
	}
	if len(report.Largest) != largestFiles || report.Largest[0] != (LargeFile{"deep/er/large.bin", 2*chunkBytes + 17}) ||
		!slices.IsSortedFunc(report.Largest, func(a, b LargeFile) int { return int(b.Bytes - a.Bytes) }) {
		t.Errorf("largest: %+v", report.Largest)
	}
	groups := map[string]DuplicateGroup{}
	for _, g := range report.DuplicateGroups {
		groups[g.SHA256] = g
	}
	if len(groups) != 2 || len(report.DuplicateGroups) != 2 {
		t.Errorf("duplicates: %+v", report.DuplicateGroups)
	}
	for sum, paths := range want.groups {
		if !slices.Equal(groups[sum].Paths, paths) {
			t.Errorf("group %s: %q, want %q", sum, groups[sum].Paths, paths)
		}
	}
}

func TestAFileThatCannotBeReadFailsAloneAndIsListed(t *testing.T) {
	root := tree(t)
	d := newDemo(t, root, newStore(t))
	d.inspect = func(ctx context.Context, f file) (facts, error) {
		if filepath.Base(string(f.Path)) == "b.txt" {
			_ = os.Remove(string(f.Path))
		}
		return inspect(ctx, f)
	}
	want := compute(t, root)
	report := run(t, t.Context(), d)
	if report.Files != want.files || report.Failed != 1 || len(report.Failures) != 1 {
		t.Fatalf("%d files, %d failed, %+v; want %d, 1", report.Files, report.Failed, report.Failures, want.files)
	}
	failure := report.Failures[0]
	if failure.Path != "deep/b.txt" || failure.Attempts != fileAttempts || !strings.Contains(failure.Error, "no such file") {
		t.Errorf("failure: %+v", failure)
	}
}

func TestAFolderThatCannotBeReadIsListedAndTheWalkGoesOn(t *testing.T) {
	root := t.TempDir()
	write(t, root, "first", "x")
	write(t, root, "gone/inside", "x")
	write(t, root, "there/inside", "x")
	var files, folders []string
	walk(t.Context(), root, func(path string) bool {
		files = append(files, path)
		// The files of a folder are reported before the folders in it are opened.
		if path == "first" {
			_ = os.RemoveAll(filepath.Join(root, "gone"))
		}
		return true
	}, func(path string, err error) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
		folders = append(folders, path)
	})
	slices.Sort(files)
	if !slices.Equal(files, []string{"first", filepath.Join("there", "inside")}) || !slices.Equal(folders, []string{"gone"}) {
		t.Errorf("files %q, folders that could not be read %q", files, folders)
	}
}

func TestDemosThatShareAStoreDoNotMix(t *testing.T) {
	store := newStore(t)
	var demos sync.WaitGroup
	for i := range 4 {
		root := t.TempDir()
		for n := range 50 * (i + 1) {
			write(t, root, fmt.Sprintf("f%d.%d", n, i), fmt.Sprint(n))
		}
		d := newDemo(t, root, store)
		demos.Go(func() {
			report, err := d.Run(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if want := int64(50 * (i + 1)); report.Files != want || len(report.Extensions) != 1 ||
				report.Extensions[0].Extension != filename(fmt.Sprintf(".%d", i)) || report.Duplicates != 0 {
				t.Errorf("demo %d: %d files, %+v", i, report.Files, report.Extensions)
			}
		})
	}
	demos.Wait()
}

func TestAnInterruptedDemoReportsWhatItHasAndLeavesNothingToRun(t *testing.T) {
	root := t.TempDir()
	const files = 1000
	for n := range files {
		write(t, root, fmt.Sprintf("f%d", n), "x\n")
	}
	store := newStore(t)
	d := newDemo(t, root, store)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var once sync.Once
	d.inspect = func(jobCtx context.Context, f file) (facts, error) {
		found, err := inspect(jobCtx, f)
		if d.Progress().Walked {
			once.Do(interrupt)
			<-ctx.Done()
		}
		return found, err
	}
	report := run(t, ctx, d)
	if !report.Partial || report.Failed != 0 || report.Files == 0 && report.Unfinished == 0 {
		t.Errorf("report: %+v", report)
	}
	if report.Lines != report.Files || report.Files+report.Unfinished > files {
		t.Errorf("%d files with %d lines, %d unfinished of %d", report.Files, report.Lines, report.Unfinished, files)
	}
	counts, err := store.Counts(t.Context(), "")
	if err != nil || counts.Waiting+counts.Delayed+counts.Active+counts.WaitingChildren != 0 {
		t.Errorf("left in the store: %+v, %v", counts, err)
	}
}

func TestOnlyAFolderWillDo(t *testing.T) {
	root := t.TempDir()
	write(t, root, "file", "x")
	for folder, want := range map[string]string{
		filepath.Join(root, "none"): "no such file",
		filepath.Join(root, "file"): "is not a folder",
	} {
		_, err := New(Options{Folder: folder, Store: newStore(t), Concurrency: 1})
		if err == nil || !strings.HasPrefix(err.Error(), "braid: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%q): %v", folder, err)
		}
	}
}

// run runs a demo with a deadline.
func run(t *testing.T, ctx context.Context, d *Demo) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the demo takes too long"))
	defer cancel()
	report, err := d.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p := d.Progress()
	if p.Done != report.Files || p.Failed != report.Failed || p.Bytes != report.Bytes {
		t.Errorf("progress at the end: %+v, report %+v", p, report)
	}
	return report
}

func newStore(t *testing.T) driver.Store {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func newDemo(t *testing.T, root string, store driver.Store) *Demo {
	t.Helper()
	d, err := New(Options{Folder: root, Store: store, Concurrency: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, root, path, content string) {
	t.Helper()
	path = filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree makes a folder with files of every sort.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, root, "a.txt", "one\ntwo\n")
	write(t, root, "deep/b.txt", "one\ntwo\n")
	write(t, root, "deep/er/B.TXT", "no line feed at the end")
	write(t, root, "deep/er/copy", "one\ntwo\n")
	write(t, root, "deep/er/large.bin", strings.Repeat("\x00\n", chunkBytes)+strings.Repeat("x", 17))
	write(t, root, "empty", "")
	write(t, root, "also empty.d/.empty", "")
	write(t, root, "bytes\xff\xfe.\xfd", "\n")
	write(t, root, "new\nline", "x")
	write(t, root, "quotes \"'<&>\u2028\ufffd.go", "package x\n")
	if err := os.Link(filepath.Join(root, "a.txt"), filepath.Join(root, "deep/hard.link")); err != nil {
		t.Fatal(err)
	}
	// None of these is a regular file, or below the folder.
	outside := t.TempDir()
	write(t, outside, "outside", "x")
	for name, to := range map[string]string{"to-file": "a.txt", "to-folder": outside, "to-itself": "to-itself", "to-above": ".."} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// totals are what the report must say.
type totals struct {
	files, bytes, lines, duplicates, wasted int64
	groups                                  map[string][]filename
}

// compute looks at the files in the plainest way.
func compute(t *testing.T, root string) totals {
	t.Helper()
	want := totals{groups: map[string][]filename{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want.files++
		want.bytes += int64(len(content))
		want.lines += int64(bytes.Count(content, []byte("\n")))
		sum := sha256.Sum256(content)
		key := hex.EncodeToString(sum[:])
		if len(want.groups[key]) > 0 {
			want.duplicates++
			want.wasted += int64(len(content))
		}
		name, err := filepath.Rel(root, path)
		want.groups[key] = append(want.groups[key], filename(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, paths := range want.groups {
		if len(paths) == 1 {
			delete(want.groups, key)
		}
		slices.Sort(paths)
	}
	return want
}

func TestARemovedJobIsAFailure(t *testing.T) {
	root := t.TempDir()
	for n := range 20 {
		write(t, root, fmt.Sprintf("f%d", n), "x\n")
	}
	store := newStore(t)
	d := newDemo(t, root, store)
	var once sync.Once
	d.inspect = func(ctx context.Context, f file) (facts, error) {
		once.Do(func() {
			page, err := d.client.List(ctx, braid.ListFilter{States: []braid.State{braid.Waiting}, Limit: 1})
			if err != nil || len(page.Jobs) == 0 {
				t.Errorf("list: %v, %d jobs", err, len(page.Jobs))
				return
			}
			if _, err := d.client.Remove(ctx, page.Jobs[0].ID); err != nil {
				t.Error(err)
			}
		})
		return inspect(ctx, f)
	}
	if r := run(t, t.Context(), d); r.Files != 20 || r.Failed != 1 || r.Failures[0].Error != messageOf(nil) {
		t.Errorf("report: %+v", r)
	}
}

func TestAnUnfinishedJobIsNotInTheReport(t *testing.T) {
	d := newDemo(t, t.TempDir(), newStore(t))
	defer d.client.Close()
	if d.settle(task{path: "b"}, &braid.JobInfo{State: braid.Active}) {
		t.Error("an active job is taken for one that has finished")
	}
	if !d.settle(task{path: "c"}, &braid.JobInfo{State: braid.Completed, Exit: json.RawMessage("[]")}) {
		t.Error("a job with an unreadable result is taken for one that will finish")
	}
	if r := d.tally.report(); r.Files != 1 || r.Failed != 1 {
		t.Errorf("report: %+v", r)
	}
}

func TestChildrenCanBeInAnotherStore(t *testing.T) {
	root := tree(t)
	parents, children := newStore(t), newStore(t)
	d, err := New(Options{Folder: root, Store: parents, ChildStore: children, Concurrency: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	want := compute(t, root)
	report := run(t, t.Context(), d)
	if report.Files != want.files || report.Bytes != want.bytes || report.Duplicates != want.duplicates || report.ChildStore != "memory" {
		t.Errorf("report %+v\nwant %+v", report, want)
	}
	for name, store := range map[string]struct {
		driver.Store
		jobs int64
	}{"parents": {parents, 1}, "children": {children, want.files}} {
		counts, err := store.Counts(t.Context(), "")
		if err != nil || counts.Completed != store.jobs || counts.Total() != store.jobs {
			t.Errorf("store of the %s: %+v, %v; want %d completed", name, counts, err, store.jobs)
		}
	}
}
