// SPDX-License-Identifier: MIT
// What is wrong with a model is said at its place, once, with what was meant; nothing crashes.
#include "base/buf.h"
#include "check.h"
#include "ode/model/model.h"

// The text is refused, and its messages are exactly these lines (without the shown source).
static void refused(const char *text, ...) {
    struct report r = {0};
    struct model *m = model_parse("m", text, strlen(text), &r);
    CHECK_MSG(m == NULL, "accepted:\n%s", text);
    model_free(m);
    va_list args;
    va_start(args, text);
    uint32_t n = 0;
    for (const char *want; (want = va_arg(args, const char *)); n++) {
        const char *got = n < r.messages.count ? r.messages.items[n].text : "(nothing)";
        if (strncmp(got, want, strlen(want)))
            check_fail(__FILE__, __LINE__, "of\n%s\nmessage %u is\n%s\nnot\n%s", text, n, got,
                       want);
    }
    va_end(args);
    if (r.messages.count > n)
        check_fail(__FILE__, __LINE__, "of\n%s\none message more:\n%s", text,
                   r.messages.items[n].text);
    report_free(&r);
}
#define REFUSED(...) refused(__VA_ARGS__, (const char *)NULL)

// The expression is refused at that column (of "x'=" + expression) with a message that has `part`.
static void wrong(const char *expression, unsigned column, const char *part) {
    struct buf text = {0};
    buf_printf(&text, "x'=%s\npar a=1\nconst k=2\nf(u,v)=u\ninit x=0\n", expression);
    struct report r = {0};
    struct model *m = model_parse("m", text.data, text.length, &r);
    CHECK_MSG(m == NULL, "accepted: %s", expression);
    CHECK_MSG(r.messages.count == 1, "%s: %u messages", expression, r.messages.count);
    if (r.messages.count) {
        shoal_message got = r.messages.items[0];
        CHECK_MSG(got.line == 1 && got.column == column && strstr(got.text, part),
                  "%s: expected column %u, %s; got\n%s", expression, column, part, got.text);
        CHECK(got.code == SHOAL_INPUT && got.severity == SHOAL_ERROR);
    }
    model_free(m);
    report_free(&r);
    buf_free(&text);
}

TEST(model_error_shows_the_place) {
    REFUSED("par rho=1\nx'=x*rhoo\ninit x=1\n", "m:2:6: error: `rhoo` is not defined; did you mean "
                                                "`rho`?\n  x'=x*rhoo\n       ^");
}

TEST(model_error_syntax) {
    wrong("", 4, "expected a value, found the end");
    wrong("1+", 6, "expected a value, found the end");
    wrong("(x", 4, "the parenthesis opened here is not closed");
    wrong("x)", 5, "`)` closes nothing");
    wrong("x y", 6, "an operator is missing before `y`");
    wrong("2x", 5, "an operator is missing before `x`");
    wrong("2 3", 6, "an operator is missing before `3`");
    wrong("x(2)", 4, "`x` is a state, not a function");
    wrong("(x)(2)", 7, "an operator is missing before `(`");
    wrong("x*/2", 6, "expected a value, found `/`");
    wrong("x,2", 5, "`,` has no meaning here");
    wrong("x=2", 5, "a comparison is `==`");
    wrong("x'+1", 5, "a derivative cannot be used");
    wrong("x ? 2", 6, "`?` without its `:`");
    wrong("x : 2", 6, "`:` without a `?`");
    wrong("(x ? 2) : 3", 7, "`?` without its `:`");
    wrong("x $ 2", 6, "`$` has no meaning here");
    wrong("x + \xc2\xb5", 8, "only ASCII letters");
    wrong("sin x", 8, "expected `(`, found `x`");
    wrong("sin", 7, "expected `(`, found the end");
    wrong("sin()", 8, "expected a value, found `)`");
    wrong("sin(x,2)", 4, "`sin` takes 1 argument, not 2");
    wrong("atan2(x)", 4, "`atan2` takes 2 arguments, not 1");
    wrong("f(x)", 4, "`f` takes 2 arguments, not 1");
    wrong("f(x,1,2)", 4, "`f` takes 2 arguments, not 3");
    wrong("if(x)then(1)", 16, "expected `else(`, found the end");
    wrong("if(x)", 9, "expected `then(`");
    wrong("if x", 7, "expected `(`");
    wrong("then(1)", 4, "expected a value, found `then`");
    wrong("x/0", 5, "division by zero");
    wrong("x/(0.0)", 5, "division by zero");
    wrong("1e999", 4, "this number is too large");
    wrong("{x}", 4, "a brace has no meaning here");
    wrong("[j]", 4, "`[j]` needs a range");
    wrong("x[j]", 5, "`[j]` needs a range");
    wrong("x[1..2]", 5, "a range can only be in the name");
    wrong("x[k]", 5, "expected [j]");
    wrong("x[1", 5, "this bracket is not closed");
    wrong("sum(1,2)(x)", 12, "expected `of(`");
    wrong("sum(1)of(x)", 4, "expected two bounds");
    wrong("sum(1,a)of(x)", 4, "the bounds of sum() must be numbers or constants");
    wrong("sum(1,k/4)of(x)", 4, "must be whole numbers, not 0.5");
    wrong("shift(x,3)", 4, "there is no name 3 places from `x`");
    wrong("shift(3,3)", 10, "expected a name");
    wrong("i'", 4, "`i'` is only known inside sum");
}

