"""The clients of the nemesis in their worker processes: started, given orders, killed and started again.

A worker may be killed at any moment; what its clients wrote is there, and its successor appends to the same files.
"""

import multiprocessing
import os

import history
from history import now_ns
from nemesis_roles import role
from nemesis_wire import keep_only
from talker import Loop


class Worker(Loop):
    """One process's clients."""

    def __init__(self, plan, numbers, pipe):
        super().__init__(pipe)
        self.plan = plan
        self.stopping = False
        self.clients = [role(plan, number)(self, number) for number in numbers]
        self.running = len(self.clients)

    def obey(self):
        try:
            order = self.pipe.recv()
        except EOFError:
            order = "stop"
        if order == "reset":
            for client in self.clients:
                client.reset()
        elif order == "vanish":
            for client in self.clients:
                client.vanish_holding()
        else:
            self.stopping = True
            self.selector.unregister(self.pipe)

    def run(self):
        for client in self.clients:
            self.later(0, client.connect)
        while self.running > 0:
            self.turn()
            if self.stopping:
                self.let_go()

    def let_go(self):
        """Told to stop: whoever waits or has no connection ends; whoever holds releases first."""
        for client in self.clients:
            if client.state != "done" and client.idle():
                client.finish()


def work(plan, numbers, pipe):
    keep_only(pipe)
    Worker(plan, numbers, pipe).run()
    os._exit(0)


class Crowd:
    """All workers, from outside."""

    def __init__(self, plan, workers):
        self.plan = plan
        self.context = multiprocessing.get_context("fork")
        self.numbers = [list(range(plan.clients))[n::workers] for n in range(workers)]
        self.workers = [self.start(numbers) for numbers in self.numbers]

    def start(self, numbers):
        mine, theirs = self.context.Pipe()
        process = self.context.Process(target=work, args=(self.plan, numbers, theirs))
        process.start()
        theirs.close()
        return process, mine

    def order(self, number, what):
        self.workers[number][1].send(what)

    def signal(self, number, what):
        os.kill(self.workers[number][0].pid, what)

    def kill(self, number):
        """Kills a worker, writes that down for its clients, and starts another in its place."""
        process, pipe = self.workers[number]
        at = now_ns()
        process.kill()
        process.join()
        pipe.close()
        self.mark_killed(self.numbers[number], at)
        self.workers[number] = self.start(self.numbers[number])

    def mark_killed(self, numbers, at):
        for name in os.listdir(self.plan.folder):
            if name.startswith("client.") and int(name.split(".")[1]) in numbers:
                write = history.Writer(os.path.join(self.plan.folder, name))
                write("killed", at=at)
                write.close()

    def stop(self, timeout):
        """Numbers of the clients of workers that did not end."""
        for _, pipe in self.workers:
            pipe.send("stop")
        stuck = []
        until = now_ns() + int(timeout * 1e9)
        for number, (process, _) in enumerate(self.workers):
            process.join(max(0.0, (until - now_ns()) / 1e9))
            if process.is_alive():
                stuck += self.numbers[number]
        self.end()
        return stuck

    def end(self):
        for process, pipe in self.workers:
            if process.is_alive():
                process.kill()
            process.join()
            pipe.close()
