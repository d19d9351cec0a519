#!/usr/bin/env python3
"""Screenshots of pages and SVG files as Chromium shows them, in light and dark, of PNG with few colours; says which
pages are wider than the window. Drives Debian's chromium through its DevTools pipe, and pngquant.

    tools/screenshots.py OUT [--whole] [--only=WORD] NAME=FILE[#TITLE] ...
                         NAME-WIDTH-light.png and NAME-WIDTH-dark.png in OUT for each, of 1,400 and 400 pixels; a page at most
                         895 high from the top or the section of that title; --whole: of the whole page; --only: those
                         whose name has the word"""
import base64, html, json, os, pathlib, subprocess, sys, tempfile

WIDTHS, HEIGHT, COLOURS = [1400, 400], 895, 48
# An SVG is shown as the page of a run shows it: as wide as the window, but not so small that it cannot be read.
OF_SVG = """<!doctype html><meta name="color-scheme" content="light dark"><meta name="viewport"
content="width=device-width"><style>body { margin: 0 } div { overflow-x: auto } img { display: block; max-width: max(100%%, 900px) }
@media (prefers-color-scheme: dark) { body { background: #101317 } }</style><div><img src="%s"></div>"""

class Browser:
    """A headless Chromium; `call` is a command of the DevTools protocol and its result."""

    def __init__(self, profile):
        (theirs, self.out), (self.answers, theirs_out) = os.pipe(), os.pipe()
        def pipes():
            os.dup2(os.dup(theirs), 13), os.dup2(os.dup(theirs_out), 14)  # 3 and 4 may be in use
            os.dup2(13, 3), os.dup2(14, 4)
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
             "--allow-file-access-from-files", f"--user-data-dir={profile}", "--remote-debugging-pipe"],
            close_fds=False, preexec_fn=pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs), os.close(theirs_out)
        self.text, self.n, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def message(self):
        while b"\0" not in self.text:
            more = os.read(self.answers, 1 << 20)
            if not more:
                sys.exit("tools/screenshots.py: chromium has ended")
            self.text += more
        first, self.text = self.text.split(b"\0", 1)
        return json.loads(first)

    def call(self, method, **params):
        self.n += 1
        said = {"id": self.n, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.out, json.dumps(said).encode() + b"\0")
        while (answer := self.message()).get("id") != self.n:
            pass
        if "error" in answer:
            sys.exit(f"tools/screenshots.py: {method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, address):
        self.call("Page.navigate", url=address)
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, awaitPromise=True)["result"].get("value")

    def end(self):
        self.call("Browser.close")
        self.process.wait()

def page_of(file, scratch):
    if file.suffix != ".svg":
        return file
    page = pathlib.Path(scratch, file.name + ".html")
    page.write_text(OF_SVG % html.escape(file.as_uri()))
    return page

# The top of the section or figure of that title.
PLACE = """(title => { for (const e of document.querySelectorAll('h2, figcaption > b')) if (e.textContent === title)
  return e.closest('section:not(.charts), figure').getBoundingClientRect().top - 12; return -1 })(%s)"""

def picture(browser, address, title, width, mode, most):
    """The PNG of a page, and how much wider than the window it is."""
    phone = width < 600
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": mode}])
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=phone)
    browser.open(address)
    browser.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    high = browser.value("Math.ceil(document.body.getBoundingClientRect().height)")
    wide = browser.value("document.documentElement.scrollWidth") - width  # of what no box scrolls
    top = browser.value(PLACE % json.dumps(title)) if title else 0
    if top < 0:
        sys.exit(f"tools/screenshots.py: {address} has no section '{title}'")
    clip = {"x": 0, "y": top, "width": width, "height": min(high - top, most), "scale": 1}
    shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    return base64.b64decode(shot["data"]), wide

def main(out, *arguments):
    whole, only = "--whole" in arguments, [a[7:] for a in arguments if a.startswith("--only=")]
    with tempfile.TemporaryDirectory() as scratch:
        browser, bad = Browser(scratch + "/profile"), 0
        for name, _, file in (a.partition("=") for a in arguments if not a.startswith("--")):
            file, _, title = file.partition("#")
            if any(word not in name for word in only):
                continue
            address = page_of(pathlib.Path(file).resolve(), scratch).as_uri()
            for width in WIDTHS:
                for mode in ("light", "dark"):
                    png, wide = picture(browser, address, "" if whole else title, width, mode, 1 << 14 if whole or ".svg" in address else HEIGHT)
                    path = pathlib.Path(out, f"{name}-{width}-{mode}.png")
                    path.write_bytes(subprocess.run(["pngquant", "--speed", "1", "--nofs", "--strip", str(COLOURS), "-"], input=png,
                                                    stdout=subprocess.PIPE, check=True).stdout)
                    print(f"{path}: {path.stat().st_size / 1000:.1f} kB" + (f", {wide} pixels too wide" if wide > 0 else ""))
                    bad += wide > 0
        browser.end()
    return bad > 0

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
