-- Armed flows whose time has come are due, behind those that are already.
WITH armed AS MATERIALIZED (
  SELECT flow, nextval(@'numbers') AS turn FROM (
    SELECT flow FROM @flows WHERE standing = 1 AND armed_at <= $1::bigint ORDER BY armed_at, turn LIMIT $2::int FOR UPDATE SKIP LOCKED
  ) AS a
)
UPDATE @flows f SET standing = 2, turn = a.turn FROM armed a WHERE f.flow = a.flow;
