-- How a call gives the jobs that it inserts.
--
-- What jobs of a batch have in common is their shape, five strings: name, queue, score in
-- the lane, core (the first 6 bytes of the head), runAt (8 bytes). Besides, a job has
-- three: tail (the head behind enqueuedAt), spec (empty: it is in the tail), and dedupe
-- (see lib/dedupe.lua; empty: none). request.go composes them.
local SHAPE_STRINGS = 5