TEST(model_error_refused_by_name) {
    wrong("ran(1)", 4, "random numbers (`ran`) are not supported; for a random value per run use");
    wrong("normal(0,1)", 4, "--sample");
    wrong("poisson(1)", 4, "--sample");
    wrong("delay(x,2)", 4, "delay equations (`delay`) are not supported");
    wrong("del_shft(x,2,3)", 4, "`del_shft`");
    wrong("hom_bcs(0)", 4, "`hom_bcs`");
    wrong("bessi(0,x)", 4, "`besseli(n,x)`");
    wrong("2*int{exp(-t)#x}", 6, "Volterra integrals");
    wrong("int[.5]{exp(-t)#x}", 4, "Volterra integrals");
    REFUSED("u(t)=exp(-t)-int[.25]{exp(-t)#sin(u)}\naux v=u\n", "m:1:14: error: Volterra");
    REFUSED("x(t+1)=x*2\n", "m:1:1: error: maps (`x(t+1)=`) are not supported");
    REFUSED("special z=conv(even,3,1,w,x0)\nx'=z(1)\n", "m:1:1: error: XPP's network operators");
    REFUSED("wiener w[0..3],v\nx'=w2+v\n", "m:1:1: error: stochastic equations (`wiener`)");
    REFUSED("markov z 2\n{0} {x}\n{1} {0}\nx'=z\n", "m:1:1: error: Markov processes (`markov`)");
    REFUSED("export {x} {y}\nx'=1\n", "m:1:1: error: external functions (`export`)");
    REFUSED("volt u=1\nx'=u\n", "m:1:1: error: Volterra equations (`volt`)");
}

TEST(model_error_names) {
    REFUSED("x'=q+q\ny'=q*z\n", "m:1:4: error: `q` is not defined",
            "m:2:6: error: `z` is not defined");
    REFUSED("x'=1\nx=2\n", "m:2:1: error: `x` is already a state, see line 1");
    REFUSED("par a=1\nconst a=2\nx'=a\n", "m:2:7: error: `a` is already a parameter, see line 1");
    REFUSED("x[1..3]'=1\nx2=3\n", "m:2:1: error: `x2` is already a state, see line 1; an array "
                                  "element such as x[1] has the name x1");
    REFUSED("f(x)=x\nf'=1\n", "m:2:1: error: `f` is already a function, see line 1");
    REFUSED("t'=1\n", "m:1:1: error: `t` is a reserved name");
    REFUSED("par pi=3\nsin(x)=x\nx'=1\n", "m:1:5: error: `pi` is a reserved name",
            "m:2:1: error: `sin` is a reserved name");
    REFUSED("init y=1\nx1'=1\n", "m:1:6: error: there is no equation for `y`");
    REFUSED("init xx=1\nx'=1\n",
            "m:1:6: error: there is no equation for `xx`, so it has no initial "
            "value; did you mean `x`?");
    REFUSED("init a=1\npar a\nx'=1\n", "m:1:6: error: `a` is a parameter and has no initial value");
    REFUSED("f(a,b,a)=a\nx'=1\n", "m:1:7: error: `a` is twice among the arguments");
    REFUSED("aux r=x\naux r=2\nx'=1\n", "m:2:5: error: there is already an observable `r`");
    REFUSED("aux x=2\nx'=1\n", "m:1:5: error: an observable cannot have the name of a state: `x`");
    REFUSED("set a {x=1}\nset a {x=2}\nx'=1\n", "m:2:5: error: there is already a set `a`");
    REFUSED("x'=alpha+Alpha2\npar alpha2=1,alPha2=2,alpha=1\n",
            "m:1:10: error: `Alpha2` is not defined; did you mean `alpha2`?"); // two ignoring case
}

