"""A task of Celery that takes a lock, and is tried again later if it does not get it."""

import holdfast
from celery import Celery

app = Celery("shop", broker="memory://")
app.conf.task_always_eager = True             # for this page: the task runs here, without a worker

def import_prices(day):
    with holdfast.lock("import/prices", wait=5, why="import of " + day) as lock:
        return "imported %s with the token %d" % (day, lock.token)

@app.task(bind=True, max_retries=10)
def nightly(self, day):
    try:
        return import_prices(day)
    except holdfast.HoldfastError as error:
        if not error.transient:
            raise
        raise self.retry(exc=error, countdown=30)

print(nightly.delay("2026-11-29").get())
