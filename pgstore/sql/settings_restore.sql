SELECT set_config('enable_seqscan', $1::text, true), set_config('enable_hashjoin', $2::text, true),
       set_config('enable_mergejoin', $3::text, true), set_config('plan_cache_mode', $4::text, true),
       set_config('jit', $5::text, true);
