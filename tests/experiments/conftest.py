"""A browser, where there is one."""

import os
import shutil

import pytest

from experiments.report_browser import Page
from experiments.report_sample import sample
from linrank.experiments.report import write_page

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--force-prefers-reduced-motion"),
)


def absent(reason):
    if os.environ.get("LINRANK_REQUIRE_BROWSER") == "1":
        pytest.fail(f"LINRANK_REQUIRE_BROWSER is set, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    try:
        from selenium import webdriver
    except ImportError:
        absent("selenium is not installed")
    browsers = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    browser, chromedriver = next(filter(None, browsers), None), shutil.which("chromedriver")
    if browser is None or chromedriver is None:
        absent("there is no Chromium with its chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(path, sample())
    return path


@pytest.fixture
def page(driver, sample_path):
    return Page(driver, sample_path)
