package pgstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/internal/testserver"
)

// connectToTables returns a connection to fresh tables, and how they are named.
func connectToTables(t *testing.T) (*pgx.Conn, names) {
	t.Helper()
	ctx := t.Context()
	url := testserver.SharedPostgres(t)
	n := names{schema: fmt.Sprintf("statements_%d_%s", os.Getpid(), strings.ToLower(t.Name())), prefix: defaultPrefix}
	n.schema = n.schema[:min(len(n.schema), maxNameBytes)]
	s, err := Open(ctx, url, WithSchema(n.schema), WithMigrate())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := conn.Exec(ctx, "DROP SCHEMA "+quoteName(n.schema)+" CASCADE"); err != nil {
			t.Error(err)
		}
		_ = conn.Close(ctx)
	})
	return conn, n
}

func TestEveryStatementCanBePrepared(t *testing.T) {
	conn, n := connectToTables(t)
	for st, sql := range renderStatements(n, nil) {
		if _, err := conn.Prepare(t.Context(), string(st), sql); err != nil {
			t.Errorf("sql/%s.sql: %v", st, err)
		}
	}
}

// A statement is named by a string, so the compiler does not hold the names against
// the files.
func TestTheCodeNamesEveryStatementAndNoOther(t *testing.T) {
	var code strings.Builder
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	for st := range statementTexts {
		name := strings.TrimSuffix(strings.TrimSuffix(string(st), "_up"), "_down")
		if !strings.Contains(code.String(), `"`+name+`"`) {
			t.Errorf("nothing uses sql/%s.sql", st)
		}
	}
	calls := regexp.MustCompile(`(?:exec|affect|query|scan|queueNames|affects|schedules|page)\((?:ctx, "[A-Za-z]+", )?"([a-z_]+)"`)
	for _, call := range calls.FindAllStringSubmatch(code.String(), -1) {
		if statementTexts[statement(call[1])] == "" && statementTexts[statement(call[1]+"_up")] == "" {
			t.Errorf("there is no file sql/%s.sql", call[1])
		}
	}
}

// scans are the statements that may read a table from one end to the other, each with
// the table and the reason.
var scans = map[statement]map[string]string{
	"trims_sweep":        {"trims": "groups with a trim left over are few"},
	"history_sweep":      {"counts": "names are few beside jobs", "changes": "those of a second"},
	"trims_apply":        {"changes": "those of a second", "trims": "groups with a trim left over are few"},
	"counts_of_queue":    {"counts": "pairs of queue and name are few beside jobs", "changes": "those of a second"},
	"queues_all":         {"counts": "pairs of queue and name are few beside jobs", "changes": "those of a second", "paused": "it lists them"},
	"queues_paused":      {"paused": "it lists them"},
	"list_lanes":         {"counts": "pairs of queue and name are few beside jobs", "changes": "those of a second"},
	"list_looks":         {"counts": "pairs of queue and name are few beside jobs", "changes": "those of a second"},
	"job_position":       {"changes": "those of a second"},
	"outbox_backlog":     {"changes": "those of a second", "outbox": "the keys are found one by one"},
	"fold":               {"changes": "it empties it"},
	"fold_drop_empty":    {"counts": "pairs of queue and name are few beside jobs"},
	"claim_resume":       {"jobs": "active jobs are as many as workers run"},
	"list_own":           {"jobs": "it is used where there are few"},
	"cancels_requested":  {"jobs": "cancel requests leave with the run"},
	"flows_due":          {"flows": "it reads an index of its own up to its limit"},
	"flows_sweep":        {"flows": "it reads an index of its own up to its limit"},
	"children_sweep":     {"flows": "it reads an index of its own up to its limit"},
	"children_owed":      {"flows": "it reads an index of its own up to its limit"},
	"children_asked":     {"flows": "it reads an index of its own up to its limit"},
	"outbox_peek":        {"outbox": "the keys are found one by one"},
	"outbox_hold":        {"outbox": "the keys are found one by one"},
	"outbox_unhold":      {"outbox": "the keys are found one by one"},
	"watches_sweep":      {"watches": "watches are as many as wait"},
	"watches_tell_plain": {"watches": "watches are as many as wait"},
	"schedules_after":    {"schedules": "it lists them"},
	"stats_fold":         {"stat_changes": "it empties it"},
	"stats_range":        {"stat_changes": "those of a second"},
}

