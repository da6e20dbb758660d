// SPDX-License-Identifier: MIT
// The model language: what each construct means, as postfix text of the parsed expressions.
#include "base/buf.h"
#include "check.h"
#include "ode/model/model.h"

static struct report report;

static struct model *parse(const char *text) {
    report_free(&report);
    report = (struct report){0};
    return model_parse("m.ode", text, strlen(text), &report);
}

static struct model *good(const char *text) {
    struct model *m = parse(text);
    if (!m)
        check_fail(__FILE__, __LINE__, "refused:\n%s\n%s", text,
                   report.messages.count ? report.messages.items[0].text : "without a message");
    REQUIRE(m != NULL);
    return m;
}

// All messages in one text.
static const char *messages(void) {
    static struct buf all;
    all.length = 0;
    buf_puts(&all, "");
    for (uint32_t i = 0; i < report.messages.count; i++) {
        buf_puts(&all, report.messages.items[i].text);
        buf_putc(&all, '\n');
    }
    return all.data;
}

static const char *show(const struct model *m, struct expr e) {
    static struct buf out;
    out.length = 0;
    for (uint32_t i = e.first; i < e.first + e.count; i++) {
        const struct item *item = &m->code.items[i];
        if (i > e.first)
            buf_putc(&out, ' ');
        if (item->op == OP_NUMBER)
            buf_printf(&out, "%g", item->value);
        else if (item->op == OP_SYMBOL)
            buf_puts(&out, m->symbols.items[item->index].name);
        else if (item->op == OP_ARG)
            buf_printf(&out, "$%u", item->index);
        else if (item->op == OP_CALL)
            buf_puts(&out, m->functions.items[item->index].name);
        else
            buf_puts(&out, item->op == OP_NEG ? "neg" : op_names[item->op]);
    }
    return out.data ? out.data : "";
}

static const struct symbol *symbol(struct model *m, const char *name) {
    uint32_t s = model_find(m, name, "test", NULL);
    if (s == UINT32_MAX)
        check_fail(__FILE__, __LINE__, "no symbol %s", name);
    REQUIRE(s != UINT32_MAX);
    return &m->symbols.items[s];
}

static const char *rhs(struct model *m, const char *name) { return show(m, symbol(m, name)->expr); }

// The postfix text of one expression over the states x, y, z and the parameters a, b, c.
static void expression(const char *text, const char *postfix) {
    struct buf model = {0};
    buf_printf(&model, "par a=1,b=2,c=3\ninit x,y,z\ny'=0\nz'=0\nx'=%s\n", text);
    struct model *m = parse(model.data);
    if (!m)
        check_fail(__FILE__, __LINE__, "%s: %s", text, messages());
    else if (strcmp(rhs(m, "x"), postfix))
        check_fail(__FILE__, __LINE__, "%s is read as %s, not %s", text, rhs(m, "x"), postfix);
    model_free(m);
    report_free(&report);
    buf_free(&model);
}

TEST(model_lorenz) {
    struct model *m = good("# Lorenz\n"
                           "par   rho=28                  # swept\n"
                           "const sigma=10, beta=8/3      // folded\n"
                           "init  x=1, y=0, z=0\n"
                           "x' = sigma*(y-x)\n"
                           "dy/dt = x*(rho-z)-y\n"
                           "d/dt(z) = x*y-beta*z\n"
                           "r2 = x^2+y^2+z^2\n"
                           "aux r = sqrt(r2)\n"
                           "@ t1=40, method=tsit5, rtol=1e-6\n");
    CHECK_INT(m->states.count, 3);
    CHECK_INT(m->pars.count, 1);
    CHECK_INT(m->consts.count, 2);
    CHECK_STR(m->symbols.items[m->states.items[2]].name, "z");
    CHECK_STR(rhs(m, "x"), "sigma y x - *");
    CHECK_STR(rhs(m, "y"), "x rho z - * y -");
    CHECK_STR(rhs(m, "z"), "x y * beta z * -");
    CHECK(symbol(m, "beta")->value == 8.0 / 3);
    CHECK(symbol(m, "rho")->value == 28);
    CHECK(symbol(m, "x")->value == 1);
    CHECK_STR(m->observables.items[0].label, "r");
    CHECK_STR(show(m, m->observables.items[0].expr), "r2 sqrt");
    CHECK_INT(m->options.count, 3);
    CHECK_STR(m->options.items[1].name, "method");
    CHECK_STR(m->options.items[1].value, "tsit5");
    CHECK(!m->done);
    CHECK_INT(report.messages.count, 0);
    model_free(m);
}

