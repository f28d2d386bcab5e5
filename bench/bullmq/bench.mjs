// Measures BullMQ for the comparison: one phase per call, whose seconds go to standard
// output as JSON.
//
//   node bench.mjs '{"port": 6379, "phase": "enqueue" | "batches" | "process",
//                    "jobs": 1000, "producers": 20, "batch": 1000, "concurrency": 10,
//                    "payload": "…"}'
import { Queue, Worker } from 'bullmq';

const options = JSON.parse(process.argv[2]);
const connection = { host: '127.0.0.1', port: options.port, maxRetriesPerRequest: null };
const name = 'bench';

const phases = {
  // One job per call, from so many callers at once.
  async enqueue(queue) {
    let left = options.jobs;
    const produce = async () => {
      while (left-- > 0) await queue.add(name, options.payload);
    };
    await Promise.all(Array.from({ length: options.producers }, produce));
  },

  // addBulk, two calls under way so that client and server work at the same time.
  async batches(queue) {
    let left = options.jobs;
    const produce = async () => {
      while (left > 0) {
        const size = Math.min(left, options.batch);
        left -= size;
        await queue.addBulk(Array.from({ length: size }, () => ({ name, data: options.payload })));
      }
    };
    await Promise.all([produce(), produce()]);
  },

  // Until every job has been moved to the finished ones.
  async process() {
    let worker;
    await new Promise((resolve, reject) => {
      let completed = 0;
      worker = new Worker(name, async () => {}, { connection, concurrency: options.concurrency });
      worker.on('completed', () => { if (++completed === options.jobs) resolve(); });
      worker.on('failed', (_, error) => reject(error));
      worker.on('error', reject);
    });
    return () => worker.close();
  },
};

const queue = new Queue(name, { connection });
await queue.waitUntilReady();
const start = process.hrtime.bigint();
const close = await phases[options.phase](queue);
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
console.log(JSON.stringify({ seconds }));
await close?.();
await queue.close();