// With 100,000 jobs no statement reads a table from one end to the other, under the
// settings that the store's transactions have.
func TestNoStatementScansATable(t *testing.T) {
	conn, n := connectToTables(t)
	fill(t, conn, n)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			mustExec(t, conn, "ANALYZE")
		}
		for st := range statementTexts {
			for _, found := range scansOf(planOf(t, conn, n, st)) {
				table := strings.TrimPrefix(found.table, n.prefix)
				if scans[st][table] == "" {
					t.Errorf("sql/%s.sql, statistics %v, reads all of %s:\n%s", st, analyzed, table, found.line)
				}
			}
		}
	}
}

// The plan of what every job goes through is pinned: another index would still be no
// scan, and slow.
func TestHotStatementsUseTheirIndex(t *testing.T) {
	conn, n := connectToTables(t)
	fill(t, conn, n)
	mustExec(t, conn, "ANALYZE")
	for st, index := range map[statement]string{
		"claim_hold": "jobs_waiting", "claim_promote": "jobs_delayed", "head_strays": "jobs_waiting", "due_strays": "jobs_delayed", "ack_plain": "jobs_pkey",
		"jobs_update": "jobs_pkey", "jobs_stalled": "jobs_active", "trims_apply": "jobs_finished", "history_sweep": "jobs_expiring",
		"list_enqueued_down": "jobs_listed", "list_enqueued_up": "jobs_listed", "list_finished_down": "jobs_finished",
		"list_delayed_up": "jobs_due", "list_delayed_down": "jobs_due", "children_after": "children_pkey", "children_owed": "children_fresh",
		"outbox_hold": "outbox_ready", "schedules_due": "schedules_due", "watches_end": "watches_open",
		"workers_after": "workers_pkey", "workers_lapse": "workers_expiring", "stats_range": "stats_pkey", "stats_sweep": "stats_pkey",
	} {
		if plan := strings.Join(planOf(t, conn, n, st), "\n"); !strings.Contains(plan, n.prefix+index) {
			t.Errorf("sql/%s.sql does not use %s:\n%s", st, index, plan)
		}
	}
}

// An index of jobs of all states must not be what the planner takes instead of the index
// of those that wait, however large that looks to it.
func TestClaimsUseNoIndexOfAllStates(t *testing.T) {
	conn, n := connectToTables(t)
	fill(t, conn, n)
	mustExec(t, conn, n.render("DROP INDEX @jobs_waiting, @jobs_delayed"))
	for _, st := range []statement{"claim_hold", "claim_promote", "head_strays", "due_strays", "job_position"} {
		if plan := strings.Join(planOf(t, conn, n, st), "\n"); strings.Contains(plan, "jobs_listed") || strings.Contains(plan, "jobs_due") {
			t.Errorf("sql/%s.sql uses an index that is for lists:\n%s", st, plan)
		}
	}
}

// foundScan is a scan of a whole table or index.
type foundScan struct{ table, line string }

var (
	seqScan   = regexp.MustCompile(`Seq Scan on (\S+)`)
	indexScan = regexp.MustCompile(`Index (?:Only )?Scan(?: Backward)? using \S+ on (\S+)`)
)

// scansOf returns the scans of a plan that no condition bounds.
func scansOf(plan []string) []foundScan {
	var found []foundScan
	for i, line := range plan {
		if m := seqScan.FindStringSubmatch(line); m != nil {
			found = append(found, foundScan{m[1], line})
		}
		if m := indexScan.FindStringSubmatch(line); m != nil {
			bounded := i+1 < len(plan) && strings.Contains(plan[i+1], "Index Cond:")
			if !bounded {
				found = append(found, foundScan{m[1], line})
			}
		}
	}
	return found
}

