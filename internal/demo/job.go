package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
)

// file is the payload of a job: the file to look at.
type file struct {
	Path filename `json:"path"` // absolute
}

// facts are the result of a job: what there is to know about one file.
type facts struct {
	SHA256 string `json:"sha256"` // in hex digits
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"` // line feeds, as wc -l counts them
	Kind   string `json:"kind"`  // the media type that the beginning of the content suggests
}

// chunkBytes is how much of a file is read at a time.
const chunkBytes = 256 << 10

var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// inspect reads the file and returns its facts.
func inspect(ctx context.Context, f file) (facts, error) {
	in, err := os.Open(string(f.Path))
	if err != nil {
		return facts{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return facts{}, err
	}
	if !info.Mode().IsRegular() {
		return facts{}, &fs.PathError{Op: "read", Path: string(f.Path), Err: errors.New("is no regular file any more")}
	}
	found, err := read(ctx, in)
	if err != nil {
		var named *fs.PathError
		if errors.As(err, &named) { // it tells the path itself
			return facts{}, err
		}
		return facts{}, fmt.Errorf("read %v: %w", f.Path, err)
	}
	return found, nil
}

// read returns the facts of what is left to read.
func read(ctx context.Context, in io.Reader) (facts, error) {
	chunk := chunks.Get().(*[chunkBytes]byte)
	defer chunks.Put(chunk)
	sum := sha256.New()
	var found facts
	for {
		if err := context.Cause(ctx); err != nil {
			return facts{}, err
		}
		n, err := io.ReadFull(in, chunk[:])
		data := chunk[:n]
		if found.Kind == "" {
			found.Kind = http.DetectContentType(data)
		}
		sum.Write(data)
		found.Bytes += int64(n)
		found.Lines += int64(bytes.Count(data, []byte{'\n'}))
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			found.SHA256 = hex.EncodeToString(sum.Sum(nil))
			return found, nil
		case err != nil:
			return facts{}, err
		}
	}
}
