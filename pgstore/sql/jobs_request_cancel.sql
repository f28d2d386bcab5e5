UPDATE @jobs SET cancel_requested = true WHERE id = ANY($1::text[]) AND NOT cancel_requested;
