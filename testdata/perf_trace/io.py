import os, threading, time, socket
a, b = socket.socketpair()
def other():
    for _ in range(20): time.sleep(0.02); a.send(b"x" * 100)
threading.Thread(target=other).start()
for n in range(20):
    b.recv(100)
    with open("/etc/hostname") as f: f.read()
    time.sleep(0.001)
