"""What a pair costs each of three and five masters, beside what it costs one that is alone: new names, 64 clients."""

from stage import column, ratios
from table import Goal

CLIENTS = 64
# A call has fewer names, as the answers of several masters come at several times, and each begins a turn of the daemon that
# sends what there is; and a master of several looks for the token counter of each name.
MOST = {3: 1.8, 5: 2.5}


def calls(daemon):
    """(calls, script calls) that have gone to all masters."""
    info = daemon.info()
    return int(info["master_calls"]), int(info["master_scripts"])


def new_names(stage, daemon, masters):
    def work(seconds):
        before = calls(daemon)
        result = stage.measured("first", CLIENTS, seconds, [daemon.socket], [daemon], masters=masters)
        names, scripts = (now - then for now, then in zip(calls(daemon), before))
        return dict(result, together=names / max(scripts, 1))
    return work


def measure(stage):
    crowds = {count: [stage.master("of%d-%d" % (count, number)) for number in range(count)] for count in (1, *MOST)}
    daemons = {count: stage.daemon("among%d" % count, master=masters) for count, masters in crowds.items()}
    works = {"of%d" % count: new_names(stage, daemons[count], crowds[count]) for count in crowds}
    runs = stage.in_turns(**works)
    add = stage.table.add
    stage.table.title("new names among several masters: %d clients" % CLIENTS)
    for count in crowds:
        own = runs["of%d" % count]
        add("pairs, masters: %d" % count, "/s", column(own, "per_second"))
        add("names in a script call, masters: %d" % count, "", column(own, "together"))
        add("CPU of the daemon per pair, masters: %d" % count, "us", column(own, "daemon_us"))
        add("CPU of each master per pair, masters: %d" % count, "us", column(own, "redis_us"))
        if count in MOST:
            add("CPU of each master per pair, %d : 1" % count, "x", ratios(own, runs["of1"], "redis_us"),
                Goal("CPU of each of %d masters" % count, most=MOST[count]))
    for count, masters in crowds.items():
        daemons[count].done()
        for master in masters:
            master.kill()
