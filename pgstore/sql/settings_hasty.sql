-- For the transaction: locks are waited for only shortly.
SELECT set_config('lock_timeout', '20ms', true);
