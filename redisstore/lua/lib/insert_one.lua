-- Inserting jobs one by one, among other changes.
-- uses: insert, record

-- put_job inserts a job under an id that is free.
local function put_job(id, shape, tail, spec)
  local seq = next_seq()
  new_heads[id], jobs[id] = new_head(shape, seq, tail), nil
  if spec ~= '' then
    write(SPEC .. id, spec)
  end
  enter_job(id, seq .. id, shape)
end

-- exists reports whether there is a job of that id, which load has looked for.
local function exists(id)
  return jobs[id] or new_heads[id] or jobs[id] == nil and get(id)
end
