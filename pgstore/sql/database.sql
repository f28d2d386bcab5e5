-- Which database this is, and whether row-level security may hide jobs from the role.
SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()),
       row_security_active(@'jobs'::text);
