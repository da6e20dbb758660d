// SPDX-License-Identifier: MIT
// A machine that was measured to have such a device, whatever there is: tune files for tests.
#ifndef SHOAL_TESTS_PRETEND_H
#define SHOAL_TESTS_PRETEND_H

// Runs of three states at most, not stiff, in f64. The device starts in so many seconds; a row
// alone takes it `lane` times its work, and a row of a full one `full` times.
void pretend(double start, double lane, double full);
// A device that is as fast as one core, as far as anybody knows, and that starts at once.
void pretend_equal(void);

#endif
