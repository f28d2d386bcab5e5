#!/usr/bin/env python3
"""A Braid worker in Python, with the standard library alone.

    braid server &
    python3 worker.py
    braid enqueue word-count '{"text": "to be or not to be"}' --queue python

A job runs at least once: if this program dies, its lock runs out and the job runs
again, here or elsewhere. So handlers should be idempotent.

Environment: BRAID_URL (http://127.0.0.1:8080), BRAID_TOKEN (none), QUEUE (python),
SLOTS (4), LOCK_MS (30000).
"""

import http.client
import json
import os
import signal
import socket
import threading
import time
import traceback
import urllib.error
import urllib.request

URL = os.environ.get("BRAID_URL", "http://127.0.0.1:8080").rstrip("/") + "/api/v1/"
TOKEN = os.environ.get("BRAID_TOKEN", "")
QUEUE = os.environ.get("QUEUE", "python")
SLOTS = int(os.environ.get("SLOTS", "4"))
LOCK_MS = int(os.environ.get("LOCK_MS", "30000"))
WAIT_MS = 5_000  # how long a claim may wait for a job; a stop waits for it, too
WORKER = f"python-{socket.gethostname()}-{os.getpid()}"


class Cancelled(Exception):
    """The run shall end: its job was cancelled, or is not this worker's any more."""


class Unrecoverable(Exception):
    """Fails a job for good, whatever attempts it has left."""


class Snooze(Exception):
    """Puts a job off, without using an attempt."""

    def __init__(self, seconds):
        super().__init__(seconds)
        self.seconds = seconds


# --- The jobs. A handler gets the payload and its run, and returns the result. ---


def word_count(payload, run):
    words = payload["text"].split()
    return {"words": len(words), "distinct": len(set(words))}


def sleep(payload, run):
    end = time.monotonic() + payload["seconds"]
    while time.monotonic() < end:
        run.check()  # a long handler looks now and then whether it shall end
        time.sleep(0.02)
    return {"slept": payload["seconds"], "attempt": run.job["attempt"]}


HANDLERS = {"word-count": word_count, "sleep": sleep}


# --- The worker. ---


def encode(value):
    return json.dumps(value, allow_nan=False).encode()  # NaN and Infinity are no JSON


def call(path, body):
    """Makes one call of the API; raises one of UNREACHABLE if there is no answer."""
    request = urllib.request.Request(URL + path, encode(body), {"Content-Type": "application/json"})
    if TOKEN:
        request.add_header("Authorization", "Bearer " + TOKEN)
    with urllib.request.urlopen(request, timeout=WAIT_MS / 1000 + 10) as response:
        return json.load(response)


# A reply that breaks off is an HTTPException, and one cut to half a JSON a ValueError.
UNREACHABLE = (OSError, http.client.HTTPException, ValueError)


def insist(path, body, deadline):
    """Calls until there is an answer, or it is too late for one to count."""
    pause = 0.1
    while True:
        try:
            return call(path, body)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise RuntimeError(f"{path}: {error.code} {error.read().decode(errors='replace')}") from error
        except UNREACHABLE:
            pass
        if time.monotonic() > deadline:
            return None
        time.sleep(pause)
        pause = min(2 * pause, 2)


class Run:
    """One job that runs, in a thread of its own."""

    def __init__(self, job):
        self.job = job
        self.lock = {"id": job["id"], "token": job["token"]}
        self.lost = threading.Event()
        self.cancelled = threading.Event()

    def check(self):
        if self.lost.is_set() or self.cancelled.is_set():
            raise Cancelled()

    def execute(self):
        ack = dict(self.lock)
        try:
            result = HANDLERS[self.job["name"]](self.job.get("payload"), self)
            encode(result)  # what cannot be encoded is a failure of the run
            ack.update(outcome="completed", result=result)
        except Cancelled:
            ack.update(outcome="cancelled")
        except Snooze as snooze:
            ack.update(outcome="snoozed", delayMs=int(snooze.seconds * 1000))
        except Exception as error:
            described = {"message": str(error) or repr(error), "type": type(error).__name__, "stack": traceback.format_exc()}
            ack.update(outcome="failed", error=described, noRetry=isinstance(error, Unrecoverable))
        return ack


class Worker:
    def __init__(self):
        self.stopping = threading.Event()
        self.mutex = threading.Lock()
        self.runs = set()
        self.free = threading.Semaphore(SLOTS)

    def work(self):
        heart = threading.Thread(target=self.beat, daemon=True)
        heart.start()
        pause = 0.1
        while not self.stopping.is_set():
            if not self.free.acquire(timeout=0.2):
                continue
            slots = 1
            while slots < SLOTS and self.free.acquire(blocking=False):
                slots += 1
            jobs = []
            try:
                # While others run, a claim must not wait long for a first job, or free
                # slots would wait with it.
                wait = WAIT_MS if slots == SLOTS else 500
                jobs = call("work/claim", {"queue": QUEUE, "names": list(HANDLERS), "worker": WORKER, "limit": slots,
                                           "lockMs": LOCK_MS, "waitMs": wait})["jobs"]
                pause = 0.1
            except UNREACHABLE as error:
                print(f"claim: {error}", flush=True)
                self.stopping.wait(pause)
                pause = min(2 * pause, 5)
            for _ in range(slots - len(jobs)):
                self.free.release()
            for job in jobs:
                run = Run(job)
                with self.mutex:
                    self.runs.add(run)
                threading.Thread(target=self.run, args=(run,), daemon=True).start()
        for _ in range(SLOTS):  # let what runs end
            self.free.acquire()

    def run(self, run):
        try:
            ack = run.execute()
            if not run.lost.is_set():
                answer = insist("work/ack", {"acks": [ack]}, time.monotonic() + 10 * LOCK_MS / 1000)
                if answer:
                    outcome = answer["results"][0]
                    print(run.job["id"], outcome.get("state") or outcome["error"]["code"], flush=True)
        except Exception:
            traceback.print_exc()
        finally:
            with self.mutex:
                self.runs.discard(run)
            self.free.release()

    def beat(self):
        """Keeps the locks of what runs, and learns what shall end."""
        while True:
            time.sleep(LOCK_MS / 3000)
            with self.mutex:
                runs = {run.job["id"]: run for run in self.runs}
            if not runs:
                continue
            try:
                answer = call("work/heartbeat", {"locks": [run.lock for run in runs.values()], "lockMs": LOCK_MS})
            except UNREACHABLE as error:
                print(f"heartbeat: {error}", flush=True)
                continue
            for id in answer["lost"]:
                runs[id].lost.set()
            for id in answer["cancelRequested"]:
                runs[id].cancelled.set()


def main():
    worker = Worker()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: worker.stopping.set())
    print(f"{WORKER} works on {', '.join(HANDLERS)} of queue {QUEUE}", flush=True)
    worker.work()


if __name__ == "__main__":
    main()
