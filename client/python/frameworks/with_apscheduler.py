"""A job of APScheduler that one of several hosts runs."""

import functools
import time
import holdfast
from apscheduler.schedulers.background import BackgroundScheduler

def on_one_host(name, at_least=0.0):
    """Runs the job on the host that gets the lock first."""
    def decorate(job):
        @functools.wraps(job)
        def run(*arguments):
            lock = holdfast.lock(name)
            if not lock.acquire(blocking=False):
                return
            began = time.monotonic()
            try:
                job(*arguments)
                time.sleep(max(0.0, began + at_least - time.monotonic()))
            finally:
                lock.release()
        return run
    return decorate

runs = []

@on_one_host("cron/report", at_least=2)
def report(host):
    runs.append(host)

scheduler = BackgroundScheduler()
for host in ("a", "b"):
    scheduler.add_job(report, args=[host])
scheduler.start()
while not runs:
    time.sleep(0.01)
scheduler.shutdown(wait=True)
print("ran once:", runs)
assert len(runs) == 1
