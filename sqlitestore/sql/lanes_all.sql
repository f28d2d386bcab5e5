SELECT queue, name, state, jobs FROM braid_counts WHERE queue > '' AND name > '' AND state < 10;
