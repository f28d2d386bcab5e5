package migrate

import (
	"errors"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// Applied is a migration as a database remembers it.
type Applied struct {
	Version int
	Name    string
	Hash    string
}

// ErrPending is matched by the error that Check returns for a schema that lacks
// migrations.
var ErrPending = errors.New("braid: the database lacks migrations")

// State says how a migration stands in a database.
type State string

// The states of a migration.
const (
	StateApplied State = "applied"
	StatePending State = "pending"
	StateChanged State = "changed" // applied, from a file that reads otherwise now
	StateUnknown State = "unknown" // applied by a newer version of Braid
)

// Status is one line of the answer to how a database stands.
type Status struct {
	Version int
	Name    string
	State   State
}

// Compare tells how each migration stands, known ones and unknown ones, in order.
func Compare(known []Migration, applied []Applied) []Status {
	in := map[int]Applied{}
	for _, a := range applied {
		in[a.Version] = a
	}
	var all []Status
	for _, m := range known {
		status := Status{Version: m.Version, Name: m.Name, State: StatePending}
		if a, ok := in[m.Version]; ok {
			status.State = StateApplied
			if a.Hash != m.Hash {
				status.State = StateChanged
			}
		}
		all = append(all, status)
	}
	for _, a := range applied {
		if a.Version > len(known) {
			all = append(all, Status{Version: a.Version, Name: a.Name, State: StateUnknown})
		}
	}
	return all
}

// Check returns nil if the database has exactly the known migrations. Otherwise the
// error matches [ErrPending], [driver.ErrFormatTooNew], or names the migration that
// was changed. command is what to run where migrations are pending.
func Check(known []Migration, applied []Applied, command string) error {
	pending := 0
	for _, status := range Compare(known, applied) {
		switch status.State {
		case StateUnknown:
			return fmt.Errorf("%w: it has migration %04d_%s, the newest here is %04d; upgrade the program",
				driver.ErrFormatTooNew, status.Version, status.Name, len(known))
		case StateChanged:
			return fmt.Errorf("braid: migration %04d_%s was applied from a file that reads otherwise; "+
				"restore the file, or the database from a backup", status.Version, status.Name)
		case StatePending:
			pending++
		case StateApplied:
			if pending > 0 {
				return fmt.Errorf("braid: migration %04d_%s was applied, one before it was not; restore the database from a backup",
					status.Version, status.Name)
			}
		}
	}
	if pending > 0 {
		return fmt.Errorf("%w: %d of %d; run %s", ErrPending, pending, len(known), command)
	}
	return nil
}

// Step is a migration to run in one direction.
type Step struct {
	Migration
	Back bool // run Down instead of Up
}

// SQL returns the SQL that the step runs.
func (s Step) SQL() string {
	if s.Back {
		return s.Down
	}
	return s.Up
}

// String tells the step to people.
func (s Step) String() string {
	if s.Back {
		return "down " + s.Migration.String()
	}
	return "up " + s.Migration.String()
}

// Plan returns the steps that lead from what is applied to the target version, in
// the order to run them. It refuses what Check refuses, but for pending migrations.
func Plan(known []Migration, applied []Applied, target int) ([]Step, error) {
	if target < 0 || target > len(known) {
		return nil, &driver.InvalidError{Field: "version", Value: fmt.Sprint(target),
			Reason: fmt.Sprintf("is no version; use 0 to %d", len(known))}
	}
	if err := Check(known, applied, ""); err != nil && !errors.Is(err, ErrPending) {
		return nil, err
	}
	var steps []Step
	for version := len(applied) + 1; version <= target; version++ {
		steps = append(steps, Step{Migration: known[version-1]})
	}
	for version := len(applied); version > target; version-- {
		steps = append(steps, Step{Migration: known[version-1], Back: true})
	}
	return steps, nil
}