TEST(model_precedence) {
    expression("x+y*z", "x y z * +");
    expression("(x+y)*z", "x y + z *");
    expression("x-y-z", "x y - z -");
    expression("8/2/2", "8 2 / 2 /");
    expression("x^y^z", "x y ^ z ^");
    expression("x**2", "x 2 ^");
    expression("-2^2", "2 2 ^ neg");
    expression("2*-x", "2 x neg *");
    expression("2^-1*3", "2 1 neg ^ 3 *");
    expression("-x*y", "x neg y *");
    expression("+x", "x");
    expression("x - -y", "x y neg -");
    expression("x<y & y<=z | x==1", "x y < y z <= & x 1 == |");
    expression("x>y and y>=z or x!=1", "x y > y z >= & x 1 != |");
    expression("x && y || z", "x y & z |");
    expression("not x > y", "x y > not");
    expression("not(x)*y", "x not y *");
    expression("x > 1 ? y : z", "x 1 > y z if");
    expression("x ? y : z ? a : b", "x y z a b if if");
    expression("x ? y ? a : b : z", "x y a b if z if");
    expression("1 + (x ? y : z)", "1 x y z if +");
    expression("if(x>1)then(y+1)else(z)", "x 1 > y 1 + z if");
    expression("2*if(x)then(if(y)then(1)else(2))else(3)", "2 x y 1 2 if 3 if *");
    expression("a+b>c", "a b + c >");
    expression("max(x,min(y,z))+atan2(y,x)", "x y z min max y x atan2 +");
    expression("log(x)+ln(x)+log10(x)+flr(x)", "x ln x ln + x log10 + x floor +");
    expression("EXP(x)*Pi", "x exp 3.14159 *");
    expression("1.e-4+.5+1E3+2.+1e+2", "0.0001 0.5 + 1000 + 2 + 100 +");
    expression("t*pi", "t 3.14159 *");
}

TEST(model_keywords_are_words_with_a_blank) {
    struct model *m = good("p'=0\nb=3\nP i=2 , d=1\nnum(u)=u\nd/dt(x)=i+d\nset=1\n"
                           "done = 2\ninit'=b\nPARAMS q=1\ni x=1\ninit(0)=7\n");
    CHECK_INT(m->states.count, 3);
    CHECK_STR(rhs(m, "x"), "i d +");
    CHECK(symbol(m, "init")->value == 7);
    CHECK(symbol(m, "x")->value == 1);
    CHECK(symbol(m, "set")->kind == SYMBOL_TEMP);
    CHECK(symbol(m, "done")->kind == SYMBOL_TEMP && !m->done);
    CHECK_STR(m->functions.items[0].name, "num");
    model_free(m);
}

TEST(model_done_ends) {
    struct model *m = good("x'=1\ninit x=0\nd\nthis is not a model (((\n");
    CHECK(m->done);
    model_free(m);
    m = good("x'=1\ninit x=0\n  DONE  # end\n%%%\n");
    CHECK(m->done);
    model_free(m);
    m = good("x'=1\ninit x=0\ndone (of 1/2=x)\n((\n");
    CHECK(m->done);
    model_free(m);
}

TEST(model_blanks) {
    struct model *m = good("x '= f ( x )+if (t>1) then (2) else (3)\nf (u) = u ^ 2\ny' = - 1\n"
                           "d / dt ( z ) = 2\nDw / DT=3\nx (0) = 4\ninit y ( 0 ) = 5 , z = 6 w=7\n"
                           "! d = 2\nv[ 1..2 ] = d\n");
    CHECK_STR(rhs(m, "x"), "x f t 1 > 2 3 if +");
    CHECK_STR(rhs(m, "y"), "1 neg");
    CHECK_STR(rhs(m, "z"), "2");
    CHECK_STR(rhs(m, "w"), "3");
    CHECK_STR(rhs(m, "v2"), "d");
    CHECK(symbol(m, "x")->value == 4 && symbol(m, "y")->value == 5);
    CHECK(symbol(m, "z")->value == 6 && symbol(m, "w")->value == 7);
    CHECK_INT(report.messages.count, 0);
    model_free(m);
}

