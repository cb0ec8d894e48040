"""A middleware of Django: request.lock(name) holds the lock until the transaction of the request is committed, or rolled back.

    def pay(request):
        lock = request.lock("account/1", wait=5)  # before the first query, which may fix what the transaction sees
        # Read, decide and write here.
        lock.raise_if_lost()
        return HttpResponse("paid")
"""

import contextlib

import holdfast


class Locks:
    """Middleware is around Django's transaction, so the locks are given back after it."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        with contextlib.ExitStack() as held:
            request.lock = lambda name, **options: held.enter_context(holdfast.lock(name, **options))
            return self.get_response(request)
