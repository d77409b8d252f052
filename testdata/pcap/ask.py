import socket, sys, time
# Asks COUNT times for SIZE bytes, which take MS, and reads with a pause of PAUSE s before each answer; prints the time of each in ms.
host, port, count, size, ms, pause = sys.argv[1], *map(int, sys.argv[2:6]), float(sys.argv[6])
c = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
if pause: c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
c.connect((host, port))
for n in range(count):
    at = time.time()
    c.sendall(b"%d %d\n" % (size, ms)); time.sleep(pause)
    left = size
    while left: left -= len(c.recv(min(left, 65536)))
    print(round((time.time() - at) * 1000, 1)); time.sleep(0.02)
