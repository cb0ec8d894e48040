"""Bad neighbours: what a client that never reads, and a hundred that never finish, do to the others.

What they do to a p99 is less than what a machine does to it by itself from one second to the next: so there are many
turns of a quarter of a second, the middle half of them is shown, and beside it two controls, an idle process in the
place of the bad one, and one that only burns a processor.
"""

import depth
from stage import column, ratios
from table import Goal

TURN_SECONDS = 0.25
TURNS = 30


def measure(stage):
    daemon = stage.daemon("neighbours")

    def beside(kind, *neighbours):
        def work():
            with depth.company(daemon, *neighbours):
                return stage.load(kind, 8, TURN_SECONDS, daemon.socket, pause=1)
        return work

    stage.table.title("8 clients, a request each ms, beside others: %d turns" % TURNS, halves=True)
    neighbours = {"an idle process, the control": depth.idle, "one that burns a processor": depth.burn,
                  "one that never reads": depth.never_read, "a hundred that never finish": depth.slow_loris}
    for kind, what in (("ping", "PING"), ("lock", "LOCK + UNLOCK")):
        works = {words: beside(kind, neighbour) for words, neighbour in neighbours.items()}
        runs = depth.in_short_turns(TURNS, dict(works, alone=beside(kind)))
        alone = runs.pop("alone")
        stage.table.add("p50 of %s alone" % what, "us", column(alone, "p50_us"))
        stage.table.add("p99 of %s alone" % what, "us", column(alone, "p99_us"))
        for words, results in runs.items():
            bad = neighbours[words] in (depth.never_read, depth.slow_loris)
            goal = Goal("p99 of %s beside %s" % (what, words), most=2) if bad else None
            stage.table.add("p50 beside %s : alone" % words, "x", ratios(results, alone, "p50_us"))
            stage.table.add("p99 beside %s : alone" % words, "x", ratios(results, alone, "p99_us"), goal)
    daemon.done()
