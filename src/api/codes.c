// SPDX-License-Identifier: MIT
// Names and texts from the lists in shoal.h.
#include "shoal/shoal.h"

const char *shoal_version(void) { return SHOAL_VERSION; }

const char *shoal_code_text(shoal_code code) {
    static const char *const texts[] = {
#define X(name, exit_code, text) text,
        SHOAL_CODES(X)
#undef X
    };
    return (unsigned)code < sizeof texts / sizeof *texts ? texts[code] : "unknown";
}

int shoal_code_exit(shoal_code code) {
    static const int codes[] = {
#define X(name, exit_code, text) exit_code,
        SHOAL_CODES(X)
#undef X
    };
    return (unsigned)code < sizeof codes / sizeof *codes ? codes[code] : 1;
}

static const struct {
    const char *word, *text, *hint;
} statuses[SHOAL_STATUS_COUNT] = {
#define X(name, meaning, advice) {#name, meaning, advice},
    SHOAL_STATUSES(X)
#undef X
};

const char *shoal_status_word(int status) {
    return status >= 0 && status < SHOAL_STATUS_COUNT ? statuses[status].word : "pending";
}

const char *shoal_status_text(int status) {
    return status >= 0 && status < SHOAL_STATUS_COUNT ? statuses[status].text : "not finished";
}

const char *shoal_status_hint(int status) {
    return status >= 0 && status < SHOAL_STATUS_COUNT ? statuses[status].hint : "";
}
