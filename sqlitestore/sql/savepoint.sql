-- One call among those of a transaction.
SAVEPOINT braid_call;