TEST(model_error_circular) {
    REFUSED("a=b\nb=c+1\nc=a\nx'=a\n", "m:1:1: error: circular definition: a -> b -> c -> a");
    REFUSED("const a=a\nx'=1\n", "m:1:7: error: circular definition: a -> a");
    REFUSED("!a=b\n!b=2*a\nx'=1\n", "m:1:2: error: circular definition: a -> b -> a");
    REFUSED("f(x)=f(x-1)\nx'=1\n", "m:1:1: error: a function cannot call itself: f -> f");
    REFUSED("f(x)=g(x)\ng(x)=f(x)\nx'=1\n",
            "m:1:1: error: a function cannot call itself: f -> g -> f");
    REFUSED("f(x)=x+a\na=f(1)\nx'=a\n", "m:1:1: error: a function cannot call itself: f -> a -> f");
}

TEST(model_error_start_cycles) {
    REFUSED("x'=1\nx(0)=b\n!b=x\n", "m:3:2: error: circular definition: b -> x(0) -> b");
    REFUSED("!b=x\nx'=1\n!c=2*x\nx(0)=1+c\n",
            "m:4:6: error: circular definition: x(0) -> c -> x(0)");
    REFUSED("!b=v\nv=f(1)\nf(u)=u*x\nx'=1\nx(0)=b+t\n",
            "m:1:2: error: circular definition: b -> v -> f -> x(0) -> b");
    REFUSED("!b=y+x\nx'=1\ny'=1\nx(0)=c\n!c=y\ny(0)=d\n!d=x\n",
            "m:6:6: error: circular definition: y(0) -> d -> x(0) -> c -> y(0)");
}

TEST(model_error_values) {
    REFUSED("par a=1/0\nx'=1\n", "m:1:8: error: division by zero");
    REFUSED("const z=0\npar a=1/z\nx'=1\n", "m:2:5: error: `a` has no value: division by zero");
    REFUSED("const a=ln(-1)\nx'=1\n", "m:1:7: error: `a` has no value: this is not finite");
    REFUSED("par a=1,b=a*2\nx'=1\n",
            "m:1:11: error: the value of `b` can only use numbers and "
            "constants (write !name=... for a derived parameter); `a` is a "
            "parameter");
    REFUSED("const b=x*2\nx'=1\n", "m:1:9: error: the constant `b` can only use numbers and other "
                                   "constants; `x` is a state");
    REFUSED("const b=t\nx'=1\n", "m:1:9: error: the constant `b` cannot use the time `t`");
    REFUSED("x(0)=y\nx'=1\ny'=1\n",
            "m:1:6: error: the initial value of `x` can only use parameters, "
            "constants and t; `y` is a state");
}

