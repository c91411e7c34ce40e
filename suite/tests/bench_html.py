# SPDX-License-Identifier: Apache-2.0
"""How long a page of 1000 measured cases takes to open, and what it weighs; beside their targets.

usage: bench_html.py RENDER_DOCUMENT REPORTS_FOLDER

No time is asserted. Without Chromium only the weight is printed.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import browser
import pages

# from the start of the navigation until all is laid out and the script has run
OPENED = """new Promise((done) => requestAnimationFrame(() => setTimeout(() => {
  const [entry] = performance.getEntriesByType('navigation');
  done([entry.domInteractive, entry.loadEventEnd, performance.now()]);
})))"""
CASE = """(() => {
  const start = performance.now();
  document.querySelectorAll('tbody th > a')[500].click();
  document.body.offsetHeight;
  return performance.now() - start;
})()"""
FILTER = """(() => {
  const start = performance.now();
  document.forms[0].elements.observed.value = 'varies';
  document.forms[0].dispatchEvent(new Event('input'));
  document.body.offsetHeight;
  return performance.now() - start;
})()"""


def main():
    render, reports = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="detprobe-bench-") as folder:
        document, page = pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "report.html"
        document.write_text(json.dumps(pages.many(reports / "measured" / "cpu-debian12-quick.json", 1000)))
        start = time.perf_counter()
        page.write_bytes(subprocess.run([render, "report", "html", document], capture_output=True, check=True).stdout)
        took = time.perf_counter() - start
        print(f"html: 1000 measured cases weigh {page.stat().st_size / 1e6:.2f} MB, target <= 2 MB; "
              f"made in {took:.2f} s, most of it reading {document.stat().st_size / 1e6:.1f} MB")
        document.write_text(json.dumps(pages.many(reports / "measured" / "cpu-debian12-quick.json", 10_000)))
        start = time.perf_counter()
        size = len(subprocess.run([render, "report", "html", document], capture_output=True, check=True).stdout)
        print(f"html: 10000 cases weigh {size / 1e6:.1f} MB, made in {time.perf_counter() - start:.1f} s; no target")
        if not browser.program():
            print("html: no Chromium here, not opened")
            return
        chromium, rounds = browser.Browser(), []
        chromium.call("Performance.enable", timeDomain="threadTicks")
        try:
            for _ in range(7):
                chromium.open(page)
                times = chromium.value(OPENED)
                metrics = chromium.call("Performance.getMetrics")["metrics"]
                cpu = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
                rounds.append([*times, 1e3 * cpu, chromium.value(CASE), chromium.value(FILTER)])
        finally:
            chromium.close()
        read, loaded, opened, cpu, case, chosen = (statistics.median(column) for column in zip(*rounds))
        print(f"html: it opens in {opened:.0f} ms (parsed {read:.0f}, loaded {loaded:.0f}; {cpu:.0f} of CPU), target <= 1000 ms; "
              "limit: laying out 1000 rows")
        print(f"html: a case opens in {case:.0f} ms, a filter takes {chosen:.0f} ms")


main()
