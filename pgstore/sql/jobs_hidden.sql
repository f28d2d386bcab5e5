-- Which of some ids, of jobs that exist, row-level security hides from the caller's role.
SELECT u.id FROM unnest($1::text[]) AS u (id)
WHERE row_security_active(@'jobs'::text) AND NOT EXISTS (SELECT 1 FROM @jobs j WHERE j.id = u.id);
