# SPDX-License-Identifier: Apache-2.0
"""The program that measures TensorFlow, with the real one from pinned wheels.

usage: test_tensorflow.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Nothing asserted depends on the processor: bits are compared with bits of the same machine.
"""

import frameworks_lab as lab


class Real(lab.Quick):
    PINS, ROOM, SELECTORS = "tensorflow.txt", 4, ("@tensorflow",)
    ROLES = ("tensorflow",)


if __name__ == "__main__":
    lab.main()
