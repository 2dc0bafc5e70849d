"""The prompt of `iolode sql` as somebody at a terminal has it: prompt.py PROGRAM LAKE DIRECTORY.

Keys go in through a pseudo-terminal, and what appears is waited for. DIRECTORY is the home in which the history is kept.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60.0
UP, TAB, CTRL_C, CTRL_D = "\x1b[A", "\t", "\x03", "\x04"


class Terminal:
    """The program on a terminal of 100 columns."""

    def __init__(self, program, *arguments, home):
        self.pid, self.keys = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=home, TERM="xterm", NO_COLOR="1", TZ="UTC")
            for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "IOLODE_LAKE"):
                os.environ.pop(name, None)
            os.execv(program, [program, *arguments])
        fcntl.ioctl(self.keys, termios.TIOCSWINSZ, struct.pack("4H", 40, 100, 0, 0))
        self.shown = ""
        # A read may end inside a character: what is missing of it comes with the next.
        self.decode = codecs.getincrementaldecoder("utf-8")().decode

    def read(self, deadline):
        """The next characters; none once the program has closed its side."""
        text = ""
        while not text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.keys], [], [], left)[0]:
                sys.exit(f"nothing more within {PATIENCE:.0f} s after:\n{self.shown}")
            try:
                text = self.decode(os.read(self.keys, 65536))
            except OSError:  # the other side has closed
                break
        return text

    def until(self, *wanted):
        """Waits until all of these were shown, in this order; what was shown up to the last of them."""
        pattern = re.compile(".*?".join(map(re.escape, wanted)), re.S)
        deadline = time.monotonic() + PATIENCE
        while not (found := pattern.search(plain(self.shown))):
            more = self.read(deadline)
            if not more:
                sys.exit(f"it ended before {wanted} in:\n{self.shown}")
            self.shown += more
        text = plain(self.shown)
        self.shown = text[found.end():]
        return text[: found.end()]

    def type(self, keys):
        os.write(self.keys, keys.encode())

    def runs(self):
        """Waits until a statement runs: the line editor has given the terminal back, so that Ctrl-C is a signal."""
        deadline = time.monotonic() + PATIENCE
        while not termios.tcgetattr(self.keys)[3] & termios.ISIG:
            if time.monotonic() > deadline:
                sys.exit(f"no statement runs after:\n{self.shown}")
            time.sleep(0.005)

    def seconds(self):
        """Processor time that the program has used."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rests(self):
        """Waits until the program computes nothing."""
        deadline = time.monotonic() + PATIENCE
        while True:
            before = self.seconds()
            time.sleep(0.2)
            if self.seconds() - before < 0.05:
                return
            if time.monotonic() > deadline:
                sys.exit(f"it still computes after:\n{self.shown}")

    def ends(self):
        deadline = time.monotonic() + PATIENCE
        while more := self.read(deadline):
            self.shown += more
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def plain(text):
    """What a person reads of it: without the sequences that move the cursor or switch modes."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)


# Statements that would take hours: 10^12 pairs of rows, of which none is in the answer, or all are counted.
SERIES = "generate_series(1, 1000000)"
ENDLESS = [
    f"select count(*) from {SERIES} as a(x) join {SERIES} as b(y) on x + y < 0;",
    f"select count(x + y) from {SERIES} as a(x) cross join {SERIES} as b(y);",
    f"select count(*) from {SERIES} as a(x) join {SERIES} as b(y) on x % 2 = y % 2 and x + y < 0;",
    f"select x, y from {SERIES} as a(x) join {SERIES} as b(y) on x < y order by x + y;",
]


def stops(program, lake, home):
    """Ctrl-C ends any statement, and the prompt goes on."""
    terminal = Terminal(program, "sql", "--lake", lake, "--memory", "256M", home=home)
    terminal.until("iolode> ")
    for statement in ENDLESS:
        terminal.type(statement + "\r")
        terminal.until(statement[-12:])
        terminal.runs()
        # Until the pairs are being made.
        begun = terminal.seconds()
        while terminal.seconds() < begun + 0.3:
            time.sleep(0.01)
        told = time.monotonic()
        terminal.type(CTRL_C)
        terminal.until("interrupted", "iolode> ")
        if (took := time.monotonic() - told) > 5:
            sys.exit(f"Ctrl-C took {took:.1f} s in: {statement}")
        # The threads and the memory of it are free.
        terminal.rests()
        terminal.type("\\d lake_mount\r")
        terminal.until("mount", "iolode> ")
        terminal.type("select 6 * 7 as after;\r")
        terminal.until("after", "42", "1 row", "iolode> ")
    # A statement that was stopped does not keep the program from its end.
    terminal.type(ENDLESS[0] + "\r")
    terminal.until(ENDLESS[0][-12:])
    terminal.runs()
    terminal.type(CTRL_C)
    terminal.until("interrupted", "iolode> ")
    terminal.type("\\q\r")
    if (code := terminal.ends()) != 0:
        sys.exit(f"exit code {code}")


def main(program, lake, home):
    question = "select sum(total_bytes) from darshan_log"
    answer = subprocess.run([program, "sql", "--lake", lake, "--format", "csv", "-c", question], stdout=subprocess.PIPE, check=True)
    moved = answer.stdout.decode().split()[1]

    terminal = Terminal(program, "sql", "--lake", lake, home=home)
    terminal.until("\\? for help", "iolode> ")

    # Tables, and the columns of one with their units.
    terminal.type("\\d\r")
    terminal.until("darshan_file", "lake_input", "top_write()", "iolode> ")
    terminal.type("\\d darshan_file\r")
    terminal.until("slowest_rank_bytes", "iolode> ")

    # A statement goes on until its semicolon; rows and time are said.
    terminal.type("select 40 +\r")
    terminal.until("     -> ")
    terminal.type("2 as answer;\r")
    terminal.until("answer", "42", "1 row", " s", "iolode> ")

    # TAB completes a column, and a table.
    terminal.type("select 'sum ' || sum(total_byt" + TAB)
    terminal.until("total_bytes")
    terminal.type(") as moved from darshan_lo" + TAB)
    terminal.until("darshan_log")
    terminal.type(";\r")
    terminal.until(f"sum {moved}", "1 row", "iolode> ")

    # A function of one's own is listed, and TAB knows it from then on.
    terminal.type("create temporary function one_more(x bigint) returns bigint return x + 1;\r")
    terminal.until("done", "iolode> ")
    terminal.type("select one_mo" + TAB)
    terminal.until("one_more(")
    terminal.type("41) as more;\r")
    terminal.until("more", "42", "1 row", "iolode> ")
    terminal.type("\\df one_more\r")
    terminal.until("one_more(x BIGINT) RETURNS BIGINT", "RETURN x + 1", "iolode> ")

    # A mistake is one line, and the prompt comes again.
    terminal.type("select bytes_raed from darshan_log;\r")
    terminal.until("did you mean `bytes_read`?", "iolode> ")

    # Ctrl-C drops what was typed and does not leave.
    terminal.type("select 1, ")
    terminal.type(CTRL_C)
    terminal.until("iolode> ")
    terminal.type("select 7 * 6 as again;\r")
    terminal.until("again", "42", "iolode> ")

    terminal.type(CTRL_D)
    if (code := terminal.ends()) != 0:
        sys.exit(f"exit code {code}")

    # The next session remembers this one.
    terminal = Terminal(program, "sql", "--lake", lake, home=home)
    terminal.until("iolode> ")
    terminal.type(UP)
    terminal.until("select 7 * 6 as again;")
    terminal.type("\r")
    terminal.until("42", "iolode> ")
    terminal.type("\\q\r")
    if (code := terminal.ends()) != 0:
        sys.exit(f"exit code {code}")
    stops(program, lake, home)
    print("the prompt does what it should")


main(*sys.argv[1:])
