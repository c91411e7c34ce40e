# SPDX-License-Identifier: Apache-2.0
"""Runs one libFuzzer target for a bounded time: fuzz.py FUZZER CORPUS SECONDS [OPTION...]

Begins with the kept inputs, which stay as they are; what is found beside them is left in FUZZER.found, and an
input that fails in FUZZER.failed-*, to be fixed, minimised and kept.
"""

import pathlib
import shutil
import subprocess
import sys

LIMITS = ("-timeout=20", "-rss_limit_mb=3000", "-max_len=60000", "-len_control=0", "-print_final_stats=1")


def main():
    fuzzer, corpus, seconds, *options = sys.argv[1:]
    found = pathlib.Path(fuzzer + ".found")
    # What an earlier run left would take this one's time to read again.
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir()
    command = [fuzzer, f"-max_total_time={seconds}", f"-artifact_prefix={fuzzer}.failed-", *LIMITS, *options]
    return subprocess.run([*command, found, corpus]).returncode


if __name__ == "__main__":
    sys.exit(main())
