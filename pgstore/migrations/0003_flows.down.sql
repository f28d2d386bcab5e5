DROP TABLE @outbox;
DROP TABLE @requests;
DROP TABLE @children;
DROP TABLE @flows;
