UPDATE @jobs SET staged = $2::bigint WHERE id = $1::text;
