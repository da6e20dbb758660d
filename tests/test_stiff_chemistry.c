// SPDX-License-Identifier: MIT
// POLLU, 20 states of air chemistry: its matrix hardly fills in, its end values are the published
// ones, and its kernel compiles quickly; so does that of a chain of 100 states.
//
// Compile time is the compiler's own (user time of children), so a busy machine does not count.
#include "check.h"
#include "listing.h"
#include "solve.h"

#include <sys/resource.h>

static const char pollu[] =
    "par k1=0.35;init y2=0.2,y4=0.04,y7=0.1,y8=0.3,y9=0.01,y17=0.007;"
    "r1=k1*y1;r2=26.6*y2*y4;r3=1.23e4*y5*y2;r4=8.6e-4*y7;r5=8.2e-4*y7;r6=1.5e4*y7*y6;r7=1.3e-4*y9;"
    "r8=2.4e4*y9*y6;r9=1.65e4*y11*y2;r10=9e3*y11*y1;r11=0.022*y13;r12=1.2e4*y10*y2;r13=1.88*y14;"
    "r14=1.63e4*y1*y6;r15=4.8e6*y3;r16=3.5e-4*y4;r17=0.0175*y4;r18=1e8*y16;r19=4.44e11*y16;"
    "r20=1.24e3*y17*y6;r21=2.1*y19;r22=5.78*y19;r23=0.0474*y1*y4;r24=1.78e3*y19*y1;r25=3.12*y20;"
    "y1'=-r1-r10-r14-r23-r24+r2+r3+r9+r11+r12+r22+r25;y2'=-r2-r3-r9-r12+r1+r21;"
    "y3'=-r15+r1+r17+r19+r22;y4'=-r2-r16-r17-r23+r15;y5'=-r3+2*r4+r6+r7+r13+r20;"
    "y6'=-r6-r8-r14-r20+r3+2*r18;y7'=-r4-r5-r6+r13;y8'=r4+r5+r6+r7;y9'=-r7-r8;y10'=-r12+r7+r9;"
    "y11'=-r9-r10+r8+r11;y12'=r9;y13'=-r11+r10;y14'=-r13+r12;y15'=r14;y16'=-r18-r19+r16;"
    "y17'=-r20;y18'=r20;y19'=-r21-r22-r24+r23+r25;y20'=-r25+r24;@ t1=60";

static const double at_60[20] = {
    0.5646255480022769e-1, 0.1342484130422339,    0.4139734331099427e-8, 0.5523140207484359e-2,
    0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018,
    0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, 0.2230505975721359e-2,
    0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, 0.4352846369330103e-17,
    0.6899219696263405e-2, 0.1007803037365946e-3, 0.1772146513969984e-5, 0.5682943292316392e-4};

TEST(stiff_pollu) {
    static const char *const names[] = {"ros3p", "rodas4", "rodas5p"};
    for (size_t m = 0; m < 3; m++) {
        struct solved s = solve(pollu, NULL, "method=%s rtol=1e-6 atol=1e-20", names[m]);
        CHECK_INT(s.status[0], SHOAL_STATUS_ok);
        for (uint32_t j = 0; j < 20; j++)
            CHECK_NEAR(solved_last(&s, j, 0), at_60[j], 1e-5 * at_60[j]);
        solved_free(&s);
    }
}

static double seconds_between(const struct rusage *before, const struct rusage *after) {
    return (double)(after->ru_utime.tv_sec - before->ru_utime.tv_sec) +
           1e-6 * (double)(after->ru_utime.tv_usec - before->ru_utime.tv_usec);
}

// Seconds that the compiler took for a model's kernel.
static double compile_seconds(const char *model) {
    struct rusage before, after;
    getrusage(RUSAGE_CHILDREN, &before);
    struct solved s = solve(model, NULL, "method=rodas5p rtol=1e-3");
    getrusage(RUSAGE_CHILDREN, &after);
    solved_free(&s);
    return seconds_between(&before, &after);
}

static char *chain(int n) {
    struct buf m = {0};
    buf_puts(&m, "par k=1");
    for (int i = 1; i <= n; i++)
        buf_printf(&m, ";init x%d=1;x%d'=100*k*(x%d-2*x%d+x%d)-x%d^3", i, i, i > 1 ? i - 1 : 1, i,
                   i < n ? i + 1 : n, i);
    buf_puts(&m, ";@ t1=1");
    REQUIRE(!m.failed);
    return m.data;
}

TEST(stiff_kernels_compile_quickly) {
    char *large = chain(100);
    double seconds = compile_seconds(pollu);
    CHECK_MSG(seconds < 1, "POLLU: %g s", seconds);
    seconds = compile_seconds(large);
    CHECK_MSG(seconds < 3, "chain of 100: %g s", seconds);
    free(large);
}

// The same for a GPU, by NVRTC in a process of its own.
TEST(stiff_cuda_kernel_compiles_quickly) {
    struct rusage before, after;
    const char *model = check_path("pollu.ode");
    char *lines = strdup(pollu);
    for (char *c = lines; *c; c++)
        *c = *c == ';' ? '\n' : *c;
    check_write(model, lines);
    free(lines);
    getrusage(RUSAGE_CHILDREN, &before);
    struct check_output o =
        RUN(check_shoal(), "warm", model, "--method", "rodas5p", "--target", "sm_90");
    getrusage(RUSAGE_CHILDREN, &after);
    if (o.status == 3)
        check_skip("%s", o.err);
    CHECK_INT(o.status, 0);
    double seconds = seconds_between(&before, &after);
    CHECK_MSG(seconds < 3, "%g s", seconds);
}

static uint32_t number_after(const char *text, const char *words) {
    const char *at = strstr(text, words);
    REQUIRE(at);
    return (uint32_t)strtoul(at + strlen(words), NULL, 10);
}

TEST(stiff_pollu_hardly_fills_in) {
    static const struct shoal_target cuda = {
        .name = "sm_90", .prelude = "prelude_cuda.h", .device = true, .lanes64 = 1};
    struct listing s = listing_new(pollu, "method=rodas5p", &cuda);
    const char *text = s.kernel.text.data;
    CHECK_INT(number_after(text, "#define LU_ENTRIES "), 94); // of 400; the matrix has 86
    CHECK_INT(number_after(text, "#define LU_LOOPS "), 0);
    listing_free(&s);
}
