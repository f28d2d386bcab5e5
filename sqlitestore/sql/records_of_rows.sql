-- The records of a JSON list of rows, in its order.
SELECT r.* FROM json_each(?1) e CROSS JOIN braid_records r ON r.job = e.value ORDER BY e.key;
