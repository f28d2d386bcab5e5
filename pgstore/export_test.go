package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Empty empties the tables of a schema, as if they were new.
func Empty(ctx context.Context, url, schema string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	n := names{schema: schema, prefix: defaultPrefix}
	_, err = conn.Exec(ctx, n.render(`TRUNCATE @jobs, @attempts, @counts, @changes, @paused, @trims, @dedupe, @watches, @schedules,
		@flows, @children, @requests, @outbox, @workers, @stats, @stat_changes, @depths RESTART IDENTITY; ALTER SEQUENCE @ids RESTART; ALTER SEQUENCE @numbers RESTART`))
	return err
}

// CheckInvariants returns what does not hold in the database: what is counted must be
// there, and nothing may be left over from jobs and flows that are gone.
func (s *Store) CheckInvariants(ctx context.Context) error {
	return checkInvariants(ctx, s.pool, s.names)
}

func checkInvariants(ctx context.Context, pool *pgxpool.Pool, n names) error {
	var broken []string
	for what, query := range map[string]string{
		"counts": `
			SELECT queue, name, state::text, sum(n)::text FROM (
				SELECT queue, name, state, jobs AS n FROM @counts WHERE state > 0
				UNION ALL SELECT queue, name, state, jobs FROM @changes WHERE state > 0
				UNION ALL SELECT queue, name, state, -count(*) FROM @jobs GROUP BY 1, 2, 3
				UNION ALL SELECT queue, name, state + 10, -count(*) FROM @jobs WHERE owing GROUP BY 1, 2, 3
			) AS c GROUP BY 1, 2, 3 HAVING sum(n) <> 0`,
		"the size of the outbox": `
			SELECT 'stored', n::text, (SELECT count(*) FROM @outbox)::text, '' FROM (
				SELECT coalesce(sum(jobs), 0) AS n FROM (
					SELECT jobs FROM @counts WHERE state = 0 UNION ALL SELECT jobs FROM @changes WHERE state = 0) AS c) AS s
			WHERE n <> (SELECT count(*) FROM @outbox)`,
		"attempts": `
			SELECT id, count(*)::text, '', '' FROM @attempts WHERE id NOT IN (SELECT id FROM @jobs) GROUP BY 1
			UNION ALL SELECT id, ledger::text, '', '' FROM @jobs j
			WHERE ledger <> (SELECT count(*) FROM @attempts a WHERE a.id = j.id)`,
		"locks": `
			SELECT id, state::text, token, lock_expires_at::text FROM @jobs
			WHERE (state = 3) <> (token IS NOT NULL) OR (state = 3) <> (lock_expires_at IS NOT NULL)
				OR state <> 3 AND (cancel_requested OR staged IS NOT NULL) OR state < 5 AND state <> 3 AND locked_by IS NOT NULL`,
		"ends": `
			SELECT id, state::text, finished_at::text, outcome::text FROM @jobs
			WHERE (state >= 5) <> (finished_at IS NOT NULL) OR (state >= 5) <> (outcome IS NOT NULL)
				OR state < 5 AND (exit IS NOT NULL OR failed_reason IS NOT NULL OR expires_at IS NOT NULL OR owing)`,
		"dedup keys": `
			SELECT name, key, id, owned::text FROM @dedupe d
			WHERE owned AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.id = d.id)
				OR expires_at IS NULL AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.id = d.id AND j.state < 5)`,
		"flows of jobs": `
			SELECT id, flow::text, staged::text, '' FROM @jobs
			WHERE flow IS NOT NULL AND flow NOT IN (SELECT flow FROM @flows WHERE standing <> 4)
				OR staged IS NOT NULL AND staged NOT IN (SELECT flow FROM @flows WHERE standing = 0)`,
		"flows without jobs": `
			SELECT flow::text, job_id, standing::text, '' FROM @flows f
			WHERE standing <> 4 AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE f.flow IN (j.flow, j.staged))`,
		"numbers of children": `
			SELECT flow::text, job_id, children::text, (pending + completed + failed + cancelled)::text FROM @flows f
			WHERE children <> (SELECT count(*) FROM @children c WHERE c.flow = f.flow)
				OR landed_at IS NOT NULL AND standing <> 4 AND children <> pending + completed + failed + cancelled`,
		"children without flow, or without request": `
			SELECT flow::text, child_key, '', '' FROM @children c
			WHERE flow NOT IN (SELECT flow FROM @flows)
				OR NOT EXISTS (SELECT 1 FROM @requests r WHERE r.flow = c.flow AND r.child_key = c.child_key)`,
		"requests without child": `
			SELECT flow::text, child_key, '', '' FROM @requests r
			WHERE NOT EXISTS (SELECT 1 FROM @children c WHERE r.flow = c.flow AND r.child_key = c.child_key)`,
		"stats": `
			SELECT minute::text, queue, outcome::text, runs::text FROM (TABLE @stats UNION ALL TABLE @stat_changes) AS s
			WHERE minute % 60000 <> 0 OR runs < 1 OR run_time < 0 OR wait_time < 0`,
		"owed cascades": `
			SELECT flow::text, owed::text, '', '' FROM @flows f WHERE landed_at IS NOT NULL AND standing <> 4
				AND owed <> CASE WHEN settled_early THEN (SELECT count(*) FROM @children c WHERE c.flow = f.flow AND status = 1) ELSE 0 END`,
	} {
		rows, err := pool.Query(ctx, n.render(query))
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var a, b, c, d *string
			err := row.Scan(&a, &b, &c, &d)
			return strings.Join([]string{orZero(a), orZero(b), orZero(c), orZero(d)}, " "), err
		})
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

// LengthenHeads lets the store take every head for one with many dead entries, as soon as
// something was claimed from it.
func (s *Store) LengthenHeads() { s.heads.slow, s.heads.lag, s.heads.longHead = 0, 0, 0 }

// HeadIsLong reports whether claims of a queue and name begin at a place.
func (s *Store) HeadIsLong(queue, name string) bool {
	s.heads.mu.Lock()
	defer s.heads.mu.Unlock()
	head := s.heads.heads[headKey{queue, name}]
	return head != nil && head.long
}
