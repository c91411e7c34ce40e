# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms: right and wrong libraries told apart, a missing precision, and with the real FFTW that
what one case's planner has measured does not reach another case.

usage: test_fft.py FFT RIGHT WRONG [unittest arguments]
"""

import ctypes
import subprocess
import sys
import unittest

import speak

FFT, RIGHT, WRONG = (sys.argv.pop(1) for _ in range(3))
MANY = {"n": 400, "lengths": 4, "step": 40}


def transform(op="dft", data="f64", planner="estimate", params=None, **other):
    other = {"arithmetic": "transform", "bound": 20, "set": "unit", **other}
    return speak.request(op, {"data": data, "planner": planner, **(params or {"n": 60})}, **other)


def ask(*requests, **variables):
    return speak.converse(FFT, requests, **variables)[:2]


def has_fftw():
    try:
        return bool(ctypes.CDLL("libfftw3.so.3")) and bool(ctypes.CDLL("libfftw3f.so.3"))
    except OSError:
        return False


class Fake(unittest.TestCase):
    def error(self, library, params):
        _, (answers,) = ask(transform(params=params), DETPROBE_LIB_FFTW=library)
        return speak.observation(answers)["outputs"][0]["error_over_bound"]

    def test_right_and_wrong(self):
        for params in ({"n": 60}, {"n": 17, "howmany": 3}, {"n": 8, "lengths": 5, "step": 3, "howmany": 2},
                       {"n": 12, "direction": "backward"}):
            with self.subTest(params=params):
                self.assertLess(self.error(RIGHT, params), 1)
                self.assertGreater(self.error(WRONG, params), 1)

    def test_what_is_open(self):
        hello, (answers,) = ask(transform(), DETPROBE_LIB_FFTW=RIGHT, DETPROBE_LIB_FFTWF="/none")
        first = hello["libraries"][0]
        self.assertEqual((first["role"], first["version"]), ("fftw", "9.8.7"))
        self.assertNotIn("threads", hello["axes"], "it has none to set")
        self.assertEqual(speak.observation(answers)["chosen"], "(fake part part)")

    def test_one_precision_is_missing(self):
        _, (answers,) = ask(transform(data="f32"), DETPROBE_LIB_FFTW=RIGHT, DETPROBE_LIB_FFTWF="/none")
        self.assertEqual((answers[0]["type"], answers[0]["reason"]), ("skip", "library_missing"))
        self.assertIn("'/none' for role fftwf", answers[0]["text"])

    def test_both_are_missing(self):
        variables = speak.environment({"DETPROBE_LIB_FFTW": "/none", "DETPROBE_LIB_FFTWF": "/none"})
        done = subprocess.run([FFT], env=variables, stdin=subprocess.DEVNULL, check=False, timeout=60,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 127, done.stderr)

    def test_no_plan(self):
        _, (answers,) = ask(transform("dft-r2c"), DETPROBE_LIB_FFTW=RIGHT)
        self.assertEqual(answers[0]["type"], "failure")
        self.assertIn("no plan of 60 points", answers[0]["text"])

    def test_bad_params(self):
        bad = [("dft-c2r", {"n": 8, "rows": 2}), ("dft-r2c", {"n": 8, "lengths": 2, "step": 1}),
               ("dft", {"n": 0}), ("dft", {"n": 1 << 23, "rows": 4}),
               ("dft", {"n": 8, "lengths": 2, "step": -1})]
        _, answers = ask(*(transform(op, params=params) for op, params in bad), DETPROBE_LIB_FFTW=RIGHT)
        for each in answers:
            self.assertEqual(each[0]["type"], "failure")
            self.assertTrue(each[0]["text"].startswith("bad params: "), each[0]["text"])


@unittest.skipUnless(has_fftw(), "no FFTW here")
class Real(unittest.TestCase):
    def chosen(self, *requests):
        return [speak.observation(answers)["chosen"] for answers in ask(*requests)[1]]

    def test_estimate_does_not_follow_what_was_measured(self):
        estimate, measure = (transform(planner=planner, params=MANY) for planner in ("estimate", "measure"))
        alone, = self.chosen(estimate)
        measured, after = self.chosen(measure, estimate)
        self.assertEqual(after, alone)
        self.assertNotEqual(measured, alone, "else this proves nothing")

    def test_one_case_keeps_its_plans_in_a_process(self):
        measure = transform(planner="measure", params=MANY)
        poisoned = transform(planner="measure", params=MANY, axis="poison", setting="nan")
        first, other, again = self.chosen(measure, poisoned, measure)
        self.assertEqual((first, first), (other, again))

    def test_every_axis(self):
        settings = (("repeat", ""), ("align", "4"), ("threads", "2"), ("batch", "16/15"), ("poison", "0x5a"))
        for op in ("dft", "dft-r2c", "dft-c2r"):
            params = {"n": 90, "howmany": 2}
            requests = [transform(op, axis=axis, setting=setting, batch="howmany", params=params)
                        for axis, setting in settings]
            for answers in ask(*requests)[1]:
                output, = speak.observation(answers)["outputs"]
                self.assertEqual((output["distinct"], output["unwritten"], output["guard"]), (1, 0, "intact"))
                self.assertLess(output["error_over_bound"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=1)
