# SPDX-License-Identifier: MIT
"""Grids against NumPy: stacks, lists of one shape and of several, marked grids, types, errors."""

import pickle
import unittest
import warnings

import numpy as np

import shoal

RNG = np.random.default_rng(5)


def ragged(count, dtype=np.uint8):
    return [RNG.integers(0, 10, RNG.integers(1, 12, 2)).astype(dtype) for _ in range(count)]


def rotated(g):
    return np.rot90(g)


def masked(g):
    return np.where(np.rot90(g) > 5, np.rot90(g), 0)


def neighbours(g):
    p = np.pad(g.astype(int), 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]


PIPELINES = [("rot90", rotated), ("rot90 | mask(v>5)", masked), ("flip_h", np.fliplr),
             ("transpose", np.transpose), ("nsum4", neighbours), ("in + 1", lambda g: g + 1),
             ("tile(2,3)", lambda g: np.tile(g, (2, 3)))]  # fmt: skip


class Grids(unittest.TestCase):
    def test_stacks_and_lists(self):
        for text, want in PIPELINES:
            g = shoal.grid(text, device="cpu")
            for dtype in (np.uint8, np.int16, np.int32):
                stack = RNG.integers(0, 10, (7, 4, 5)).astype(dtype)
                got = g(stack)
                self.assertEqual(got.dtype, dtype)
                np.testing.assert_array_equal(got, np.stack([want(s) for s in stack]))
                for some in (list(stack), ragged(9, dtype), ragged(1, dtype)):
                    for a, b in zip(g(some), some, strict=True):
                        np.testing.assert_array_equal(a, want(b))

    def test_layouts(self):
        g = shoal.grid("rot90", device="cpu")
        stack = RNG.integers(0, 10, (6, 8, 10)).astype(np.uint8)[::2, ::2, ::2]
        np.testing.assert_array_equal(g(stack), np.rot90(stack, axes=(1, 2)))
        for a, b in zip(g([s.T for s in stack]), stack):
            np.testing.assert_array_equal(a, np.rot90(b.T))
        lists = [[[1, 2], [3, 4]], [[5]]]
        np.testing.assert_array_equal(g(lists)[0], [[2, 4], [1, 3]])
        np.testing.assert_array_equal(g(stack.astype(np.int64)), np.rot90(stack, axes=(1, 2)))

    def test_out(self):
        g = shoal.grid("rot90", device="cpu")
        stack = RNG.integers(0, 10, (7, 4, 5)).astype(np.uint8)
        out = np.zeros((7, 5, 4), np.int16)
        got = g(stack, out=out)
        self.assertTrue(np.shares_memory(got, out))
        np.testing.assert_array_equal(out, np.rot90(stack, axes=(1, 2)))
        for wrong in (np.zeros((7, 4, 5), np.uint8), np.zeros((7, 5, 8), np.uint8)[:, :, ::2]):
            with self.assertRaises(ValueError):
                g(stack, out=wrong)

    def test_marked(self):
        g = shoal.grid("crop(0,0,3,3)", device="cpu")
        some = [np.ones((2, 2), np.uint8), np.ones((4, 4), np.uint8)]
        with self.assertWarnsRegex(shoal.MarkedGrids, "1 of 2 .* first is 0"):
            got = g(some)
        self.assertIsNone(got[0])
        self.assertEqual(got[1].shape, (3, 3))
        _, status = g(some, return_status=True)
        self.assertEqual(list(status), ["bounds", "ok"])

    def test_lists_are_views(self):
        cells = np.arange(12, dtype=np.int16)
        shapes, offsets = np.array([[2, 3], [0, 0], [1, 5]], np.int32), np.array([0, 6, 7], np.uint64)
        status = np.array([0, 1, 0], np.uint8)
        # NumPy's table of functions, and arrays without it.
        for table in (shoal.grids._numpy_table(), None):
            a, none, b = shoal._core.grid_views(table, cells, shapes, offsets, status)
            np.testing.assert_array_equal(a, [[0, 1, 2], [3, 4, 5]])
            np.testing.assert_array_equal(b, [[7, 8, 9, 10, 11]])
            self.assertIsNone(none)
            self.assertIs(a.base, cells)
            self.assertTrue(a.flags.c_contiguous and a.flags.writeable and a.flags.aligned and not a.flags.owndata)
            a[1, 2] = 50
            self.assertEqual(cells[5], 50)
            cells[5] = 5
            for wrong in (shapes * 4, -shapes):
                with self.assertRaises(ValueError):
                    shoal._core.grid_views(table, cells, wrong, offsets, status)
            with self.assertRaises(ValueError):
                shoal._core.grid_views(table, cells, shapes, offsets[:2], status)
        self.assertIsNotNone(shoal.grids._numpy_table())

    def test_many_shapes(self):
        # More than a pipeline remembers, and some that share a place there.
        g = shoal.grid("rot90 | tile(1,2)", device="cpu")
        shapes = [(h, w) for h in range(1, 40) for w in range(1, 40)] + [(1, 33), (2, 1), (33, 1), (1, 1)]
        some = [RNG.integers(0, 10, s).astype(np.uint8) for s in shapes]
        for _ in range(2):
            for a, b in zip(g(some), some, strict=True):
                np.testing.assert_array_equal(a, np.tile(np.rot90(b), (1, 2)))

    def test_dtype(self):
        g = shoal.grid("in * 100", device="cpu")
        np.testing.assert_array_equal(g(np.full((1, 2, 2), 9, np.uint8), dtype=np.int16), np.full((1, 2, 2), 900))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            g(np.full((1, 2, 2), 9, np.uint8))
        self.assertEqual(said[0].category, shoal.MarkedGrids)

    def test_errors(self):
        with self.assertRaisesRegex(shoal.ModelError, r"(?s)nosuch.*\^"):
            shoal.grid("rot90 | nosuch")
        g = shoal.grid("rot90", device="cpu")
        for wrong in (np.ones((2, 2), np.uint8), np.ones((1, 2, 2)), [np.ones(3)], [[[2**40]]], 5, None, ["a"]):
            with self.assertRaises((TypeError, ValueError, OverflowError)):
                g(wrong)
        cells = np.zeros(4, np.uint8)
        for given in ((2, 0, 2, 2, cells, None, None), (1, 0, -1, 2, cells, None, None), (1, 7, 1, 1, cells, None, None),
                      (1, 0, 0, 0, cells, np.array([[9, 9]], np.int32), np.zeros(1, np.uint64)),
                      (1, 0, 0, 0, cells, np.array([[1, 1]], np.int32), None)):
            with self.assertRaises((ValueError, shoal.Error)):
                g._core.run(given, (0, cells, np.zeros((2, 2), np.int32), np.zeros(2, np.uint64), np.zeros(2, np.uint8)))

    def test_empty_and_pickled(self):
        g = pickle.loads(pickle.dumps(shoal.grid("rot90", device="cpu")))
        self.assertEqual(len(g([])), 0)
        np.testing.assert_array_equal(g(np.array([[[1, 2]]], np.uint8)), [[[2], [1]]])


if __name__ == "__main__":
    unittest.main()
