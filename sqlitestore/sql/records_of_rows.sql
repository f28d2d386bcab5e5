-- The records of a JSON list of rows. They come in its order, since the list is the
-- outer loop; a sort would read all of them before the first.
SELECT r.* FROM json_each(?1) e CROSS JOIN braid_records r ON r.job = e.value;
