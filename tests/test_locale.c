// SPDX-License-Identifier: MIT
// A program may have set any locale: models, options, messages and files mean the same.
#include "check.h"
#include "shoal/shoal.h"

#include <locale.h>
#include <strings.h>

// A locale in which I and i are not the same letter, made in the test's directory.
static void turkish_locale(void) {
    setenv("LOCPATH", check_dir(), 1);
    RUN("localedef", "-i", "tr_TR", "-f", "ISO-8859-9", check_path("tr.ISO-8859-9"));
    if (!setlocale(LC_ALL, "tr.ISO-8859-9") || !strcasecmp("INIT", "init"))
        check_skip("cannot make a Turkish locale");
}

// Keywords, functions, names, options and words that have an I in them.
static const char capitals[] = "PAR A=1\nX'=SIN(X)+IF(A>0)THEN(XI)ELSE(MIN(A,0))+F(PI)\n"
                               "INIT X=1\nXI'=SUM(1,2)OF(I')\nF(BI)=bi\nSET ONE {A=2}\n"
                               "@ METH=DOPRI5,DTMIN=.5,TOTAL=3\nDONE\n";

static void check_capitals(void) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    shoal_options o;
    double y[] = {1, 2}, dydt[2] = {0};
    CHECK_INT(shoal_model_parse("m", capitals, strlen(capitals), &m, log), SHOAL_OK);
    REQUIRE(m && !shoal_options_init(&o, m, log));
    shoal_model_rhs(m, 0, y, dydt);
    CHECK_NEAR(dydt[0], sin(1) + 2 + M_PI, 1e-15);
    CHECK_NEAR(dydt[1], 3, 0);
    CHECK_STR(o.method, "dormand-prince-54");
    CHECK_NEAR(o.dt_min, 0.5, 0);
    CHECK_INT(shoal_model_use(m, "one", &o, log), SHOAL_OK);
    CHECK_INT(shoal_options_set(&o, "memory", "1m", log), SHOAL_OK);
    CHECK_INT(o.memory, 1 << 20);
    shoal_model_free(m);
    shoal_log_free(log);
}

TEST(locale_turkish_model) {
    turkish_locale();
    check_capitals();
}

TEST(locale_comma_model) {
    check_comma_locale();
    check_capitals();
    // Numbers are read and shown with a point.
    static const char text[] = "x'=1.5e-3*x+0.1234567890123456789\nbad'=sum(1,2.5)of(1)\n";
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    CHECK_INT(shoal_model_parse("m", text, strlen(text), &m, log), SHOAL_INPUT);
    REQUIRE(shoal_log_message_count(log) == 1);
    CHECK_HAS(shoal_log_message(log, 0).text, "must be whole numbers, not 2.5");
    shoal_log_free(log);
    CHECK_STR(setlocale(LC_NUMERIC, NULL), "comma.UTF-8"); // what the program has set stays
}

// What asks the locale is not in the library at all.
TEST(locale_is_never_asked) {
    static const char *const asked[] = {
        "strcasecmp",
        "strncasecmp",
        "strcoll",
        "tolower",
        "toupper",
        "__ctype_b_loc",
        "__ctype_tolower_loc",
        "__ctype_toupper_loc",
        "isalpha",
        "isalnum",
        "isdigit",
        "isspace",
        "iscntrl",
        "isprint",
        "isxdigit",
        "strtod",
        "strtof",
        "strtold",
        "atof",
        "setlocale",
        "__strtod_internal",
        "localeconv",
    };
    const char *build = getenv("SHOAL_BUILD");
    char path[512];
    snprintf(path, sizeof path, "%s/libshoal.so", build ? build : "build");
    struct check_output o = RUN("nm", "-D", "--undefined-only", path);
    if (o.status)
        check_skip("no nm, or no library in %s", path);
    CHECK_HAS(o.out, "strtod_l");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        char line[64];
        snprintf(line, sizeof line, " U %s@", asked[i]);
        CHECK_MSG(!strstr(o.out, line), "the library calls %s", asked[i]);
        snprintf(line, sizeof line, " U %s\n", asked[i]);
        CHECK_MSG(!strstr(o.out, line), "the library calls %s", asked[i]);
    }
}