TEST(model_error_lines) {
    REFUSED("", "error: m: the model is empty");
    REFUSED("# nothing\n\n", "error: m: the model is empty");
    REFUSED("par a=1\n", "error: m: the model has no differential equation (x'=...)");
    REFUSED("parm a=1\nx'=a\n", "m:1:1: error: `parm` is not a declaration we know; did you mean "
                                "`par");
    REFUSED("mksol mysol\naddto mysol {'L',2,Am}\nx'=Am+mysol\n",
            "m:1:1: error: `mksol` is not a declaration",
            "m:2:1: error: `addto` is not a declaration");
    REFUSED("x'=1\ndome\n", "m:2:1: error: `dome` is not a declaration we know; did you mean "
                            "`done`?");
    REFUSED("x'=nz\nw nz\n", "m:2:1: error: `w` is not a declaration we know; did you mean "
                             "`wiener`? stochastic equations (`wiener`) are not supported");
    REFUSED("x'=1\nx\n", "m:2:1: error: this line is not understood");
    REFUSED("d x / dt = y\ny'=x+\n", // the rest of the model must not vanish
            "m:1:1: error: `d` and a blank is the end of a model; write dx/dt=...",
            "m:2:6: error: expected a value");
    REFUSED("x''=1\n", "m:1:2: error: write a second derivative as two equations");
    REFUSED("3=x\nx'=1\n", "m:1:1: error: this line is not understood");
    REFUSED("f(1)=x\nx'=1\n", "m:1:3: error: expected the name of an argument");
    REFUSED("f()=x\nx'=1\n", "m:1:3: error: expected the name of an argument");
    REFUSED("!f(x)=x\nx'=1\n", "m:1:1: error: expected a derived parameter");
    REFUSED("par 3=x\nx'=1\n", "m:1:5: error: expected a name here, found `3`");
    REFUSED("par a=\nx'=1\n", "m:1:7: error: expected a value");
    REFUSED("aux x+y\nx'=1\n", "m:1:5: error: expected a label and `=`");
    REFUSED("set a x=1\nx'=1\n", "m:1:5: error: expected a name and values in braces");
    REFUSED("@ =3\nx'=1\n", "m:1:3: error: expected name=value");
    REFUSED("%\nx'=1\n", "m:1:1: error: this `%` closes no block");
    REFUSED("%[1..3]\nx[j]'=1\n", "m:1:1: error: this `%` block is not closed");
    REFUSED("%[1..3]\nx[j]'=1\ndone\ny z w\n", "m:1:1: error: this `%` block is not closed");
    REFUSED("%5\nx'=1\n%\n", "m:1:1: error: expected a range after `%`");
    REFUSED("%[1..3]\ny[1..2]'=1\n%\nx'=1\n", "m:2:2: error: a range inside a `%` block");
    REFUSED("%[1..3]\n@ total=1\n%\nx'=1\n", "m:2:1: error: this cannot be inside a `%` block");
    REFUSED("x[3..1]'=1\n", "m:1:2: error: the range is empty: 3 is more than 1");
    REFUSED("x[1..2][1..3]'=1\n", "m:1:8: error: two ranges in one name");
    REFUSED("par w[1..2][1..3]\nx'=1\n", "m:1:12: error: two ranges in one name");
    REFUSED("x'=1\naux q[1..2][1..2]=x\n", "m:2:12: error: two indices in one label");
    REFUSED("x[-1..1]'=1\n", "m:1:2: error: an index cannot be negative");
    REFUSED("x[0..1]'=x[j-1]\n", "m:1:11: error: the index is negative here: -1");
    REFUSED("x[1..2000000000]'=1\n", "m:1:2: error: the range has 2000000000 elements; at most");
    REFUSED("x[1..99999999999]'=1\n", "m:1:2: error: expected [j]");
}

TEST(model_error_once) {
    // A mistake in an array line is one mistake; names of broken lines are not reported again.
    REFUSED("x[1..1000]'=y[j]\n", "m:1:13: error: `y1` is not defined; did you mean `x1`?");
    // ... and found once: looking for the nearest of 50,000 names for each of them took minutes.
    REFUSED("x[1..50000]'=y[j]\ninit z[1..50000]=1\nx[1..50000]=1\n",
            "m:3:1: error: `x1` is already a state, see line 1; an array",
            "m:1:14: error: `y1` is not defined; did you mean `x1`?",
            "m:2:6: error: there is no equation for `z1`");
    REFUSED("x[1..1000]'=x[j]+\n", "m:1:18: error: expected a value");
    REFUSED("x[1..9]'=x[j\ny'=x3+x\n", "m:1:11: error: this bracket is not closed");
    REFUSED("z=$\nx'=z\n", "m:1:3: error: `$` has no meaning here");
    REFUSED("dz/dt=$\nx'=z\ninit z=1\n", "m:1:7: error: `$` has no meaning here");
    REFUSED("par a=$\nx'=b\n", "m:1:7: error: `$` has no meaning here", "m:2:4: error: `b` is not");
    REFUSED("special x {}\nn=3\nx'=sum(0,k)of(x)\nconst k=2\n", "m:1:1: error: XPP's network");
}

TEST(model_error_not_text) {
    struct report r = {0};
    CHECK(!model_parse("m", "x'=1\n\0\n", 7, &r));
    REQUIRE(r.messages.count == 1);
    CHECK_HAS(r.messages.items[0].text,
              "m:2:1: error: this is not a text file: it holds a byte 0x00");
    report_free(&r);
    r = (struct report){0};
    CHECK(!model_parse("m",
                       "\x7f"
                       "ELF\x02",
                       5, &r));
    CHECK_INT(r.messages.count, 1);
    report_free(&r);
    CHECK(!model_parse("m", "x'=$", 4, NULL)); // nobody listens
}

