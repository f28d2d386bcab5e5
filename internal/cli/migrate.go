package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/internal/migrate"
	"github.com/braidmq/braid/internal/storeurl"
)

const migrateHelp = `migrate brings the schema of a SQL store to a version.

up applies what is missing; any number of processes may do so at once. down takes the
newest migration back, or all behind --to; what its tables held is lost, and --to 0
removes everything of Braid's. status lists the migrations. sql prints them for other
tools to run on an empty schema, with the rows by which Braid knows that they did.`

func newMigrate() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of a SQL store to a version",
		Long:  migrateHelp,
		Example: `  braid migrate up --store sqlite:jobs.db
  braid migrate status --store sqlite:jobs.db
  braid migrate up --store 'postgres://app@localhost/app?schema=jobs'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.PersistentFlags().StringVar(&store, "store", "", "`URL` of the store")
	with := func(work func(ctx context.Context, m storeurl.Migrator, out io.Writer) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			if store == "" {
				return usagef("the flag --store is missing: name a SQL store, such as sqlite:jobs.db")
			}
			m, err := storeurl.OpenMigrator(cmd.Context(), store)
			if err != nil {
				return err
			}
			defer func() { _ = m.Close() }()
			return work(cmd.Context(), m, cmd.OutOrStdout())
		}
	}
	cmd.AddCommand(newMigrateUp(with), newMigrateDown(with),
		&cobra.Command{Use: "status", Short: "List the migrations", Args: atMost(0), RunE: with(migrateStatus)},
		&cobra.Command{Use: "sql", Short: "Print the migrations as SQL", Args: atMost(0),
			RunE: with(func(_ context.Context, m storeurl.Migrator, out io.Writer) error {
				_, err := io.WriteString(out, m.SQL())
				return err
			})})
	return cmd
}

type migrateWork func(func(ctx context.Context, m storeurl.Migrator, out io.Writer) error) func(*cobra.Command, []string) error

func newMigrateUp(with migrateWork) *cobra.Command {
	var to int
	cmd := &cobra.Command{Use: "up", Short: "Apply what is missing", Args: atMost(0),
		RunE: with(func(ctx context.Context, m storeurl.Migrator, out io.Writer) error {
			if to < 0 {
				to = m.Newest()
			}
			applied, err := appliedMigrations(ctx, m)
			if err != nil {
				return err
			}
			if to < applied {
				return usagef("invalid --to %d: the database is at %d; use down to take it back", to, applied)
			}
			return migrateTo(ctx, m, to, out)
		})}
	cmd.Flags().IntVar(&to, "to", -1, "`VERSION` to stop at; the newest, if it is left out")
	return cmd
}

func newMigrateDown(with migrateWork) *cobra.Command {
	var to int
	cmd := &cobra.Command{Use: "down", Short: "Take migrations back, with what their tables hold", Args: atMost(0),
		RunE: with(func(ctx context.Context, m storeurl.Migrator, out io.Writer) error {
			applied, err := appliedMigrations(ctx, m)
			if err != nil {
				return err
			}
			switch {
			case to < 0:
				to = max(applied-1, 0)
			case to > applied:
				return usagef("invalid --to %d: the database is at %d; use up to apply more", to, applied)
			}
			return migrateTo(ctx, m, to, out)
		})}
	cmd.Flags().IntVar(&to, "to", -1, "`VERSION` to go back to; the one before the newest, if it is left out")
	return cmd
}

func appliedMigrations(ctx context.Context, m storeurl.Migrator) (int, error) {
	all, err := m.Status(ctx)
	if err != nil {
		return 0, err
	}
	applied := 0
	for _, status := range all {
		if status.State != migrate.StatePending {
			applied = status.Version
		}
	}
	return applied, nil
}

func migrateTo(ctx context.Context, m storeurl.Migrator, version int, out io.Writer) error {
	steps, err := m.To(ctx, version)
	if err != nil {
		return err
	}
	for _, step := range steps {
		fmt.Fprintln(out, step)
	}
	_, err = fmt.Fprintf(out, "The schema is at version %d of %d.\n", version, m.Newest())
	return err
}

func migrateStatus(ctx context.Context, m storeurl.Migrator, out io.Writer) error {
	all, err := m.Status(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, status := range all {
		fmt.Fprintf(table, "%04d_%s\t%s\n", status.Version, status.Name, status.State)
	}
	return table.Flush()
}
