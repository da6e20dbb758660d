// SPDX-License-Identifier: MIT
// Small texts that ask for much: each is accepted or refused with a message, in little time and
// memory, whatever functions, sums, arrays and derivatives would make of it.
#include "api/solver.h"
#include "base/buf.h"
#include "check.h"

#include <sys/resource.h>

// A piece `times` times, %d in it counted from 1, between a head and a tail.
static const struct nasty {
    const char *name, *head, *piece;
    int times;
    const char *tail;
    const char *refused; // part of the error; NULL: accepted
} nasties[] = {
    {"functions that double", "f0(x)=sin(x)*cos(x)\n", "f%1$d(x)=f%2$d(x+%1$d)*f%2$d(x*%1$d)\n", 24,
     "x'=f24(x)\n", "too large once its functions are expanded"},
    {"arguments that change places", "f0(x,y)=sin(x)*y\n", "f%1$d(x,y)=f%2$d(x+y,y)*f%2$d(y,x)\n",
     24, "x'=f24(x,t)\n", "too large once its functions are expanded"},
    {"a constant of such", "f0(x)=x\n", "f%1$d(x)=f%2$d(x)+f%2$d(x)\n", 26,
     "const b=f26(1)\nx'=b\n", "takes too long to compute"},
    {"many constants of such", "f0(x)=x\n", "f%1$d(x)=f%2$d(x)+f%2$d(x)\n", 18,
     "par b[1..100000]=f18(1)\nx'=b1\n", "takes too long to compute"},
    {"nested sums", "x'=", "sum(0,99)of(", 8, "i'*x))))))))\n", "arrays and sums are written out"},
    {"two large sums", "x'=sum(0,3999)of(sum(0,3999)of(sin(i'+x)))\n", "", 0, "",
     "arrays and sums are written out"},
    {"a huge array", "x[1..1048576]'=-x[j]\n", "", 0, "", "at most"},
    {"two large arrays", "x[1..100000]'=1\ny[1..100000]'=1\n", "", 0, "", "too many names"},
    {"a huge block", "%[1..900000]\nx'=1\n%\n", "", 0, "", "at most"},
    {"many observables", "x'=1\naux a[1..130000]=x*[j]\n", "", 0, "", NULL},
    {"many derived parameters", "par a=1\nx'=1\n!b[1..130000]=a+[j]\n", "", 0, "", NULL},
    {"many formulas", "par a=1\nx[1..100000]'=1\nx[1..100000](0)=sin(t)*a\n", "", 0, "", NULL},
    {"a chain", "b0=x\n%[1..130000]\nb[j]=sin(b[j-1])\n%\nx'=b130000\n", "", 0, "", NULL},
    {"deep parentheses", "x'=", "(", 490,
     "x))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))",
     "is not closed"},
    {"deep signs", "x'=", "-", 900, "x\n", NULL},
    {"deep functions", "x'=x", "*sin(x^64)^1e9", 60, "\n", NULL},
    {"a tower of powers", "x'=x", "^64", 300, "\n", NULL},
    {"powers without end", "x'=x^1e9+x^-1e9+x^1e300+x^-64+x^64+x^0.5\n", "", 0, "", NULL},
    {"products of sines", "x[1..1000]'=x[j]", "*sin(x[j]+%1$d)", 55, "\n", NULL},
    {"a sum of all in all", "s=sum(0,1999)of(shift(x1,i'))\nx[1..2000]'=sin(s*x[j])\n", "", 0, "",
     NULL},
    {"all in 16000", "s=sum(0,15999)of(shift(x1,i'))\nx[1..16000]'=s*x[j]\n", "", 0, "", NULL},
    {"an arrow that fills", "x0'=sum(0,16000)of(shift(x1,i'))\nx[1..16001]'=x0-x[j]\n", "", 0, "",
     NULL},
    {"a triangle", "s0=0\n%[1..4000]\ns[j]=s[j-1]+sin(x[j])\nx[j]'=s[j]\n%\n", "", 0, "", NULL},
    {"one thing in many rows", "z=sum(0,20000)of(sin(i'+t*x1))\nx[1..100000]'=z+x[j]\n", "", 0, "",
     NULL},
    {"a chain of products",
     "b0=x\n%[1..20000]\nb[j]=sin(b[j-1])*y[j]\n%\ny[1..20000]'=b[j]\nx'=b20000\n", "", 0, "",
     NULL},
    {"algebraic rows of all in all",
     "alg y[1..1000]=1\ns=sum(0,999)of(shift(y1,i')^2)\n%[1..1000]\n0=y[j]^3-s\n%\n", "", 0, "",
     "equations and their derivatives"},
    {"a ring as large as can be", "x[1..16383]'=x[j+1]-x[j]\nx16384'=-x1\n", "", 0, "", NULL},
    {"errors everywhere", "%[1..130000]\nx[j]'=q[j]\n%\n", "", 0, "", "is not defined"},
};

