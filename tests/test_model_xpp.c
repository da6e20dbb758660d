// SPDX-License-Identifier: MIT
// Texts that XPP and others read otherwise: the same meaning, a note, or an error; never silence.
#include "base/buf.h"
#include "check.h"
#include "ode/model/model.h"

static struct report report;

static struct model *parse(const char *text) {
    report_free(&report);
    report = (struct report){0};
    return model_parse("m", text, strlen(text), &report);
}

static bool said(const char *part) {
    for (uint32_t i = 0; i < report.messages.count; i++)
        if (strstr(report.messages.items[i].text, part))
            return true;
    return false;
}

static void refused(const char *text, const char *part) {
    struct model *m = parse(text);
    CHECK_MSG(!m, "accepted: %s", text);
    CHECK_MSG(said(part), "no \"%s\" about %s", part, text);
    model_free(m);
}

static void accepted(const char *text, const char *part) {
    struct model *m = parse(text);
    CHECK_MSG(m, "refused: %s\n%s", text, m ? "" : report.messages.items[0].text);
    CHECK_MSG(!part || said(part), "no \"%s\" about %s", part, text);
    model_free(m);
}

TEST(model_xpp_include) {
    refused("#include rates.inc\nx'=1\n", "m:1:1: error: `#include` is not supported");
    refused("x'=1\n  #INCLUDE \"a.ode\"\n", "m:2:3: error: `#include` is not supported");
    accepted("# include all currents\n#included in 1998\n#include\nx'=1\n", NULL);
    accepted("x'=1\ndone\n#include rates.inc\n", NULL);
}

TEST(model_xpp_comment_marks) {
    refused("par g#1=3\nx'=1\n", "m:1:6: error: `#` cannot be in a name");
    refused("par g#=3\nx'=1\n", "`#` cannot be in a name");
    refused("x'=g#1\npar g=1\n", "m:1:5: error: `#` cannot be in a name");
    refused("x'=7//2*x\n", "m:1:5: error: `//` is a comment");
    refused("x'=(x+1)//(x+2)\n", "`//` is a comment");
    refused("x[1..2]'=x[j]//2\n", "`//` is a comment");
    accepted("x'=1 #rate\ny'=2 //rate\nz'=3# rate\nu'=u# decay\nv'=v// decay\nw'=2#3\n", NULL);
    accepted("x'=x####\n#####\n//////\n\"text a#b//c\n", NULL);
}

TEST(model_xpp_numbers) {
    struct model *m = parse("n c=3, d=4\nx'=c\nn=5\ny'=n\n");
    REQUIRE(m);
    CHECK_INT(m->consts.count, 2);
    CHECK_INT(m->temps.count, 1);
    model_free(m);
}

// Every pair of operators: a note if and only if XPP binds them otherwise.
TEST(model_xpp_precedence) {
    static const struct {
        const char *expression, *note;
    } cases[] = {
        {"3>x^2", "m:1:7: note: a>b^c is read as a>(b^c); XPP reads (a>b)^c"},
        {"x^2>3", NULL},
        {"x&y+1", "a&b+c is read as a&(b+c); XPP reads (a&b)+c"},
        {"x+1&y", "a+b&c is read as (a+b)&c; XPP reads a+(b&c)"},
        {"x*y&2", NULL},
        {"x&y*2", "a&b*c is read as a&(b*c); XPP reads (a&b)*c"},
        {"x|y+1", "a|b+c is read as a|(b+c); XPP reads (a|b)+c"},
        {"x+y|1", NULL},
        {"x*y|1", NULL},
        {"x|y*1", NULL},
        {"x|y&1", NULL},
        {"x+y>1", "a+b>c is read as (a+b)>c; XPP reads a+(b>c)"},
        {"x/y<=1", "a/b<=c is read as (a/b)<=c; XPP reads a/(b<=c)"},
        {"x>y*2", "a>b*c is read as a>(b*c); XPP reads (a>b)*c"},
        {"x==y-1", "a==b-c is read as a==(b-c); XPP reads (a==b)-c"},
        {"-x>y", "-a>b is read as (-a)>b; XPP reads -(a>b)"},
        {"-x&y", NULL},
        {"-x^2", NULL},
        {"x>1&y>1", NULL},
        {"(x+1)>y", NULL},
        {"sin(x+1)>y", NULL},
        {"x>(y+1)", NULL},
        {"if(x>1)then(x+1)else(2)", NULL},
        {"x*(y>1)+2", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        snprintf(text, sizeof text, "x'=%s\ny'=1\ninit x=0,y=0\n", cases[i].expression);
        accepted(text, cases[i].note);
        CHECK_MSG(cases[i].note || !report.messages.count, "%s: %s", cases[i].expression,
                  report.messages.count ? report.messages.items[0].text : "");
    }
}

TEST(model_xpp_modulus) {
    static const char note[] = "note: mod(x,y) is in (y,0] for a negative y";
    accepted("x'=mod(x,-3)\n", note);
    accepted("x'=mod(x,b)\npar b=-1\n", note);
    accepted("x'=mod(x,-b)\nconst b=2\n", note);
    accepted("x'=mod(x,b)+mod(-3,2)\npar b=1\ninit x=0\n", NULL);
    CHECK_INT(report.messages.count, 0);
}

TEST(model_xpp_derived_of_a_state) {
    static const char note[] = "note: `b` takes t and temporaries as they are at t0";
    accepted("x'=b\n!b=x*2\ninit x=0\n", NULL);
    CHECK_INT(report.messages.count, 0);
    accepted("x'=b\n!b=f(2)\nf(u)=u*y\ny'=1\ny(0)=c\n!c=x*p\npar p=1\ninit x=0\n", NULL);
    CHECK_INT(report.messages.count, 0);
    accepted("x'=b\n!b=v*2\nv=x\n", note);
    accepted("x'=b\n!b=f(1)\nf(u)=u+t\n", note);
}

TEST(model_xpp_powers_by_name) {
    refused("x'=pow(x,2)\n", "`pow` is not defined; a power is written x^y");
    refused("x'=Pow(x,2)+pow(x,3)\n", "`Pow` is not defined; a power is written x^y");
    accepted("x'=pow(x,2)\npow(a,b)=a^b\n", NULL);
}

// Each kind of them is told, once.
TEST(model_xpp_every_binding_is_told) {
    const char *m = check_path("b.ode");
    check_write(m, "par a=1.5,c=.75\nx'=3+3>a\nv'=c+3>a\ny'=3>c^2\nz'=a&c+1\nw'=not(.5)>=c\n"
                   "u'=(not(a))>=c\n@ total=1,dt=1,meth=euler\ndone\n");
    struct check_output o = RUN(check_shoal(), "info", m);
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, ":2:7: note: a+b>c is read as");
    CHECK(!strstr(o.err, "b.ode:3:"));
    CHECK_HAS(o.err, ":4:7: note: a>b^c is read as");
    CHECK_HAS(o.err, ":5:7: note: a&b+c is read as");
    CHECK_HAS(o.err, ":6:11: note: not(a)>=b is read as (not a)>=b; XPP reads not(a>=b)");
    CHECK(!strstr(o.err, "b.ode:7:"));
}