// Of the names we know only t, pi and XPP's functions are not free.
TEST(model_own_names_win) {
    struct model *m = good("par gamma=1,e=2,i=3,j=4,t0=5,t1=6,cbrt=7,ceil=8\nfloor(u)=u*2\n"
                           "expm1'=floor(gamma)+e+i+j+t0+t1+cbrt+ceil\ninit expm1=0\n"
                           "D'=d\nd=1\ninit D=0\n");
    CHECK_STR(rhs(m, "expm1"), "gamma floor e + i + j + t0 + t1 + cbrt + ceil +");
    CHECK_STR(rhs(m, "D"), "d");
    CHECK_INT(m->pars.count, 8);
    CHECK_INT(report.messages.count, 0);
    model_free(m);
}

TEST(model_comments_and_continuation) {
    struct model *m = good("\xef\xbb\xbf# comment \\\r\n"
                           "\"{a=1} an action\r\n"
                           "x' = a \\  \r\n"
                           "   + b # not \\\r\n"
                           "par a=1,\\\n\tb=2 // c\n"
                           "init x=1 # umlaut \xc3\xa4\n");
    CHECK_STR(rhs(m, "x"), "a b +");
    CHECK(symbol(m, "b")->value == 2);
    CHECK_INT(report.messages.count, 0);
    model_free(m);
}

TEST(model_lists) {
    struct model *m = good("par a=8 / 3 b = 2*pi , c, d=(1+ 2),e\nnum k=-1e-3 l=k*2\n"
                           "init x=1.5,y  z=2,\nx'=0\ny'=0\nz'=0\n");
    CHECK_INT(m->pars.count, 5);
    CHECK(symbol(m, "a")->value == 8.0 / 3);
    CHECK_NEAR(symbol(m, "b")->value, 2 * M_PI, 0);
    CHECK(symbol(m, "c")->value == 0 && !symbol(m, "c")->has_value);
    CHECK(symbol(m, "d")->value == 3);
    CHECK(symbol(m, "l")->value == -2e-3);
    CHECK(symbol(m, "y")->value == 0 && symbol(m, "y")->has_value);
    CHECK(symbol(m, "z")->value == 2);
    CHECK_INT(report.messages.count, 0);
    model_free(m);
}

TEST(model_constants_in_any_order) {
    struct model *m = good("const a=b+1, b=f(c)\nf(u)=u*d\nconst c=2,d=10\npar p=a*2\n"
                           "init x=p0\nconst p0=a\nx'=p\n");
    CHECK(symbol(m, "a")->value == 21);
    CHECK(symbol(m, "p")->value == 42);
    CHECK(symbol(m, "x")->value == 21);
    CHECK_INT(symbol(m, "x")->init.count, 0);
    model_free(m);
}

TEST(model_initial_values) {
    struct model *m =
        good("par a=2\n!d=a*3\n!e[1..2]=d*[j]\nconst k=5\nx(0)=a+t\ny(0)=k*2\ninit z=d\n"
             "x'=0\ny'=0\nz'=0\nw'=0\nv[1..3]'=0\nv[1..3](0)=[j]*2\n");
    CHECK_STR(show(m, symbol(m, "x")->init), "a t +");
    CHECK_STR(show(m, symbol(m, "z")->init), "d");
    CHECK(symbol(m, "e2")->kind == SYMBOL_DERIVED);
    CHECK_STR(rhs(m, "e2"), "d 2 *");
    CHECK_INT(symbol(m, "y")->init.count, 0);
    CHECK(symbol(m, "y")->value == 10);
    CHECK(symbol(m, "v3")->value == 6);
    CHECK_HAS(messages(), "note: m.ode: no initial value for w; 0 is used");
    model_free(m);
    m = good("x[1..100]'=1\n");
    CHECK_HAS(messages(), "x1, x2, x3, x4, x5, x6 and 94 more");
    CHECK_INT(report.messages.count, 1);
    model_free(m);
}

TEST(model_order_is_free) {
    struct model *m = good("x'=a1\ninit x=0\na1=a2+a3\na2=a3*x\na3=2\n!p=q*2\n!q=r+1\npar r=1\n");
    CHECK_INT(m->temps.count, 3);
    CHECK_STR(m->symbols.items[m->temps.items[0]].name, "a3");
    CHECK_STR(m->symbols.items[m->temps.items[1]].name, "a2");
    CHECK_STR(m->symbols.items[m->temps.items[2]].name, "a1");
    CHECK_STR(m->symbols.items[m->derived.items[0]].name, "q");
    CHECK_STR(m->symbols.items[m->derived.items[1]].name, "p");
    model_free(m);
}

