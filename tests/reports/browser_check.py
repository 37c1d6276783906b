"""Opens an HTML report in headless Chromium, through its debugging pipe, and works it like a person: with the mouse, with the keyboard, on a phone, in
the dark. Exits with 77 where there is no Chromium. With a second argument, a folder, also leaves screenshots there."""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}
problems = []


class Browser:
    """The DevTools protocol over file descriptors 3 and 4: JSON texts that end in a zero byte."""

    def __init__(self, program, profile):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def place():
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.next_id, self.session, self.events = b"", 0, None, []

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.read_end, 1 << 16)
            if not part:
                raise RuntimeError("Chromium ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event):
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self.receive())

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(script + ": " + str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def key(self, name, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name if name != " " else "Space", windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def click(self, script):
        x, y = self.evaluate(f"(() => {{ const e = {script}; e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();"
                             " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path, whole):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))


def expect(true, what):
    if not true:
        problems.append(what)


def check_sorting(browser):
    table = "document.getElementById('findings-table')"
    button, head = f"{table}.querySelectorAll('thead button')[1]", f"{table}.querySelectorAll('thead th')[1]"
    cells = f"Array.from({table}.tBodies[0].rows, (r) => r.cells[1].textContent)"
    expect(len(browser.evaluate(cells)) > 1, "nothing to sort")
    browser.click(button)
    expect(browser.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending", "a click does not sort")
    ascending = browser.evaluate(cells)
    expect(ascending == sorted(ascending), f"not in ascending order: {ascending}")
    expect(browser.evaluate(f"document.activeElement === {button}"), "the button that was clicked has no focus")
    browser.key("Enter", 13, "\r")
    expect(browser.evaluate(f"{head}.getAttribute('aria-sort')") == "descending", "Enter does not sort the other way")
    browser.key(" ", 32, " ")
    expect(browser.evaluate(f"{head}.getAttribute('aria-sort')") == "ascending", "the space bar does not sort")
    expect(browser.evaluate(f"Array.from({table}.querySelectorAll('[aria-sort]'), (h) => h.getAttribute('aria-sort')).filter((s) => s !== 'none').length") == 1,
           "several columns say that they are sorted by")
    numbers = f"Array.from({table}.tBodies[0].rows, (r) => Number(r.cells[7].dataset.v))"
    browser.click(f"{table}.querySelectorAll('thead button')[7]")
    expect(browser.evaluate(numbers) == sorted(browser.evaluate(numbers)), "numbers are not sorted as numbers")


def check_keyboard(browser):
    """Tab reaches every link, button, field, summary and scrolling region in the order of the page."""
    browser.evaluate("document.activeElement.blur(); window.scrollTo(0, 0); document.querySelectorAll('details').forEach((d) => d.open = false)")
    wanted = browser.evaluate("Array.from(document.querySelectorAll('a, button, input, summary, [tabindex]')).filter((e) => e.checkVisibility()).length")
    browser.evaluate("window.reached = new Set(); document.addEventListener('focusin', (e) => window.reached.add(e.target))")
    for _ in range(min(wanted + 2, 400)):
        browser.key("Tab", 9)
    reached = browser.evaluate("window.reached.size")
    expect(reached >= min(wanted, 400), f"Tab reaches {reached} of {wanted} controls")
    browser.evaluate("document.querySelector('.finding summary').focus()")
    browser.key("Enter", 13, "\r")
    expect(browser.evaluate("document.querySelector('.finding').open"), "Enter does not open a finding")


def check_links(browser):
    browser.evaluate("document.querySelectorAll('details').forEach((d) => d.open = false); document.querySelector('#findings-table a').click()")
    expect(browser.evaluate("new Promise((done) => setTimeout(() => done(1), 50)) && document.querySelector('.finding[open]') !== null"),
           "a link to a folded finding does not open it")


def check_width(browser, name):
    browser.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    wide = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    expect(wide[0] <= wide[1], f"{name}: the page is {wide[0]} wide, the window {wide[1]}")


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("no Chromium here: apt-get install chromium")
        sys.exit(77)
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as profile:
        page = os.path.join(profile, "report.html")
        shutil.copy(sys.argv[1], page)
        browser = Browser(program, profile)
        try:
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(domain + ".enable")
            for name, (width, height) in WIDTHS.items():
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=name == "phone")
                for scheme in ("light", "dark"):
                    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                    browser.events = [e for e in browser.events if e.get("method") != "Page.loadEventFired"]
                    browser.call("Page.navigate", url="file://" + page)
                    browser.wait_for("Page.loadEventFired")
                    if folder:
                        browser.screenshot(os.path.join(folder, f"{name}-{scheme}.png"), True)
                    if scheme == "light":
                        check_sorting(browser)
                        check_links(browser)
                        check_keyboard(browser)
                        check_width(browser, name)
            for event in browser.events:
                method, values = event.get("method"), event.get("params", {})
                if method == "Runtime.exceptionThrown" or (method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning")):
                    problems.append("console: " + json.dumps(values)[:300])
                if method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
                    problems.append("log: " + values["entry"]["text"])
                if method == "Network.requestWillBeSent" and values["request"]["url"].split(":")[0] not in ("file", "data", "about"):
                    problems.append("network: " + values["request"]["url"])
        finally:
            browser.process.kill()
            browser.process.wait()
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
