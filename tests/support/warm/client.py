# Hands a command over to the process that is forked for it, and is in its place for whoever has started it: it ends as
# the command does, passes signals on, and takes the command with it when it is killed. PROGRAM and PLACES stand above.
# Python is started for this without `site`, and C modules are imported alone: otherwise it took twice as long.
import _signal
import _socket
import os
import sys


def ask(place):
    """The connection on which the command's end is told, and the command's number; None where it is to be run here."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect("\0" + place)
        channels = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2))
        connection.sendmsg([b"?"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, channels)])
        number = connection.recv(4)
    except OSError:
        return None
    number = int.from_bytes(number, sys.byteorder) if len(number) == 4 else 0
    return (connection, number) if number else None


asked = ask(PLACES[os.getpid() % len(PLACES)])  # noqa: F821  # from the lines above
if asked is None:
    os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])  # noqa: F821
connection, number = asked


def pass_on(signal, _frame):
    try:  # noqa: SIM105  # which would be an import
        os.kill(number, signal)
    except ProcessLookupError:
        pass


for each in (_signal.SIGTERM, _signal.SIGHUP):
    _signal.signal(each, pass_on)
for each in (_signal.SIGINT, _signal.SIGQUIT):  # come to all of a group, which both are in
    _signal.signal(each, _signal.SIG_IGN)
for each in (0, 1, 2):  # who reads what the command writes sees its end when it closes them, and not before
    os.close(each)
ended = connection.recv(4)
code = int.from_bytes(ended, sys.byteorder, signed=True) if len(ended) == 4 else -_signal.SIGKILL
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL) if -code not in (_signal.SIGKILL, _signal.SIGSTOP) else None
    os.kill(os.getpid(), -code)
os._exit(code)
