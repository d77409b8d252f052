import socket, time
# 200 datagrams a second to port 8125 of loopback, and from second 2 to 2.4 ten times as many.
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); r.bind(("127.0.0.1", 8125))
at = begin = time.time()
while at < begin + 4:
    s.sendto(b"page.views:1|c", ("127.0.0.1", 8125))
    at += 0.0005 if begin + 2 <= at < begin + 2.4 else 0.005
    time.sleep(max(0, at - time.time()))
