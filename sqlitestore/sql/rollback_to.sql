ROLLBACK TO braid_call;
