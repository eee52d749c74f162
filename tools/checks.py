"""What the check tools share: where the sources are, and TAP on stdout."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = ("include", "src", "guards", "sim", "tests", "examples", "docs")


def sources(*suffixes, under=CODE):
    """The files below the source folders whose names end so, as paths relative to ROOT."""
    found = []
    for folder in under:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes:
                found.append(path.relative_to(ROOT))
    return found


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


class Tap:
    """Numbers its results; ends the program with the right code."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, sentence, faults):
        """One promise of the tree; it holds when the list of faults is empty."""
        self.count += 1
        print(f"{'not ok' if faults else 'ok'} {self.count} - {sentence}")
        for fault in faults:
            print(f"# {fault}")
        self.failed += bool(faults)

    def end(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)
