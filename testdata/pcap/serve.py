import socket, sys, threading, time
# Answers lines: "size ms\n" gives so many bytes after so many ms.
def talk(c):
    f = c.makefile("rb")
    for line in f:
        size, ms = line.split()
        time.sleep(int(ms) / 1000)
        c.sendall(b"x" * int(size))
    c.close()
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2]))); s.listen(64)
while True:
    c, _ = s.accept()
    threading.Thread(target=talk, args=(c,), daemon=True).start()