TEST(model_error_count_is_bounded) {
    struct buf text = {0};
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "a%d=b%d\n", i, i);
    struct report r = {0};
    CHECK(!model_parse("m", text.data, text.length, &r));
    CHECK(r.messages.count <= REPORT_MOST && r.errors >= 100);
    report_free(&r);
    buf_free(&text);
}

// n copies of each part: a deep or a long expression.
static struct model *repeated(const char *head, int n, const char *open, const char *middle,
                              const char *close, struct report *r) {
    struct buf text = {0};
    buf_puts(&text, head);
    for (int i = 0; i < n; i++)
        buf_puts(&text, open);
    buf_puts(&text, middle);
    for (int i = 0; i < n; i++)
        buf_puts(&text, close);
    struct model *m = model_parse("m", text.data, text.length, r);
    buf_free(&text);
    return m;
}

TEST(model_depth_and_length) {
    static const struct {
        int n;
        const char *open, *middle, *close;
        uint32_t code;
    } cases[] = {
        {1000000, "(", "x", ")", 1},
        {1000000, "x+", "x", "", 2000001},
        {20000, "-", "x", "", 20001},
        {20000, "sin(", "x", ")", 20001},
        {20000, "x?2:", "x", "", 60001},
        {20000, "x?", "x", ":2", 60001},
        {20000, "if(x)then(1)else(", "x", ")", 60001},
        {20000, "x+(", "x", ")", 40001},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report r = {0};
        struct model *m =
            repeated("x'=", cases[i].n, cases[i].open, cases[i].middle, cases[i].close, &r);
        if (!m)
            check_fail(__FILE__, __LINE__, "%s", r.messages.items[0].text);
        else
            CHECK_INT(m->code.count, cases[i].code);
        model_free(m);
        report_free(&r);
    }
    struct report r = {0};
    CHECK(!repeated("x'=", 100000, "(", "x", "", &r));
    CHECK_INT(r.messages.count, 1);
    report_free(&r);
    r = (struct report){0};
    CHECK(
        !repeated("x'=1 ", 200000, "]{", "", "", &r)); // looked back to the line's start each time
    report_free(&r);
}

TEST(model_limits) {
    REFUSED("x0'=sum(0,1000000000)of(x0*i')\n", "m:1:5: error: the model is too large when");
    REFUSED("x'=1\n%[1..130000]\nonly a\nonly b\nonly c\nonly d\nonly e\n%\n",
            "m:6:1: error: the `%` blocks of the model are too large");
    struct buf text = {0}; // every function calls the one before twice: 2^60 steps
    buf_puts(&text, "f0(x)=x\n");
    for (int i = 1; i < 60; i++)
        buf_printf(&text, "f%d(x)=f%d(x)+f%d(x)\n", i, i - 1, i - 1);
    buf_puts(&text, "const c=f59(1)\nx'=c\n");
    refused(text.data, "m:61:7: error: `c` has no value: this takes too long to compute", NULL);
    buf_free(&text);
}

TEST(model_large_is_quick) {
    struct report r = {0};
    const char *text =
        "x[1..10000]'=a*(x[j]-y[j])+sin(x[j])*2/3\ny[1..10000]'=x[j]-y[j]\npar a=1\n";
    struct model *m = model_parse("m", text, strlen(text), &r);
    REQUIRE(m != NULL);
    CHECK_INT(m->states.count, 20000);
    CHECK_STR(m->symbols.items[m->states.items[19999]].name, "y10000");
    model_free(m);
    report_free(&r);
    // 60,000 temporaries, each defined by the next one: the whole file is one chain.
    struct buf chain = {0};
    for (int i = 0; i < 60000; i++)
        buf_printf(&chain, "a%d=a%d+1\n", i, i + 1);
    buf_puts(&chain, "a60000=x\nx'=a0\n");
    r = (struct report){0};
    m = model_parse("m", chain.data, chain.length, &r);
    REQUIRE(m != NULL);
    CHECK_STR(m->symbols.items[m->temps.items[0]].name, "a60000");
    CHECK_STR(m->symbols.items[m->temps.items[60000]].name, "a0");
    model_free(m);
    report_free(&r);
    buf_free(&chain);
}

LONG_TEST(model_limit_of_names) {
    REFUSED("x[1..100000]'=1\ny[1..100000]'=1\n", "m:2:1: error: the model has too many names");
}