// planOf returns the lines of a statement's plan, as it is kept for any arguments.
func planOf(t *testing.T, conn *pgx.Conn, n names, st statement) []string {
	t.Helper()
	ctx := t.Context()
	sql := renderStatements(n, nil)[st]
	if !regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|WITH)`).MatchString(sql) {
		return nil
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	most := 0
	for _, m := range regexp.MustCompile(`\$([0-9]+)`).FindAllStringSubmatch(sql, -1) {
		number, _ := strconv.Atoi(m[1])
		most = max(most, number)
	}
	args := ""
	if most > 0 {
		args = "(" + strings.Join(slices.Repeat([]string{"NULL"}, most), ", ") + ")"
	}
	for _, text := range []string{n.render(statementTexts["settings"]), "DEALLOCATE ALL", "PREPARE planned AS " + sql} {
		if _, err := tx.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("sql/%s.sql: %v", st, err)
		}
	}
	rows, err := tx.Query(ctx, "EXPLAIN EXECUTE planned"+args, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("sql/%s.sql: %v", st, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("sql/%s.sql: %v", st, err)
	}
	return lines
}

func mustExec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// fill puts 100,000 jobs in all states into the tables, and some of everything else.
func fill(t *testing.T, conn *pgx.Conn, n names) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO @jobs (id, state, queue, name, priority, seq, attempts_max, run_at, enqueued_at, plain,
				token, lock_expires_at, finished_at, turn, outcome, expires_at, cancel_requested, metadata)
			SELECT 'j-' || i, s, 'q' || (i % 3), 'n' || (i % 5), i % 2, i, 1, i, i, true,
				CASE WHEN s = 3 THEN 't' END, CASE WHEN s = 3 THEN i END, CASE WHEN s >= 5 THEN i END, i,
				CASE WHEN s >= 5 THEN 1 END, CASE WHEN s = 6 THEN i END, s = 3 AND i % 100 = 0,
				CASE WHEN i % 10 = 0 THEN jsonb_build_object('tenant', 't' || (i % 50)) END
			FROM (SELECT i, CASE WHEN i % 10 < 7 THEN 5 ELSE 1 + i % 7 END AS s FROM generate_series(1, 100000) AS i) AS g`,
		`INSERT INTO @counts SELECT queue, name, state, count(*) FROM @jobs GROUP BY 1, 2, 3`,
		`INSERT INTO @changes (queue, name, state, jobs) SELECT queue, name, state, 0 FROM @jobs LIMIT 2000`,
		`INSERT INTO @attempts (id, attempt, finished_at, outcome) SELECT id, 1, 1, 1 FROM @jobs WHERE seq < 10000`,
		`INSERT INTO @dedupe SELECT name, id, id, CASE WHEN seq % 2 = 0 THEN seq END, true FROM @jobs WHERE seq < 10000`,
		`INSERT INTO @watches (watch, listener, id, ended_at) SELECT seq, 'l' || seq % 10, id, CASE WHEN seq % 2 = 0 THEN seq END FROM @jobs WHERE seq < 10000`,
		`INSERT INTO @flows (flow, job_id, standing, armed_at, landed_at, turn, asked_turn) SELECT seq, id, seq % 5, seq, seq, seq, CASE WHEN seq % 3 > 0 THEN seq END FROM @jobs WHERE seq < 10000`,
		`INSERT INTO @children (flow, child_key, store_key, name, job_id, place, armed_at, turn) SELECT seq % 1000, id, 's', 'n', id, seq % 4, seq, seq FROM @jobs WHERE seq < 20000`,
		`INSERT INTO @requests SELECT flow, child_key, '{}', '1' FROM @children`,
		`INSERT INTO @outbox (entry, at, outcome, flow_name, store_key, flow_id, child_key, job_id, held_until)
			SELECT seq, seq, 2, 'f', 's' || seq % 3, 'f', id, id, CASE WHEN seq % 2 = 0 THEN seq END FROM @jobs WHERE seq < 10000`,
		`INSERT INTO @schedules SELECT id, name, queue, '', '', 1, NULL, NULL, 0, 1, NULL, 0, '', seq, '' FROM @jobs WHERE seq < 1000`,
		`INSERT INTO @workers (id, expires_at, record) SELECT id, seq, '{}' FROM @jobs WHERE seq < 1000`,
		`INSERT INTO @stats (minute, queue, outcome, runs, run_time, wait_time) SELECT seq * 60000, queue, 1, 1, 1, 1 FROM @jobs WHERE seq < 10000`,
		`INSERT INTO @stat_changes (minute, queue, outcome, runs, run_time, wait_time) SELECT seq * 60000, queue, 1, 1, 1, 1 FROM @jobs WHERE seq < 2000`,
	} {
		mustExec(t, conn, n.render(sql))
	}
}
