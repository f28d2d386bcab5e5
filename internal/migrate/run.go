package migrate

import (
	"context"
	"fmt"
	"strings"
)

// Executor runs migrations in one database.
type Executor interface {
	// Locked calls work while no other process migrates the same schema. Where the
	// database can, all of work is one transaction, which an error of work undoes.
	Locked(ctx context.Context, work func(ctx context.Context) error) error
	// Applied returns what was applied, in order of the versions. A database that
	// has never been migrated has nothing; asking changes nothing.
	Applied(ctx context.Context) ([]Applied, error)
	// Apply runs the step's SQL and remembers it, or forgets it if the step leads
	// back, in one transaction. It is called within Locked only.
	Apply(ctx context.Context, step Step) error
}

// Up applies every migration that is missing and returns the steps that it took:
// none where others were quicker.
func Up(ctx context.Context, in Executor, known []Migration) ([]Step, error) {
	return To(ctx, in, known, len(known))
}

// To takes the schema to a version, up or down, and returns the steps that it took.
// Version 0 is the schema without anything of Braid's.
func To(ctx context.Context, in Executor, known []Migration, version int) ([]Step, error) {
	var taken []Step
	err := in.Locked(ctx, func(ctx context.Context) error {
		taken = nil
		applied, err := in.Applied(ctx)
		if err != nil {
			return err
		}
		steps, err := Plan(known, applied, version)
		if err != nil {
			return err
		}
		for _, step := range steps {
			if err := in.Apply(ctx, step); err != nil {
				return fmt.Errorf("braid: migration %v: %w", step, err)
			}
			taken = append(taken, step)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// Export returns the steps as SQL for other tools to run. note returns the
// statement by which a database remembers the step, so that a store that opens the
// database afterwards finds it migrated.
func Export(steps []Step, note func(Step) string) string {
	var text strings.Builder
	for _, step := range steps {
		fmt.Fprintf(&text, "-- Braid: %v\n%s\n%s;\n\n", step, strings.TrimSpace(step.SQL()), note(step))
	}
	return text.String()
}
