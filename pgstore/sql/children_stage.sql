-- Stages children; a page that is sent again overwrites.
WITH items AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS u (child_key, store_key, name, job_id, request, payload)
), staged AS (
  INSERT INTO @children (flow, child_key, store_key, name, job_id) SELECT $1::bigint, child_key, store_key, name, job_id FROM items
  ON CONFLICT (flow, child_key) DO UPDATE SET store_key = excluded.store_key, name = excluded.name, job_id = excluded.job_id
  RETURNING xmax = 0 AS added
), requests AS (
  INSERT INTO @requests (flow, child_key, request, payload) SELECT $1::bigint, child_key, request, payload FROM items
  ON CONFLICT (flow, child_key) DO UPDATE SET request = excluded.request, payload = excluded.payload
)
UPDATE @flows SET children = children + (SELECT count(*) FROM staged WHERE added) WHERE flow = $1::bigint;
