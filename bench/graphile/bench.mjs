// Measures graphile-worker for the comparison: one phase per call, whose seconds go to
// standard output as JSON.
//
//   node bench.mjs '{"url": "postgres://…", "phase": "enqueue" | "batches" | "process",
//                    "jobs": 1000, "producers": 20, "batch": 1000, "concurrency": 10,
//                    "payload": "…"}'
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

const options = JSON.parse(process.argv[2]);
const name = 'bench';
const quiet = new Logger(() => () => {});
// As many connections as the other systems have, which graphile-worker does not exceed.
const pool = new pg.Pool({ connectionString: options.url, max: 20 });

const phases = {
  // One job per call, from so many callers at once.
  async enqueue(utils) {
    let left = options.jobs;
    const produce = async () => {
      while (left-- > 0) await utils.addJob(name, options.payload);
    };
    await Promise.all(Array.from({ length: options.producers }, produce));
  },

  // addJobs, two calls under way so that client and server work at the same time.
  async batches(utils) {
    let left = options.jobs;
    const produce = async () => {
      while (left > 0) {
        const size = Math.min(left, options.batch);
        left -= size;
        await utils.addJobs(Array.from({ length: size }, () => ({ identifier: name, payload: options.payload })));
      }
    };
    await Promise.all([produce(), produce()]);
  },

  // Until every job has been deleted, which is how they finish. Jobs are fetched and
  // deleted in batches, as its documentation recommends for throughput.
  async process() {
    let ran = 0;
    let all;
    const finished = new Promise((resolve) => { all = resolve; });
    const runner = await run({
      pgPool: pool,
      logger: quiet,
      noHandleSignals: true,
      preset: { worker: {
        concurrentJobs: options.concurrency, localQueue: { size: options.concurrency + 1 },
        completeJobBatchDelay: 0, failJobBatchDelay: 0,
      } },
      taskList: { [name]: async () => { if (++ran === options.jobs) all(); } },
    });
    await finished;
    for (;;) {
      const { rows } = await pool.query('SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS left');
      if (!rows[0].left) break;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return () => runner.stop();
  },
};

const utils = await makeWorkerUtils({ pgPool: pool, logger: quiet });
await utils.migrate();
const start = process.hrtime.bigint();
const close = await phases[options.phase](utils);
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
console.log(JSON.stringify({ seconds }));
await close?.();
await utils.release();
await pool.end();
