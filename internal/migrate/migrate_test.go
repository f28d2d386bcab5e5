package migrate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/braidmq/braid/driver"
)

func folder(names ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, name := range names {
		files[name] = &fstest.MapFile{Data: []byte("-- " + name + "\nSELECT 1;\n")}
	}
	return files
}

var two = []string{"0001_jobs.up.sql", "0001_jobs.down.sql", "0002_more.up.sql", "0002_more.down.sql"}

func load(t *testing.T, names ...string) []Migration {
	t.Helper()
	all, err := Load(folder(names...))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLoadOrdersAndPairs(t *testing.T) {
	all := load(t, two...)
	if len(all) != 2 || all[0].String() != "0001_jobs" || all[1].String() != "0002_more" {
		t.Fatalf("loaded %v", all)
	}
	if !strings.Contains(all[1].Up, "0002_more.up") || !strings.Contains(all[1].Down, "0002_more.down") {
		t.Errorf("the second migration reads %q up and %q down", all[1].Up, all[1].Down)
	}
}

func TestLoadRefusesWhatIsNoSeries(t *testing.T) {
	for want, names := range map[string][]string{
		"use a name such as": {"jobs.sql"},
		"write both":         {"0001_jobs.up.sql"},
		"0001 is missing":    {"0002_more.up.sql", "0002_more.down.sql"},
		"is also that of":    {"0001_jobs.up.sql", "0001_jobs.down.sql", "0001_more.up.sql"},
	} {
		if _, err := Load(folder(names...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load of %q: %v; want %q", names, err, want)
		}
	}
}

func TestLineEndsDoNotChangeTheHash(t *testing.T) {
	if Hash("a\r\nb\r\n") != Hash("a\nb\n") || Hash("a\nb\n") == Hash("a\nb") {
		t.Error("the hash depends on line ends, or on nothing")
	}
}

// memory is a database that only remembers.
type memory struct {
	applied []Applied
	ran     []string
	fail    error
}

func (m *memory) Locked(ctx context.Context, work func(context.Context) error) error {
	before := slices.Clone(m.applied)
	if err := work(ctx); err != nil {
		m.applied = before
		return err
	}
	return nil
}

func (m *memory) Applied(context.Context) ([]Applied, error) { return m.applied, nil }

func (m *memory) Apply(_ context.Context, step Step) error {
	if m.fail != nil && len(m.ran) == 1 {
		return m.fail
	}
	m.ran = append(m.ran, step.String())
	if step.Back {
		m.applied = m.applied[:len(m.applied)-1]
	} else {
		m.applied = append(m.applied, Applied{Version: step.Version, Name: step.Name, Hash: step.Hash})
	}
	return nil
}

func TestUpAndDown(t *testing.T) {
	all, db := load(t, two...), &memory{}
	if err := Check(all, db.applied, "braid migrate up"); !errors.Is(err, ErrPending) || !strings.Contains(err.Error(), "braid migrate up") {
		t.Errorf("Check of an empty database: %v", err)
	}
	steps, err := Up(t.Context(), db, all)
	if err != nil || len(steps) != 2 {
		t.Fatalf("Up took %v, %v", steps, err)
	}
	if err := Check(all, db.applied, ""); err != nil {
		t.Errorf("Check after Up: %v", err)
	}
	if steps, err := Up(t.Context(), db, all); err != nil || len(steps) != 0 {
		t.Errorf("a second Up took %v, %v", steps, err)
	}
	if _, err := To(t.Context(), db, all, 0); err != nil {
		t.Fatal(err)
	}
	want := []string{"up 0001_jobs", "up 0002_more", "down 0002_more", "down 0001_jobs"}
	if !slices.Equal(db.ran, want) {
		t.Errorf("ran %q, want %q", db.ran, want)
	}
	if _, err := To(t.Context(), db, all, 3); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("To a version that does not exist: %v", err)
	}
}

func TestAFailedStepIsNamed(t *testing.T) {
	db := &memory{fail: errors.New("no such column")}
	steps, err := Up(t.Context(), db, load(t, two...))
	if err == nil || !strings.Contains(err.Error(), "0002_more") || steps != nil {
		t.Errorf("Up took %v, %v", steps, err)
	}
	if len(db.applied) != 0 {
		t.Errorf("%v stay applied", db.applied)
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	all := load(t, two...)
	good := func(m Migration) Applied { return Applied{Version: m.Version, Name: m.Name, Hash: m.Hash} }
	changed := good(all[0])
	changed.Hash = "other"
	for _, c := range []struct {
		name    string
		applied []Applied
		want    string
	}{
		{"a newer one", []Applied{good(all[0]), good(all[1]), {Version: 3, Name: "new"}}, "0003_new"},
		{"a changed one", []Applied{changed, good(all[1])}, "0001_jobs"},
		{"one out of order", []Applied{good(all[1])}, "0002_more"},
	} {
		err := Check(all, c.applied, "")
		if err == nil || errors.Is(err, ErrPending) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Check: %v", c.name, err)
		}
		if errors.Is(err, driver.ErrFormatTooNew) != (c.name == "a newer one") {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := Plan(all, c.applied, 2); err == nil {
			t.Errorf("%s: Plan does not refuse it", c.name)
		}
	}
}

func TestExport(t *testing.T) {
	steps, err := Plan(load(t, two...), nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	text := Export(steps, func(s Step) string { return "INSERT " + s.Name })
	first, second := strings.Index(text, "INSERT jobs;"), strings.Index(text, "-- 0002_more.up.sql")
	if first < 0 || second < first {
		t.Errorf("exported\n%s", text)
	}
}
