import random, threading, time, urllib.request, uuid, urllib.error
random.seed(4)
def get(path):
    try:
        urllib.request.urlopen("http://127.0.0.1:18099" + path, timeout=10).read()
    except urllib.error.HTTPError:
        pass
begin = time.time()
due = 0.0
while due < 52:
    due += random.expovariate(30)
    while time.time() - begin < due: time.sleep(0.002)
    ill = 20 <= due < 32
    draw = random.random()
    if draw < (0.5 if ill else 0.1): path = f"/reports/{uuid.UUID(int=random.getrandbits(128))}"
    elif ill and draw < 0.6: path = f"/broken/carts/{random.randrange(10**6)}"
    elif draw < 0.8: path = f"/api/v1/items/{random.randrange(10**6)}?page={random.randrange(9)}"
    else: path = f"/api/v1/users/{random.choice(['ann','bob','eve'])}/orders/{random.randrange(10**6)}"
    threading.Thread(target=get, args=(path,)).start()
time.sleep(2)
