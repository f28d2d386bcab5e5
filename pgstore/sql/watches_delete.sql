DELETE FROM @watches WHERE watch = ANY($1::bigint[]);
