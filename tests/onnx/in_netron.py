"""Opens models in Netron, in a browser without a window, and says what is drawn of each.

    in_netron.py MODEL...     each gets MODEL.png beside it; needs the Python package netron, and chromium on the PATH"""
import base64, json, logging, os, pathlib, shutil, subprocess, sys, tempfile, time
try:
    import netron
except ImportError:
    netron = None

logging.basicConfig(level=logging.ERROR)
WAIT = 600  # seconds for a picture, far more than any takes
# What the page shows: its state, the boxes of nodes that it has drawn, and what it says in a dialog.
LOOK = """JSON.stringify({state: (document.body || {}).className || '', boxes: document.querySelectorAll('#canvas .graph-node').length,
    told: (document.getElementById('message-text') || {}).innerText || ''})"""

class Browser:
    """Chromium, spoken to by its protocol for developers over two pipes."""
    def __init__(self):
        self.profile = tempfile.mkdtemp()
        to_it, self.to = os.pipe()
        self.back, from_it = os.pipe()
        def pipes():  # it reads 3 and writes 4
            a, b = os.dup(to_it), os.dup(from_it)
            os.dup2(a, 3), os.dup2(b, 4)
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost", f"--user-data-dir={self.profile}",
             "--window-size=1400,1000", "about:blank"],
            preexec_fn=pipes, close_fds=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_it), os.close(from_it)
        self.rest, self.asked, self.session = b"", 0, None
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def ask(self, method, **params):
        self.asked += 1
        message = {"id": self.asked, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.back, 1 << 20)
                if not part:
                    raise RuntimeError("chromium has ended")
                self.rest += part
            one, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(one)
            if answer.get("id") == self.asked:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]

    def look(self):
        return json.loads(self.ask("Runtime.evaluate", expression=LOOK)["result"]["value"])

    def close(self):
        self.process.terminate(), self.process.wait()
        os.close(self.to), os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

def drawn(browser, path, picture):
    """The number of nodes in the picture, or what Netron says in its place."""
    host, port = netron.start(str(path), browse=False)
    url = f"http://{host}:{port}/"
    browser.ask("Network.setCookie", url=url, name="consent", value="1")  # or it asks for it
    try:
        browser.ask("Page.navigate", url=url)
        until = time.time() + WAIT
        while time.time() < until:
            seen = browser.look()
            if seen["told"] and "might take" not in seen["told"]:  # of many nodes it says that they do
                return seen["told"]
            if "default" in seen["state"].split() and seen["boxes"]:
                shot = browser.ask("Page.captureScreenshot", format="png")
                picture.write_bytes(base64.b64decode(shot["data"]))
                return seen["boxes"]
            time.sleep(0.2)
        return f"nothing in {WAIT} seconds"
    finally:
        netron.stop((host, port))

def told(path, picture):
    """A cell of a table: how many boxes are in the picture, or what is wrong."""
    if not netron or not shutil.which("chromium"):
        return "not opened"
    browser = Browser()
    try:
        boxes = drawn(browser, path, picture)
        return f"drawn, {boxes} boxes" if isinstance(boxes, int) else boxes
    finally:
        browser.close()

if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {told(pathlib.Path(name), pathlib.Path(name + '.png'))}", flush=True)
