-- For the transaction: plans that are good for a table of any size. A plan that was
-- made while a queue was empty, and is kept, would read all of it once it is full.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('jit', 'off', true);
