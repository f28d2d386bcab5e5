package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// openForTest opens a store in a file of its own.
func openForTest(t testing.TB, opts ...Option) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "jobs.db"), append([]Option{WithRelaxedDurability()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestEveryStatementCanBePrepared(t *testing.T) {
	s := openForTest(t)
	for st := range statementTexts {
		prepared, err := s.db.Prepare(st.text())
		if err != nil {
			t.Errorf("sql/%s.sql: %v", st, err)
			continue
		}
		defer prepared.Close()
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
	calls := regexp.MustCompile(`(?:exec|affect|insert|query|first|flows|openRows)\((?:on, |t, |st, |c, |l\.on, )?"([a-z_]+)"`)
	for _, call := range calls.FindAllStringSubmatch(code.String(), -1) {
		if statementTexts[statement(call[1])] == "" {
			t.Errorf("there is no file sql/%s.sql", call[1])
		}
	}
}

// scans are the statements that may read a table or an index from one end to the
// other, each with its reason.
var scans = map[statement]string{
	"queues_all":            "it lists them",
	"queues_paused":         "queues are few beside jobs",
	"lanes_all":             "pairs of queue and name are few beside jobs",
	"lanes_of_name":         "queues are few beside jobs",
	"trims_any":             "it stops at the first row",
	"trims_first":           "it stops at the first row",
	"flows_due":             "it reads an index of its own up to its limit",
	"flows_owed":            "it reads an index of its own up to its limit",
	"flow_first_abandoned":  "it reads an index of its own up to its limit",
	"claim_resume":          "active jobs are as many as workers run",
	"own_active":            "it is used where there are few",
	"own_parked":            "it is used where there are few",
	"jobs_cancel_requested": "cancel requests leave with the run",
}

// With 100,000 rows; one fill serves for all plans, since it takes the time.
func TestPlans(t *testing.T) {
	s := openForTest(t)
	fill(t, s.db)
	t.Run("hot statements use their index", func(t *testing.T) { hotStatementsUseTheirIndex(t, s) })
	t.Run("no statement scans a table", func(t *testing.T) { noStatementScansATable(t, s) })
}

func noStatementScansATable(t *testing.T, s *Store) {
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			// Statistics change what SQLite chooses; users may gather them.
			if _, err := s.db.Exec("ANALYZE"); err != nil {
				t.Fatal(err)
			}
		}
		for st := range statementTexts {
			for _, line := range planOf(t, s.db, st) {
				scan := strings.HasPrefix(line, "SCAN ") && !strings.Contains(line, "json_each") && !strings.Contains(strings.ToLower(line), "(subquery") &&
					!strings.Contains(line, "CONSTANT ROW") && !strings.Contains(line, "VALUES CLAUSE") && !strings.Contains(line, "VIRTUAL TABLE")
				if _, allowed := scans[st]; scan && !allowed {
					t.Errorf("sql/%s.sql, statistics %v: %s", st, analyzed, line)
				}
				sort := strings.Contains(line, "USE TEMP B-TREE FOR ORDER BY") && st != "claim_resume"
				if sort || strings.Contains(line, "AUTOMATIC") {
					t.Errorf("sql/%s.sql, statistics %v: %s", st, analyzed, line)
				}
			}
		}
	}
}

// The plan of what every job goes through is pinned: another index would still be no
// scan, and slow.
func hotStatementsUseTheirIndex(t *testing.T, s *Store) {
	for st, index := range map[statement]string{
		"waiting_first":        "braid_jobs_waiting (queue=? AND name=?)",
		"waiting_after":        "braid_jobs_waiting (queue=? AND name=? AND (precedence,seq)>(?,?))",
		"delayed_first":        "braid_jobs_delayed (queue=?)",
		"delayed_promote":      "braid_jobs_delayed (queue=? AND run_at<?)",
		"stalled":              "braid_jobs_active (lock_expires_at<?)",
		"finished_before":      "braid_jobs_finished (name=? AND state=? AND owing=? AND (finished_at,turn)<(?,?))",
		"finished_from_oldest": "braid_jobs_finished (name=? AND state=? AND owing=?)",
		"expiring_own":         "braid_jobs_expiring (expires_at>? AND expires_at<?)",
		"list_enqueued_down":   "braid_jobs_listed (queue=? AND name=? AND (enqueued_at,id)<(?,?))",
		"list_enqueued_up":     "braid_jobs_listed (queue=? AND name=? AND (enqueued_at,id)>(?,?))",
		"list_delayed_up":      "braid_jobs_delayed_listed (queue=? AND (run_at,id)>(?,?))",
		"list_delayed_down":    "braid_jobs_delayed_listed (queue=? AND (run_at,id)<(?,?))",
		"list_finished_down":   "braid_jobs_finished (name=? AND state=? AND owing=? AND finished_at<?)",
		"children_after":       "braid_children_keyed (flow=? AND child_key>?)",
		"outbox_ready_after":   "braid_outbox_ready (store_key=? AND entry>?)",
		"schedules_due":        "braid_schedules_due ((next_run_at,key)>(?,?) AND next_run_at<?)",
	} {
		plan := strings.Join(planOf(t, s.db, st), "\n")
		if !strings.Contains(plan, index) {
			t.Errorf("sql/%s.sql does not use %s:\n%s", st, index, plan)
		}
	}
}

// planOf returns the lines of a statement's plan.
func planOf(t *testing.T, db *sql.DB, st statement) []string {
	t.Helper()
	if regexp.MustCompile(`(?m)^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA)`).MatchString(st.text()) {
		return nil
	}
	args := make([]any, strings.Count(st.text(), "?"))
	rows, err := db.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+st.text(), args...)
	if err != nil {
		t.Fatalf("sql/%s.sql: %v", st, err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// fill puts 100,000 jobs in all states into the database, and some of everything
// else.
func fill(t *testing.T, db *sql.DB) {
	t.Helper()
	const jobs = 100_000
	for _, text := range []string{
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO braid_jobs (id, state, queue, name, precedence, seq, attempts_max, run_at, enqueued_at,
				token, lock_expires_at, finished_at, turn, outcome, expires_at, cancel_requested)
			SELECT 'j-' || i, s, 'q' || (i %% 3), 'n' || (i %% 5), i %% 2, i, 1, i, i,
				iif(s = 3, 't', NULL), iif(s = 3, i, NULL), iif(s >= 5, i, NULL), i, iif(s >= 5, 1, NULL), iif(s = 6, i, NULL), s = 3 AND i %% 100 = 0
			FROM (SELECT i, iif(i %% 10 < 7, 5, 1 + i %% 7) AS s FROM n)`, jobs),
		`INSERT INTO braid_counts SELECT queue, name, state, count(*) FROM braid_jobs GROUP BY 1, 2, 3`,
		`INSERT INTO braid_queues SELECT queue, count(*), 0, 1 FROM braid_jobs GROUP BY 1`,
		`INSERT INTO braid_attempts (job, attempt, finished_at, outcome) SELECT job, 1, 1, 1 FROM braid_jobs WHERE job < 10000`,
		`INSERT INTO braid_payloads SELECT job, '1' FROM braid_jobs WHERE job < 10000`,
		`INSERT INTO braid_dedupe SELECT name, id, id, job, iif(job % 2, job, NULL) FROM braid_jobs WHERE job < 10000`,
		`INSERT INTO braid_flows (job_id, standing, armed_at, turn, asked_turn) SELECT id, job % 5, job, job, iif(job % 3, NULL, job) FROM braid_jobs WHERE job < 10000`,
		`INSERT INTO braid_children (flow, child_key, store_key, name, job_id, place) SELECT job % 1000, id, 's', 'n', id, job % 4 FROM braid_jobs WHERE job < 20000`,
		`INSERT INTO braid_child_requests SELECT child, '{}', '1' FROM braid_children`,
		`INSERT INTO braid_outbox (at, flow_name, store_key, flow_id, child_key, outcome, job_id, held_until)
			SELECT job, 'f', 's' || (job % 3), 'f', id, 2, id, iif(job % 2, job, NULL) FROM braid_jobs WHERE job < 10000`,
		`INSERT INTO braid_schedules SELECT id, name, queue, '', '', 1, NULL, NULL, 0, 1, NULL, 0, '', job, '' FROM braid_jobs WHERE job < 1000`,
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}