TEST(model_functions) {
    struct model *m = good("par a=2\ninit x=0\nx'=f(x,t)+s(2)\nf(t,x)=g(t)*x+a\ns(t)=sin(t)\n"
                           "g(x)=x^2\ncbrt(x)=x*3\nz=cbrt(x)\n");
    CHECK_INT(m->functions.count, 4);
    CHECK_STR(rhs(m, "x"), "x t f 2 s +");
    CHECK_STR(m->functions.items[0].name, "g");
    CHECK_STR(m->functions.items[1].name, "f");
    CHECK_STR(show(m, m->functions.items[1].body), "$0 g $1 * a +");
    CHECK_INT(m->functions.items[1].args, 2);
    CHECK_STR(rhs(m, "z"), "x cbrt");
    model_free(m);
}

TEST(model_arrays) {
    struct model *m = good("x0'=x[1]\nx[1..3]'=k[j]*x[j-1]+[j+1]*x[j*0]+[j]\nk[0..3]p=x[j]\n"
                           "par k[1..3]=[j]/2, q[j]=7, r=1\ninit x[0..3]=1\ndw[8..9]/dt=k[3]p\n"
                           "d/dt(s[1..2])=q2\nf[1..2](u)=u*[j]\ny=f2(1)\ng=x[1]-x[ 2 ]\n");
    CHECK_INT(m->states.count, 8);
    CHECK_STR(rhs(m, "x0"), "x1");
    CHECK_STR(rhs(m, "x3"), "k3 x2 * 4 x0 * + 3 +");
    CHECK_STR(rhs(m, "k2p"), "x2");
    CHECK_STR(rhs(m, "w9"), "k3p");
    CHECK_STR(rhs(m, "y"), "1 f2");
    CHECK_STR(rhs(m, "g"), "x1 x2 -");
    CHECK(symbol(m, "k3")->value == 1.5);
    CHECK(symbol(m, "q[2]")->value == 7);
    CHECK_INT(m->pars.count, 7);
    CHECK(symbol(m, "x3")->at == symbol(m, "x1")->at);
    model_free(m);
}

TEST(model_observables) {
    struct model *m = good("x'=v\nv=2\ninit x=0\naux v=v*2\nAUX P.E.=x\naux log(CFU) = log10(x)\n"
                           "observe k[2..3]_a=[j]*x\naux I[Ca] in nA=x\naux \"=x==1\n"
                           "aux c[jet]=1\n");
    CHECK_INT(m->observables.count, 8);
    CHECK_STR(m->observables.items[0].label, "v");
    CHECK_STR(show(m, m->observables.items[0].expr), "v 2 *");
    CHECK_STR(m->observables.items[1].label, "P.E.");
    CHECK_STR(m->observables.items[2].label, "log(CFU)");
    CHECK_STR(m->observables.items[4].label, "k3_a");
    CHECK_STR(show(m, m->observables.items[4].expr), "3 x *");
    CHECK_STR(m->observables.items[5].label, "I[Ca] in nA");
    CHECK_STR(m->observables.items[6].label, "\"");
    CHECK_STR(show(m, m->observables.items[6].expr), "x 1 ==");
    CHECK_STR(m->observables.items[7].label, "c[jet]");
    model_free(m);
}

TEST(model_options_and_sets) {
    struct model *m =
        good("x'=a\npar a=1\ninit x=1\n@ total = 40,dt=.05 meth=qualrk,yp=atan2(x,y)\n"
             "@ BUT=AUTO:fa runnow\nset one {a=2, total=10 \\\n dt=.5,x=3}\nset two{}\n");
    static const char *const want[][2] = {{"total", "40"},
                                          {"dt", ".05"},
                                          {"meth", "qualrk"},
                                          {"yp", "atan2(x,y)"},
                                          {"BUT", "AUTO:fa runnow"}};
    REQUIRE(m->options.count == 5);
    for (int i = 0; i < 5; i++) {
        CHECK_STR(m->options.items[i].name, want[i][0]);
        CHECK_STR(m->options.items[i].value, want[i][1]);
    }
    CHECK_INT(m->sets.count, 2);
    CHECK_INT(m->sets.items[0].settings.count, 4);
    CHECK_STR(m->sets.items[0].settings.items[2].name, "dt");
    CHECK_STR(m->sets.items[0].settings.items[2].value, ".5");
    model_free(m);
}

