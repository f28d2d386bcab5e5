package sqlitestore

import (
	"database/sql"
	"fmt"
	"strings"
)

// CheckInvariants returns what does not hold in the database: what is counted must
// be there, and nothing may be left over from jobs and flows that are gone.
func (s *Store) CheckInvariants() error { return CheckInvariants(s.db) }

// CheckInvariants is Store.CheckInvariants without a store.
func CheckInvariants(db *sql.DB) error {
	var broken []string
	for what, query := range map[string]string{
		"counts per queue, name and state": `
			SELECT queue, name, state, sum(n) FROM (
				SELECT queue, name, state, jobs AS n FROM braid_counts WHERE queue > '' AND name > ''
				UNION ALL SELECT queue, name, state, -count(*) FROM braid_jobs GROUP BY 1, 2, 3
				UNION ALL SELECT queue, name, state + 10, -count(*) FROM braid_jobs WHERE owing GROUP BY 1, 2, 3
			) GROUP BY 1, 2, 3 HAVING sum(n) <> 0`,
		"counts per queue and state": `
			SELECT queue, '', state, sum(n) FROM (
				SELECT queue, state, jobs AS n FROM braid_counts WHERE queue > '' AND name = ''
				UNION ALL SELECT queue, state, -jobs FROM braid_counts WHERE queue > '' AND name > ''
			) GROUP BY 1, 3 HAVING sum(n) <> 0`,
		"counts per name and state": `
			SELECT '', name, state, sum(n) FROM (
				SELECT name, state, jobs AS n FROM braid_counts WHERE queue = '' AND name > ''
				UNION ALL SELECT name, state, -jobs FROM braid_counts WHERE queue > '' AND name > ''
			) GROUP BY 2, 3 HAVING sum(n) <> 0`,
		"counts per state": `
			SELECT '', '', state, sum(n) FROM (
				SELECT state, jobs AS n FROM braid_counts WHERE queue = '' AND name = ''
				UNION ALL SELECT state, -jobs FROM braid_counts WHERE queue > '' AND name > ''
			) GROUP BY 3 HAVING sum(n) <> 0`,
		"empty counts": `SELECT queue, name, state, jobs FROM braid_counts WHERE jobs <= 0`,
		"queues": `
			SELECT queue, 'jobs', sum(n), '' FROM (
				SELECT queue, jobs AS n FROM braid_queues UNION ALL SELECT queue, -count(*) FROM braid_jobs GROUP BY 1
			) GROUP BY 1 HAVING sum(n) <> 0
			UNION ALL SELECT queue, 'idle', jobs, paused FROM braid_queues WHERE jobs = 0 AND NOT paused`,
		"the size of the outbox": `
			SELECT 'stored', outbox, (SELECT count(*) FROM braid_outbox), '' FROM braid_store
			WHERE outbox <> (SELECT count(*) FROM braid_outbox)`,
		"attempts": `
			SELECT job, count(*), '', '' FROM braid_attempts WHERE job NOT IN (SELECT job FROM braid_jobs) GROUP BY 1
			UNION ALL SELECT id, ledger, '', '' FROM braid_jobs j
			WHERE ledger <> (SELECT count(*) FROM braid_attempts a WHERE a.job = j.job)`,
		"payloads": `
			SELECT job, '', '', '' FROM braid_payloads WHERE job NOT IN (SELECT job FROM braid_jobs WHERE large)
			UNION ALL SELECT id, '', '', '' FROM braid_jobs WHERE large AND job NOT IN (SELECT job FROM braid_payloads)`,
		"locks": `
			SELECT id, state, token, lock_expires_at FROM braid_jobs
			WHERE (state = 3) <> (token IS NOT NULL) OR (state = 3) <> (lock_expires_at IS NOT NULL)
				OR state <> 3 AND (cancel_requested OR staged IS NOT NULL OR locked_by IS NOT NULL)`,
		"ends": `
			SELECT id, state, finished_at, outcome FROM braid_jobs
			WHERE (state >= 5) <> (finished_at IS NOT NULL) OR (state >= 5) <> (outcome IS NOT NULL)
				OR state < 5 AND (exit IS NOT NULL OR failed_reason IS NOT NULL OR expires_at IS NOT NULL OR owing)`,
		"dedup keys": `
			SELECT name, key, id, job FROM braid_dedupe d
			WHERE job IS NOT NULL AND NOT EXISTS (SELECT 1 FROM braid_jobs j WHERE j.job = d.job AND j.id = d.id)
				OR expires_at IS NULL AND NOT EXISTS (SELECT 1 FROM braid_jobs j WHERE j.job = d.job AND j.state < 5)`,
		"flows of jobs": `
			SELECT id, flow, staged, '' FROM braid_jobs
			WHERE flow IS NOT NULL AND flow NOT IN (SELECT flow FROM braid_flows WHERE standing <> 4)
				OR staged IS NOT NULL AND staged NOT IN (SELECT flow FROM braid_flows WHERE standing = 0)`,
		"flows without jobs": `
			SELECT flow, job_id, standing, '' FROM braid_flows
			WHERE standing <> 4 AND flow NOT IN (SELECT ifnull(flow, staged) FROM braid_jobs WHERE ifnull(flow, staged) IS NOT NULL)
				AND flow NOT IN (SELECT staged FROM braid_jobs WHERE staged IS NOT NULL)`,
		"numbers of children": `
			SELECT flow, job_id, children, pending + completed + failed + cancelled FROM braid_flows f
			WHERE children <> (SELECT count(*) FROM braid_children c WHERE c.flow = f.flow)
				OR landed_at IS NOT NULL AND standing <> 4 AND children <> pending + completed + failed + cancelled`,
		"children without flow, or without request": `
			SELECT child, flow, child_key, '' FROM braid_children
			WHERE flow NOT IN (SELECT flow FROM braid_flows) OR child NOT IN (SELECT child FROM braid_child_requests)`,
		"requests without child": `SELECT child, '', '', '' FROM braid_child_requests WHERE child NOT IN (SELECT child FROM braid_children)`,
		"owed cascades": `
			SELECT flow, owed, '', '' FROM braid_flows f WHERE landed_at IS NOT NULL AND standing <> 4
				AND owed <> iif(settled_early, (SELECT count(*) FROM braid_children c WHERE c.flow = f.flow AND status = 1), 0)`,
	} {
		found, err := rowsOf(db, query)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		for _, row := range found {
			broken = append(broken, what+": "+row)
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("does not hold:\n%s", strings.Join(broken, "\n"))
	}
	return nil
}

// rowsOf returns the rows of a query with four columns, as text.
func rowsOf(db *sql.DB, query string) ([]string, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var a, b, c, d any
		if err := rows.Scan(&a, &b, &c, &d); err != nil {
			return nil, err
		}
		found = append(found, fmt.Sprint(a, " ", b, " ", c, " ", d))
	}
	return found, rows.Err()
}
