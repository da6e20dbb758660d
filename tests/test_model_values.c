// SPDX-License-Identifier: MIT
// Setting values: model_set, model_use, model_number, model_find.
#include "check.h"
#include "ode/model/model.h"

static struct report report;

static struct model *lorenz(void) {
    static const char text[] =
        "par rho=28, Ra=3\nconst sigma=10, two=2, s2=two*sigma\npar q=s2/4\n"
        "x'=sigma*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-d\nx(0)=rho+1\ninit y=two\n"
        "!d=rho*2\nr=x^2\nv[1..3]'=1\n@ total=3\nn=sum(1,m)of(x)\nconst m=2\n"
        "set hopf {rho=24.74, y=two*3, x(0)=5, total=10, v[2]=7}\n"
        "set bad {rho=1, z=2*}\nset more {sigma=1, Y=3}\nset More2 {q=1}\nset MORE2 {q=2}\n"
        "set own {dt=3, xlo=-.6.xhi=1}\npar dt=1\n";
    report = (struct report){0};
    struct model *m = model_parse("m.ode", text, sizeof text - 1, &report);
    REQUIRE(m != NULL);
    report_free(&report);
    report = (struct report){0};
    return m;
}

static double value(struct model *m, const char *name) {
    uint32_t s = model_find(m, name, "test", NULL);
    REQUIRE(s != UINT32_MAX);
    return m->symbols.items[s].value;
}

static const char *last_message(void) {
    return report.messages.count ? report.messages.items[report.messages.count - 1].text : "";
}

TEST(model_set_values) {
    struct model *m = lorenz();
    CHECK_INT(model_set(m, "rho=20,x(0)=2", "--set", &report), SHOAL_OK);
    CHECK(value(m, "rho") == 20 && value(m, "x") == 2);
    CHECK_INT(m->symbols.items[model_find(m, "x", "", NULL)].init.count, 0);
    CHECK(m->symbols.items[model_find(m, "x", "", NULL)].set);
    CHECK_INT(model_set(m, "z = -1.5e-3 y=2*two+pi*0, v[2](0)=4", "--set", &report), SHOAL_OK);
    CHECK(value(m, "z") == -1.5e-3 && value(m, "y") == 4 && value(m, "v2") == 4);
    CHECK_INT(report.messages.count, 0);
    CHECK_INT(model_set(m, "ra=1", "--set", &report), SHOAL_OK);
    CHECK(value(m, "Ra") == 1);
    CHECK_HAS(last_message(), "note: --set: `ra` is read as `Ra`");
    model_free(m);
}

TEST(model_set_constant) {
    struct model *m = lorenz();
    CHECK(value(m, "s2") == 20 && value(m, "q") == 5);
    CHECK_INT(model_set(m, "two=3,Ra=s2", "--set", &report), SHOAL_OK);
    CHECK(value(m, "s2") == 30 && value(m, "q") == 7.5 && value(m, "y") == 3);
    CHECK(value(m, "Ra") == 30); // a value sees what was set before it
    CHECK_HAS(last_message(), "note: --set: `two` is a constant");
    CHECK_INT(model_set(m, "s2=1", "--set", &report), SHOAL_OK);
    CHECK_INT(model_set(m, "two=8", "--set", &report), SHOAL_OK);
    CHECK(value(m, "s2") == 1 && value(m, "q") == 0.25 && value(m, "y") == 8);
    CHECK_INT(model_set(m, "q=100", "--set", &report), SHOAL_OK);
    CHECK_INT(model_set(m, "s2=4", "--set", &report), SHOAL_OK);
    CHECK(value(m, "q") == 100); // what was set stays
    model_free(m);
}

