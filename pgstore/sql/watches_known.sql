-- Which of some watches are there: a crash of the server forgets them.
SELECT watch FROM @watches WHERE watch = ANY($1::bigint[]);
