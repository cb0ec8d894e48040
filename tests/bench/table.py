"""The figures of a bench: printed as they come, kept, and judged where there is a goal."""

import collections
import statistics


def short(value):
    return "%.0f" % value if abs(value) >= 1000 else "%.3g" % value


class Goal:
    """A bound on a figure: at most, or at least."""

    def __init__(self, name, least=None, most=None):
        self.name = name
        self.least = least
        self.most = most

    def holds(self, value):
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def text(self):
        return "at least %g" % self.least if self.least is not None else "at most %g" % self.most


class Table:
    """Prints figures as they come, keeps them, and knows which goals hold. A part of the bench that is measured again
    adds its rounds to the figures that it had before."""

    def __init__(self):
        self.rows = []
        self.values = {}  # of each row, by its heading, its name, and its number if one part has several of these
        self.places = {}  # the same for where the row is
        self.added = collections.Counter()
        self.notes = []
        self.curves = {}
        self.halves = False  # of many values the middle half is shown
        self.heading = ""

    def part(self):
        """A part begins, perhaps once more."""
        self.added.clear()

    def title(self, text, halves=False):
        self.halves = halves
        self.heading = text
        print("\n%-58s %10s   %s" % (text, "median", "middle half" if halves else "min..max"), flush=True)

    def note(self, text):
        """Something that could not be measured, or how it was."""
        note = {"under": self.heading, "note": text}
        if note not in self.notes:
            self.notes.append(note)
        print("  " + text, flush=True)

    def add(self, what, unit, values, goal=None, middle=statistics.median):
        """values: of each round; middle: what the goal is about."""
        key = (self.heading, what, self.added[self.heading, what])
        self.added[self.heading, what] += 1
        values = self.values[key] = self.values.get(key, []) + list(values)
        value = middle(values)
        row = {"under": self.heading, "figure": what, "unit": unit, "rounds": len(values), "median": value,
               "min": min(values), "max": max(values)}
        low, high = row["min"], row["max"]
        if self.halves:
            low, _, high = statistics.quantiles(values, n=4)
            row.update(low_quarter=low, high_quarter=high)
        note = ""
        if goal:
            row.update(goal=goal.name, at_least=goal.least, at_most=goal.most, holds=goal.holds(value))
            note = "   %s: %s" % (goal.text(), "holds" if row["holds"] else "MISSED")
        if key not in self.places:
            self.places[key] = len(self.rows)
            self.rows.append(row)
        self.rows[self.places[key]] = row
        print("  %-56s %10s   %s..%s %s%s" % (what, short(value), short(low), short(high), unit, note), flush=True)

    def point(self, curve, point):
        """A point of a curve, with all that was measured there; x: what grows."""
        self.curves.setdefault(curve, []).append(point)
        print("  %-34s %8d   %s" % (curve, point["x"], "  ".join(
            "%s %s" % (key, short(value)) for key, value in point.items() if key != "x")), flush=True)

    def verdict(self):
        goals = [row for row in self.rows if "goal" in row]
        if not goals:
            return "bench: nothing here has a goal"
        missed = [row["goal"] for row in goals if not row["holds"]]
        skipped = sum(note["note"].startswith("skipped") for note in self.notes)
        return "bench: %d of %d goals hold%s%s" % (len(goals) - len(missed), len(goals),
                                                   "; not: " + ", ".join(missed) if missed else "",
                                                   "; %d skipped, see above" % skipped if skipped else "")
