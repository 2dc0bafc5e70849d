"""Opens a page of a report in Chromium: python page.py FILE.html all|faults|drawing

Prints JSON. With drawing: how many bars each chart has at first, once the page is scrolled to the last chart, and when all must be drawn. Else: what axe-core finds in light and dark, at two widths, with tables closed and open; errors of the console; requests that leave the page; and, unless only faults are asked for, which rows
of the table of each section a range of its chart chooses; the order of rows after Enter on a heading; and widths beyond that of the window.
"""

import json
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

FACES = [("light", 1280), ("dark", 400)]


def opened(browser, url, scheme, width, found):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda said: said.type == "error" and found["errors"].append(said.text))
    page.on("pageerror", lambda error: found["errors"].append(str(error)))
    page.on("request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or found["requests"].append(request.url))
    page.goto(url)
    if page.locator(".chart").count():
        page.wait_for_selector("html[data-drawn]")
    return context, page


def faults(page, face):
    answer = Axe().run(page).response
    return [f"{face}: {v['id']} ({v['impact']}): {v['nodes'][0]['html'][:200]}" for v in answer["violations"] if v["impact"] in ("serious", "critical")]


def rows(section):
    return section.locator("tbody tr:not([hidden]) td:first-child").all_inner_texts()


def brushed(page, section):
    """The first cells of the rows that the left half of a chart chooses, then those once all are shown again."""
    section.scroll_into_view_if_needed()
    plane = section.locator(".nsewdrag")
    if plane.count():
        box = plane.first.bounding_box()
        # Beyond the corner, for a mark may lie on the axis.
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2)
        page.mouse.down()
        page.mouse.move(box["x"] - 10, box["y"] - 10, steps=5)
        page.mouse.up()
    else:
        # Parallel coordinates: the lower half of the first axis.
        page.evaluate(
            """(chart) => {
                const values = chart.data[0].dimensions[0].values, least = Math.min(...values);
                return Plotly.restyle(chart, { 'dimensions[0].constraintrange': [[least, (least + Math.max(...values)) / 2]] }, [0]);
            }""",
            section.locator(".chart").element_handle(),
        )
    button = section.locator("button.all")
    try:
        button.wait_for(state="visible", timeout=5000)
    except Exception:
        return None
    chosen = rows(section)
    button.click()
    return [chosen, rows(section)]


# What a browser has not, or never comes to do.
NEVER_IDLE = "window.requestIdleCallback = () => 0;"
NO_OBSERVER = "delete window.IntersectionObserver;"
WHOLE = "new MutationObserver((_, o) => { if (document.documentElement) { o.disconnect(); document.documentElement.dataset.draw = 'all'; } }).observe(document, { childList: true });"


def drawing(browser, url):
    """Bars of each chart: at first and further down in a browser that is never idle; when the page is printed there; and once all are drawn in others."""
    found, errors = {}, []

    def bars(page):
        return page.evaluate("Array.from(document.querySelectorAll('.chart'), (chart) => chart.querySelectorAll('.point').length)")

    def page_with(*scripts):
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        for script in scripts:
            page.add_init_script(script)
        page.goto(url)
        return page

    def first_screen(page):
        page.wait_for_function("performance.getEntriesByName('iolode: first screen').length > 0")
        return page

    def whole(page):
        page.wait_for_selector("html[data-drawn]")
        return bars(page)

    page = first_screen(page_with(NEVER_IDLE))
    found["first"] = bars(page)
    last = page.locator(".chart").last
    last.scroll_into_view_if_needed()
    last.locator(".point").first.wait_for()
    found["scrolled"] = bars(page)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    found["before print"] = whole(page)
    page = first_screen(page_with(NEVER_IDLE))
    page.emulate_media(media="print")
    found["print"] = whole(page)
    found["whole"] = whole(page_with(NEVER_IDLE, WHOLE))
    found["no observer"] = whole(page_with(NEVER_IDLE, NO_OBSERVER))
    found["no idle callback"] = whole(page_with("delete window.requestIdleCallback;"))
    found["idle"] = whole(page_with())
    found["errors"] = errors
    return found


def main():
    url = Path(sys.argv[1]).resolve().as_uri()
    found = {"axe": [], "errors": [], "requests": [], "brushed": [], "sorted": [], "wide": []}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        if sys.argv[2] == "drawing":
            print(json.dumps(drawing(browser, url)))
            browser.close()
            return
        for scheme, width in FACES:
            context, page = opened(browser, url, scheme, width, found)
            found["axe"] += faults(page, f"{scheme} {width}")
            page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
            found["axe"] += faults(page, f"{scheme} {width} open")
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found["wide"].append(width)
            context.close()
        if sys.argv[2] == "faults":
            browser.close()
            print(json.dumps(found))
            return
        context, page = opened(browser, url, "light", 1280, found)
        for section in page.locator("main section:has(.chart)").all():
            found["brushed"].append(brushed(page, section))
        heading = page.locator("th button").first
        if heading.count():
            heading.focus()
            page.keyboard.press("Enter")
            section = page.locator("section:has(th)").first
            found["sorted"] = rows(section)
            filtered = section.locator("input[type=search]")
            if filtered.count():
                filtered.fill(found["sorted"][0])
                found["filtered"] = rows(section)
        browser.close()
    print(json.dumps(found))


main()
