-- Forgets abandoned flows that have no children left.
DELETE FROM @flows WHERE flow = ANY(ARRAY(
  SELECT flow FROM @flows WHERE standing = 4 AND children <= 0 ORDER BY turn LIMIT $1::int FOR UPDATE SKIP LOCKED));