TEST(model_case) {
    struct model *m = good("dX/dt=i+I2+xm(T)\ninit x=2\npar I=1,i2=2\nxM(u)=Sin(u)\n");
    CHECK_STR(rhs(m, "X"), "I i2 + t xM +");
    CHECK(symbol(m, "X")->value == 2);
    CHECK_HAS(messages(), "note: `i` is read as `I`");
    CHECK_HAS(messages(), "note: `T` is read as `t`");
    model_free(m);
    // Every spelling is found, although one was met before; of an array the note comes once.
    m = good("x'=ALPHA+alpha+AlphA\npar Alpha=1\ninit x=0,V[1..9]=1\nv[1..9]'=V[j]+1\n");
    CHECK_STR(rhs(m, "x"), "Alpha Alpha + Alpha +");
    CHECK_INT(report.messages.count, 5);
    model_free(m);
    m = good("T'=t\ninit T=1\ne'=gamma\ninit e=1\npar gamma=1\n"); // exact names come first
    CHECK_STR(rhs(m, "T"), "t");
    CHECK_INT(report.messages.count, 0);
    model_free(m);
}

TEST(model_notes) {
    struct model *m = good("x'=2^3^2+(x+1>2)\ninit x=1\nbdry x-1\nb x'\n");
    CHECK_HAS(messages(), "m.ode:1:7: note: a^b^c is read as (a^b)^c");
    CHECK_HAS(messages(), "m.ode:1:14: note: a+b>c is read as (a+b)>c; XPP reads a+(b>c)");
    CHECK_HAS(messages(), "m.ode:3:1: note: boundary conditions are ignored");
    CHECK_INT(report.messages.count, 3);
    model_free(m);
    m = good("x'=if(1<x<3)then(1)else((1<x)<3)\ninit x=1\n");
    CHECK_HAS(messages(), "m.ode:1:10: note: a<b<c is read as (a<b)<c");
    CHECK_INT(report.messages.count, 1);
    model_free(m);
    static const char *const silent[] = {"x>1",   "(x+1)>2", "x>(1-x)",
                                         "x^2>1", "x>-1",    "sin(x+1)<2"};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        struct buf text = {0};
        buf_printf(&text, "x'=%s\ninit x=1\n", silent[i]);
        m = good(text.data);
        CHECK_MSG(report.messages.count == 0, "%s: %s", silent[i], messages());
        model_free(m);
        buf_free(&text);
    }
    m = good("init x=1\nx'=1\nx(0)=2\n");
    CHECK_HAS(messages(), "m.ode:3:1: note: an initial value is given twice");
    CHECK(symbol(m, "x")->value == 2);
    model_free(m);
}

TEST(model_lines_that_are_skipped) {
    struct model *m = good("x'=1\ninit x=0\nonly x,y\noption lorenz.opt\n");
    CHECK_INT(report.messages.count, 0);
    model_free(m);
}

TEST(model_sums) {
    struct model *m = good("x[0..2]'=sum(0,2)of(shift(x0,i')*i'*[j])\nc[0..1]=x[j]\n"
                           "m=sum(1,0)of(x0)+1\nn=sum(0,1)of(shift(c0,i'))\nconst top=2\n"
                           "k=sum(1,top)of(sum(1,i')of(1)+0)\ninit x[0..2]=0\n"
                           "back=shift(x2,-1)\nfar=sum(-1,0)of(shift(x1,i'+top-1))\n");
    CHECK_STR(rhs(m, "x1"), "x0 0 * 1 * x1 1 * 1 * + x2 2 * 1 * +");
    CHECK_STR(rhs(m, "m"), "0 1 +");
    CHECK_STR(rhs(m, "n"), "c0 c1 +");
    CHECK_STR(rhs(m, "k"), "1 0 + 1 1 + 0 + +");
    CHECK_STR(rhs(m, "back"), "x1");
    CHECK_STR(rhs(m, "far"), "x1 x2 +");
    CHECK(symbol(m, "top")->structural);
    model_free(m);
}

TEST(model_blocks) {
    struct model *m =
        good("%[1..2]\nu[j]'=v[j]\nv[j]'=u[j]+w[j]\npar k[j]=[j]\ninit u[j]=[j*2],v[j]=1\n"
             "w[j]=k[j]\naux s[j]=u[j+0]\n%\n");
    CHECK_INT(m->states.count, 4);
    CHECK_STR(m->symbols.items[m->states.items[1]].name, "v1");
    CHECK_STR(rhs(m, "v2"), "u2 w2 +");
    CHECK(symbol(m, "u2")->value == 4);
    CHECK(symbol(m, "k2")->value == 2);
    CHECK_STR(m->observables.items[1].label, "s2");
    model_free(m);
}
