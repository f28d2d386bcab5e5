package demo

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// entriesAtOnce is how many entries of a folder are read at a time, so that a folder
// of millions does not hold up the first job.
const entriesAtOnce = 512

// walk calls found with the path, relative to root, of every regular file below root,
// in no particular order. Symbolic links are not followed. It calls unreadable with
// every folder that cannot be read to its end, and goes on behind it. It stops early
// when ctx ends or found returns false.
func walk(ctx context.Context, root string, found func(path string) bool, unreadable func(path string, err error)) {
	for folders := []string{"."}; len(folders) > 0 && ctx.Err() == nil; {
		folder := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		inside, err := walkFolder(root, folder, found)
		folders = append(folders, inside...)
		switch {
		case errors.Is(err, errStopped):
			return
		case err != nil:
			unreadable(folder, err)
		}
	}
}

var errStopped = errors.New("braid: the walk was stopped")

// walkFolder reports the files of one folder and returns the folders in it.
func walkFolder(root, folder string, found func(path string) bool) (inside []string, err error) {
	dir, err := os.Open(filepath.Join(root, folder))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(entriesAtOnce)
		for _, entry := range entries {
			path := entry.Name()
			if folder != "." {
				path = folder + string(filepath.Separator) + path
			}
			switch {
			case entry.IsDir():
				inside = append(inside, path)
			case entry.Type().IsRegular():
				if !found(path) {
					return inside, errStopped
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return inside, nil
		}
		if err != nil {
			return inside, err
		}
	}
}

// reasonOf returns what is wrong without the path, which stands beside it.
func reasonOf(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}
