DELETE FROM @flows WHERE flow = ANY($1::bigint[]);
