"""A lock as a dependency of FastAPI."""

import holdfast
from fastapi import Depends, FastAPI
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient

app = FastAPI()

@app.exception_handler(holdfast.LockBusy)
async def busy(request, error):
    return JSONResponse({"detail": str(error)}, status_code=503, headers={"Retry-After": "5"})

async def account_lock(number: int):
    async with holdfast.aio.lock("account/%d" % number, wait=0.5) as lock:
        yield lock

@app.post("/accounts/{number}/close")
async def close(number: int, lock=Depends(account_lock)):
    return {"token": lock.token}

with TestClient(app) as client:
    answer = client.post("/accounts/7/close")
    print(answer.json())
    assert answer.status_code == 200
    with holdfast.lock("account/7", wait=5):
        print("given back")
    with holdfast.lock("account/8"):
        assert client.post("/accounts/8/close").status_code == 503
