"""A lock around a transaction of Django."""

import django
import holdfast
from django.conf import settings
from django.db import connection, transaction

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
django.setup()

def pay(account):
    with holdfast.lock("account/%d" % account, wait=5) as lock, transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")                    # read, decide and write here
        lock.raise_if_lost()                              # inside: if the lock is lost, nothing is committed

pay(7)
try:
    with transaction.atomic():
        pay(7)
except RuntimeError as error:
    print("refused:", error)
else:
    raise SystemExit("the lock would have ended before the commit")