static char *nasty_text(const struct nasty *n) {
    struct buf text = {0};
    buf_puts(&text, n->head);
    for (int i = 1; i <= n->times; i++) {
        char piece[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(piece, sizeof piece, n->piece, i, i - 1);
#pragma GCC diagnostic pop
        buf_puts(&text, piece);
    }
    buf_puts(&text, n->tail);
    REQUIRE(text.length <= 1100);
    return text.data;
}

static double child_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// A second of an idle machine is three of a busy one.
enum { MEMORY_MB = 500, SECONDS = 3 };

static void bound_memory(void) {
#ifdef __SANITIZE_ADDRESS__
    check_skip("the sanitizer takes all addresses");
#endif
    struct rlimit limit = {(rlim_t)MEMORY_MB << 20, (rlim_t)MEMORY_MB << 20};
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void check_nasty(const char *name, const char *text, const char *refused) {
    const char *path = check_path("nasty.ode");
    check_write(path, text);
    double before = child_seconds();
    struct check_output o = RUN(check_shoal(), "info", path);
    double seconds = child_seconds() - before;
    CHECK_MSG(seconds < SECONDS, "%s takes %.1f s", name, seconds);
    CHECK_MSG(o.status == (refused ? 1 : 0), "%s: exit code %d\n%.400s", name, o.status, o.err);
    CHECK_MSG(!refused || strstr(o.err, refused), "%s: %.400s", name, o.err);
    free(o.out);
    free(o.err);
}

TEST(hostile_small_texts) {
    bound_memory();
    for (size_t i = 0; i < sizeof nasties / sizeof *nasties; i++) {
        if (!check_does(i, 0, 2))
            continue;
        char *text = nasty_text(&nasties[i]);
        check_nasty(nasties[i].name, text, nasties[i].refused);
        free(text);
    }
}

static char *sines(int factors) {
    struct buf text = {0};
    buf_puts(&text, "x[1..1000]'=sin(x[j])");
    for (int i = 1; i < factors; i++)
        buf_printf(&text, "*sin(x%d)", i);
    buf_puts(&text, "\n");
    return text.data;
}

// 1000 states that are each a product of 399 sines passed 5 GB.
TEST(hostile_products_of_sines) {
    bound_memory();
    char *many = sines(399), *some = sines(200);
    check_nasty("399 sines", many, "arrays and sums are written out");
    check_nasty("200 sines", some, NULL);
    free(many);
    free(some);
}

static shoal_code source_of(const char *text, const char *method, int *stop, shoal_log *log) {
    shoal_model *m = NULL;
    shoal_options o;
    char *source = NULL;
    REQUIRE(!shoal_model_parse("m", text, strlen(text), &m, log));
    REQUIRE(!shoal_options_init(&o, m, log));
    o.method = method;
    o.t1 = 1;
    o.stop = stop;
    shoal_code code = shoal_model_source(m, &o, &source, log);
    free(source);
    shoal_model_free(m);
    return code;
}

// A Jacobian beyond all bounds is an error of the methods that need it, not of the model.
TEST(hostile_jacobian_is_refused) {
    static const char text[] = "s=sum(0,1999)of(shift(x1,i'))\nx[1..2000]'=sin(s*x[j])\n";
    shoal_log *log = shoal_log_new();
    CHECK_INT(source_of(text, "rodas5p", NULL, log), SHOAL_INPUT);
    size_t count = shoal_log_message_count(log);
    REQUIRE(count);
    CHECK_HAS(shoal_log_message(log, count - 1).text, "the model is too large");
    CHECK_INT(source_of(text, "tsit5", NULL, log), SHOAL_OK);
    shoal_log_free(log);
}

// Generating code looks at the flag too.
TEST(hostile_stop_while_generating) {
    static const char text[] = "s=sum(0,399)of(shift(x1,i'))\nx[1..400]'=sin(s*x[j])\n";
    int stop = 1;
    shoal_log *log = shoal_log_new();
    CHECK_INT(source_of(text, "rodas5p", &stop, log), SHOAL_STOPPED);
    stop = 0;
    CHECK_INT(source_of(text, "rodas5p", &stop, log), SHOAL_OK);
    shoal_log_free(log);
}
