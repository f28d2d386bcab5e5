package demo

import (
	"bytes"
	"testing"
)

func TestTheTextOfAReport(t *testing.T) {
	r := &Report{
		Folder: ".", Store: "memory", Files: 1234567, Bytes: 2048, Lines: 30, Failed: 1, Duplicates: 5, WastedBytes: 60,
		Seconds: 2, JobsPerSecond: 617283.5, Concurrency: 8, Partial: true, Unfinished: 3,
		Extensions:        []Extension{{Extension: ".go", Files: 2, Bytes: 2000, Lines: 30}, {Files: 1, Bytes: 48}},
		Kinds:             []Kind{{Kind: "text/plain", Text: true, Files: 2, Bytes: 2000}, {Kind: "image/png", Files: 1, Bytes: 48}},
		Largest:           []LargeFile{{"a\nb", 2000}},
		DuplicateGroups:   []DuplicateGroup{{Bytes: 12, Paths: []filename{"1", "2", "3", "4", "5", "6"}}},
		Failures:          []FailedFile{{Path: "x", Error: "permission denied", Attempts: 2}},
		UnreadableFolders: []UnreadableFolder{{Path: "y", Error: "permission denied"}},
	}
	const want = `1,234,567 files in .: 2.00 s, 617,283 jobs/s (memory store, 8 at once)
PARTIAL: interrupted; 3 jobs were taken back, and files not found yet are not counted

         files  1,234,567
         bytes      2,048
         lines         30
        failed          1
    duplicates          5
  wasted bytes         60

By extension
          files  bytes  lines
     .go      2  2,000     30
  (none)      1     48      0

By kind of content
          files  bytes
    text      2  2,000
  binary      1     48

Largest
          2,000  "a\nb"

Duplicates: 1 group, 5 copies, 60 bytes wasted
             60  6 × 12 bytes
                 1
                 2
                 3
                 4
                 … 2 more files (--json lists all)

Files that could not be read
  x: permission denied (2 attempts)

Folders that could not be read
  y: permission denied
`
	var got bytes.Buffer
	if err := r.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestLongListsAreCutWithAWord(t *testing.T) {
	r := &Report{}
	for range shownExtensions + 2 {
		r.Extensions = append(r.Extensions, Extension{Files: 1, Bytes: 10, Lines: 100})
	}
	var got bytes.Buffer
	if err := r.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if want := "  (2 others)      2     20    200\n"; !bytes.Contains(got.Bytes(), []byte(want)) {
		t.Errorf("got\n%s\nwithout %q", got.String(), want)
	}
}
