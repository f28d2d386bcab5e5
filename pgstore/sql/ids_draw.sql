SELECT nextval(@'ids') FROM generate_series(1, $1::int);
