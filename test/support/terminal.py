"""Runs a command on a pseudo-terminal of 80 columns. What comes on stdin is typed; stdout is what the screen receives."""

import fcntl
import os
import pty
import struct
import sys
import termios


def run(argv):
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.execvp(argv[0], argv)
    keys = os.fork()
    if keys == 0:
        while typed := os.read(0, 1024):
            os.write(terminal, typed)
        os._exit(0)
    while True:
        try:
            shown = os.read(terminal, 1024)
        except OSError:  # Linux: the command has closed the terminal.
            break
        if not shown:
            break
        os.write(1, shown)
    os.kill(keys, 9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


sys.exit(run(sys.argv[1:]))
