SELECT count(pg_notify($1::text, payload)) FROM unnest($2::text[]) AS u (payload);
