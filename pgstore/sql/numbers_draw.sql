SELECT nextval(@'numbers') FROM generate_series(1, $1::int);
