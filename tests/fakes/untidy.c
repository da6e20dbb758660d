// SPDX-License-Identifier: MIT
// What gcc lets pass, clang warns of and clang-tidy finds: see tests/test_lint.c.
int untidy(int n);

int untidy(int n) {
    n = n;
    return n > 1 && n > 1;
}