TEST(model_set_is_all_or_nothing) {
    static const char *const wrong[][2] = {
        {"rho=1,rh=2", "error: --set: the model has no name `rh`; did you mean `rho`?"},
        {"rho=1,d=2", "--set:1:7: error: `d` is computed from parameters (!d=...)"},
        {"rho=1,r=2", "--set:1:7: error: `r` is computed by the model and cannot be set"},
        {"rho=1,Ra(0)=2", "--set:1:7: error: `Ra` is a parameter and has no initial value"},
        {"rho=1,Ra=", "--set:1:7: error: expected name=value here"},
        {"rho=1,Ra", "--set:1:7: error: expected name=value here"},
        {"rho=1,Ra=2*", "--set:1:12: error: expected a value"},
        {"rho=1,Ra=tw", "--set:1:10: error: `tw` is not defined; did you mean `two`?"},
        {"rho=1,Ra=rho", "--set:1:10: error: this is not a number or an expression of constants"},
        {"rho=1,Ra=x+t", "--set:1:10: error: this is not a number"},
        {"rho=1,Ra=1/(two-2)", "--set:1:10: error: division by zero"},
        {"rho=1,Ra=nan", "--set:1:10: error: `nan` is not defined"},
        {"rho=1,m=3", "--set:1:7: error: `m` is a bound of a sum and cannot be set"},
        {"rho=1,two=1e200,sigma=1e200", "error: `s2` has no value then: this is not finite"},
        {"rho=1,=3", "--set:1:7: error: expected name=value here"},
        {"", "--set:1:1: error: expected name=value here"},
        {"rho=1 2", "--set:1:7: error: an operator is missing"},
        {"rho=1,x=\x01", "--set:1:9: error: this is not a text file"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct model *m = lorenz();
        CHECK_INT(model_set(m, wrong[i][0], "--set", &report), SHOAL_INPUT);
        CHECK_HAS(last_message(), wrong[i][1]);
        CHECK(value(m, "rho") == 28 && value(m, "Ra") == 3 && value(m, "two") == 2);
        CHECK(!m->symbols.items[model_find(m, "rho", "", NULL)].set);
        CHECK_INT(model_set(m, "rho=2", "--set", &report), SHOAL_OK); // nothing is left behind
        model_free(m);
        report_free(&report);
    }
}

TEST(model_use_set) {
    struct model *m = lorenz();
    const struct value_set *rest = NULL;
    CHECK_INT(model_use(m, "hopf", &rest, &report), SHOAL_OK);
    CHECK(value(m, "rho") == 24.74 && value(m, "y") == 6 && value(m, "x") == 5);
    CHECK(value(m, "v2") == 7);
    REQUIRE(rest != NULL);
    CHECK_STR(rest->name, "hopf");
    CHECK_INT(rest->settings.count, 1);
    CHECK_STR(rest->settings.items[0].name, "total");
    CHECK_STR(rest->settings.items[0].value, "10");
    CHECK_INT(model_use(m, "more", &rest, &report), SHOAL_OK);
    CHECK(value(m, "sigma") == 1 && value(m, "y") == 3 && rest->settings.count == 0);
    CHECK_INT(model_use(m, "OWN", &rest, &report), SHOAL_OK);
    CHECK_HAS(last_message(), "note: --use: `OWN` is read as `own`");
    CHECK(value(m, "dt") == 3); // a name of the model's own wins over an option
    REQUIRE(rest->settings.count == 1);
    CHECK_STR(rest->settings.items[0].name, "xlo");
    CHECK_INT(model_use(m, "more2", &rest, &report), SHOAL_INPUT); // which?
    CHECK_INT(model_use(m, "MORE2", &rest, &report), SHOAL_OK);
    CHECK(value(m, "q") == 2);
    CHECK_INT(model_use(m, "bad", &rest, &report), SHOAL_INPUT);
    CHECK(value(m, "rho") == 24.74);
    CHECK_HAS(last_message(), "m.ode:16:21: error: expected a value");
    CHECK_INT(model_use(m, "hop", &rest, &report), SHOAL_INPUT);
    CHECK_HAS(last_message(), "error: --use: m.ode has no set `hop`; did you mean `hopf`?");
    model_free(m);
}

TEST(model_number_text) {
    struct model *m = lorenz();
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1", 1},
                {" -2.5e3 ", -2500},
                {"+.5", .5},
                {"8/3", 8.0 / 3},
                {"2*pi", 2 * M_PI},
                {"two^3^2", 64},
                {"-2^2", -4},
                {"mod(-1,3)", 2},
                {"heav(0)+sign(0)", 1},
                {"if(1>2)then(3)else(4)", 4},
                {"0.1", 0.1},
                {"123456789012345678901234567890", 123456789012345678901234567890.0},
                {"2.2250738585072011e-308", 2.2250738585072011e-308},
                {"9007199254740993", 9007199254740992.0},
                {"1e-400", 0}};
    uint32_t code = m->code.count;
    double v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        v = -77;
        CHECK_MSG(model_number(m, good[i].text, &v) && v == good[i].value, "%s is %.17g",
                  good[i].text, v);
    }
    static const char *const bad[] = {"",    " ",    "x",     "rho", "1 2", "1,2", "1x", "nan",
                                      "inf", "0x10", "1e999", "1/0", "t",   "2*",  "(",  "#"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_MSG(!model_number(m, bad[i], &v), "accepted %s", bad[i]);
    CHECK_INT(m->code.count, code);
    model_free(m);
}

TEST(model_find_names) {
    struct model *m = lorenz();
    CHECK_STR(m->symbols.items[model_find(m, "v[3]", "--vars", &report)].name, "v3");
    CHECK_STR(m->symbols.items[model_find(m, "SIGMA", "--vars", &report)].name, "sigma");
    CHECK_HAS(last_message(), "note: --vars: `SIGMA` is read as `sigma`");
    CHECK(model_find(m, "sigmaa", "--sweep", &report) == UINT32_MAX);
    CHECK_HAS(last_message(),
              "error: --sweep: the model has no name `sigmaa`; did you mean `sigma`?");
    CHECK(model_find(m, "sin", "--sweep", &report) == UINT32_MAX);
    CHECK(model_find(m, "", "--sweep", &report) == UINT32_MAX);
    CHECK(model_find(m, "[", "--sweep", &report) == UINT32_MAX);
    model_free(m);
}
