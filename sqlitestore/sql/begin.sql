-- The writer's transactions take the write lock at once, so that nothing in them can
-- meet a lock.
BEGIN IMMEDIATE;
