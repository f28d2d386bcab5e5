package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Migration is one step of a schema.
type Migration struct {
	Version int    // counts from 1
	Name    string // what stands in the file's name behind the number
	Up      string // the SQL that takes the schema to Version
	Down    string // the SQL that takes it back to Version − 1
	Hash    string // of Up, in hex; line ends do not count
}

// String returns the migration as its files are named: 0001_jobs.
func (m Migration) String() string { return fmt.Sprintf("%04d_%s", m.Version, m.Name) }

var fileName = regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.(up|down)\.sql$`)

// Load reads the migrations of the folder's *.sql files, in order. Each must have
// both files, and their numbers count from 1 without a gap.
func Load(folder fs.FS) ([]Migration, error) {
	files, err := fs.Glob(folder, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("braid: migrations: %w", err)
	}
	byVersion := map[int]*Migration{}
	for _, file := range files {
		parts := fileName.FindStringSubmatch(path.Base(file))
		if parts == nil {
			return nil, fmt.Errorf("braid: migration %q: use a name such as 0001_jobs.up.sql", file)
		}
		version, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, fmt.Errorf("braid: migration %q: %w", file, err)
		}
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, fmt.Errorf("braid: migration %q: %w", file, err)
		}
		m := byVersion[version]
		if m == nil {
			m = &Migration{Version: version, Name: parts[2]}
			byVersion[version] = m
		}
		if m.Name != parts[2] {
			return nil, fmt.Errorf("braid: migration %q: number %d is also that of %v; give each its own", file, version, *m)
		}
		if parts[3] == "up" {
			m.Up, m.Hash = string(text), Hash(string(text))
		} else {
			m.Down = string(text)
		}
	}
	var all []Migration
	for _, m := range byVersion {
		if m.Up == "" || m.Down == "" {
			return nil, fmt.Errorf("braid: migration %v: write both the .up.sql and the .down.sql file", *m)
		}
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Migration) int { return a.Version - b.Version })
	for i, m := range all {
		if m.Version != i+1 {
			return nil, fmt.Errorf("braid: migration %v: number %04d is missing before it", m, i+1)
		}
	}
	return all, nil
}

// Hash returns the hash of a migration's SQL. Line ends are taken for \n, so that a
// checkout that rewrites them changes nothing.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(text, "\r\n", "\n")))
	return hex.EncodeToString(sum[:])
}
