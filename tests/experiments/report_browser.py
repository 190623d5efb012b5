"""A page of the report in a real browser, opened from a file as its readers open it."""

from linrank.experiments.report import write_page


class Page:
    """What a reader does and sees."""

    def __init__(self, driver, path):
        self.driver = driver
        self.path = path
        self.resize(1200)
        self.prefer("light")
        # Whatever an earlier page said is not this one's.
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(path.as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector):
        # What is not Unicode cannot leave the browser.
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.toWellFormed())"
        return self.run(script, selector)

    def attributes(self, selector, name):
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.getAttribute(arguments[1]))"
        return self.run(script, selector, name)

    def click(self, selector, containing=""):
        script = (
            "const all = [...document.querySelectorAll(arguments[0])];"
            "const found = all.find((e) => e.textContent.includes(arguments[1]));"
            "found.scrollIntoView({ block: 'center' }); return found"
        )
        self.run(script, selector, containing).click()

    def press(self, selector, *keys):
        self.one(selector).send_keys(*keys)

    def type_into(self, selector, text):
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def resize(self, width):
        shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)

    def prefer(self, scheme, media=""):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def colour(self, selector, which):
        return self.run(f"return getComputedStyle(document.querySelector(arguments[0])).{which}", selector)

    def width(self):
        """How wide the body is; the figures follow a new width a frame later."""
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 50))")
        return self.run("return document.documentElement.scrollWidth")


def opened(driver, tmp_path, content):
    path = tmp_path / "other.html"
    write_page(path, content)
    return Page(driver, path)
