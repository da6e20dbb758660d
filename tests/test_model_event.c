// SPDX-License-Identifier: MIT
// Events in the text of a model: how lines are cut, what they are refused for and where, and that
// no text crashes the parser.
#include "base/buf.h"
#include "check.h"
#include "ode/model/model.h"
#include "ode/symbolic/symbolic.h"

static struct model *parse(const char *text, struct report *r) {
    return model_parse("m", text, strlen(text), r);
}

// The event line is the first of a model with states x and y, parameters a, b and z1 to z3, a
// constant c, a derived parameter d and a temporary w.
static struct model *parse_line(const char *line, struct report *r) {
    struct buf text = {0};
    buf_printf(&text,
               "%s\nx'=1\ny'=x\ninit x=0, y=0\npar a=1,b=2,z[1..3]=0\nconst c=3\n!d=a*2\nw=x*2\n",
               line);
    struct model *m = parse(text.data, r);
    buf_free(&text);
    return m;
}

static void wrong(const char *line, unsigned column, const char *part) {
    struct report r = {0};
    struct model *m = parse_line(line, &r);
    struct system *s = m ? system_new(m, &r) : NULL;
    CHECK_MSG(!s, "accepted: %s", line);
    if (!r.messages.count)
        return;
    shoal_message got = r.messages.items[0];
    CHECK_MSG(got.line == 1 && got.column == column && strstr(got.text, part),
              "%s: not column %u and \"%s\" but\n%s", line, column, part, got.text);
    CHECK_MSG(r.messages.count == 1, "%s: %u messages", line, r.messages.count);
    system_free(s);
    model_free(m);
    report_free(&r);
}

static struct model *right(const char *line) {
    struct report r = {0};
    struct model *m = parse_line(line, &r);
    struct system *s = m ? system_new(m, &r) : NULL;
    CHECK_MSG(s, "refused: %s\n%s", line, r.messages.count ? r.messages.items[0].text : "");
    REQUIRE(s);
    system_free(s);
    report_free(&r);
    return m;
}

TEST(event_lines) {
    struct model *m = right("event hit when x<0 : x=-a*x, b=b+1");
    const struct event *e = &m->events.items[0];
    CHECK_STR(e->name, "hit");
    CHECK_STR(e->line, "event hit when x<0 : x=-a*x, b=b+1");
    CHECK(e->kind == EVENT_WHEN && e->edge == EDGE_ANY && !e->sequential);
    CHECK_INT(e->actions.count, 2);
    model_free(m);
    m = right("EVENT Hit WHEN (x?1:2) > 1 ? x : y Falling : stop");
    CHECK(m->events.items[0].edge == EDGE_FALLING);
    CHECK_INT(m->events.items[0].actions.items[0].target, ACTION_STOP);
    model_free(m);
    m = right("event e at 0, max(a,b), 2*d : x=min(x,0)");
    model_free(m);
}

// `rising` is the edge where it is no value, and `from` too.
TEST(event_words) {
    struct report r = {0};
    struct model *m =
        parse("par rising=1, from=2, until=3\nevent e when x-rising : x=0\n"
              "event f when x rising : x=0\nevent g every from from until until 2*until "
              ": x=0\nx'=1\ninit x=0\n",
              &r);
    CHECK_MSG(m, "%s", r.messages.count ? r.messages.items[0].text : "");
    REQUIRE(m);
    CHECK(m->events.items[0].edge == EDGE_ANY);
    CHECK(m->events.items[1].edge == EDGE_RISING);
    CHECK_INT(m->events.items[2].times.count, EVERY_TIMES);
    for (int i = 0; i < EVERY_TIMES; i++)
        CHECK(m->events.items[2].times.items[i].count > 0);
    model_free(m);
    m = right("event e every a : x=0");
    CHECK_INT(m->events.items[0].times.items[EVERY_FROM].count, 0);
    model_free(m);
}

TEST(event_arrays) {
    struct report r = {0};
    struct model *m = parse("v[1..3]'=1\ninit v[1..3]=0\nevent fire[1..3] when v[j]>[j] : v[j]=0\n"
                            "%[1..2]\nevent low[j] when v[j]<v[j+1] : v[j]=1\n%\n"
                            "global 1 v[1..3]-1 {v[j]=0;v1=2}\n",
                            &r);
    REQUIRE(m);
    static const char *const names[] = {"fire1", "fire2",   "fire3",   "low1",
                                        "low2",  "global1", "global2", "global3"};
    CHECK_INT(m->events.count, 8);
    for (int i = 0; i < 8; i++)
        CHECK_STR(m->events.items[i].name, names[i]);
    CHECK_INT(m->events.items[6].actions.items[0].target, m->states.items[1]);
    model_free(m);
    report_free(&r);
}

TEST(event_globals) {
    static const struct {
        const char *line;
        enum event_edge edge;
        uint32_t actions;
    } cases[] = {{"global 1 x-1 {x=0}", EDGE_AT_LEAST, 1},
                 {"global -1 {x-1} {x=0;y=y+1;a=x}", EDGE_AT_MOST, 3},
                 {"GLOBAL 0 {x-1}{x=0; arret=1}", EDGE_ZERO, 2},
                 {"global 0 t {z[1..3]=[j]*x}", EDGE_ZERO, 3},
                 {"glob=1", EDGE_ANY, 0},
                 {"global +1 x {out_put=1}", EDGE_AT_LEAST, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model *m = right(cases[i].line);
        if (m->events.count) {
            CHECK(m->events.items[0].edge == cases[i].edge && m->events.items[0].sequential);
            CHECK_INT(m->events.items[0].actions.count, cases[i].actions);
        }
        model_free(m);
    }
    wrong("global 2 x {x=0}", 8, "expected a sign here, -1, 0 or 1");
    wrong("global 1 x x=0", 10, "expected a condition and actions in braces");
    wrong("global 1 {x x=0", 10, "expected a condition and actions in braces");
    wrong("global 1 {x} x=0", 14, "expected actions in braces");
    wrong("global 1 x {x=0", 12, "expected actions in braces");
    wrong("global 1 x {z=0}", 13, "there is no state or parameter `z`");
    wrong("global 1 x {x}", 14, "expected `=` here");
}

TEST(event_errors) {
    wrong("event", 6, "expected the name of an event");
    wrong("event 3 when x : x=0", 7, "expected the name of an event");
    wrong("event e", 8, "expected `: ` and what happens");
    wrong("event e when x>1", 17, "expected `: ` and what happens");
    wrong("event e wehn x>1 : x=0", 9, "expected `when`, `at` or `every`");
    wrong("event e when : x=0", 14, "expected a condition");
    wrong("event e at : x=0", 12, "expected a time");
    wrong("event e every : x=0", 15, "expected how often");
    wrong("event e every 1 from : x=0", 22, "expected a time");
    wrong("event e every 1 from 2 from 3 : x=0", 24, "`from` is given twice");
    wrong("event e every 0 : x=0", 7, "the period of this event is not positive");
    wrong("event e every c-3 : x=0", 7, "the period of this event is not positive");
    wrong("event e at 1,,2 : x=0", 14, "expected a value");
    wrong("event e at x : x=0", 12, "the times of event `e` can only use parameters and constants");
    wrong("event e at t : x=0", 12, "cannot use the time `t`");
    wrong("event e when x>1 :", 19, "expected an assignment or `stop`");
    wrong("event e when x>1 : x=0,", 24, "expected an assignment or `stop`");
    wrong("event e when x>1 : x", 21, "expected `=`");
    wrong("event e when x>1 : x=", 22, "expected a value");
    wrong("event e when x>1 : 2=x", 20, "expected an assignment or `stop`");
    wrong("event e when x>1 : xx=0", 20, "there is no state or parameter `xx`; did you mean `x`?");
    wrong("event e when x>1 : c=0", 20, "`c` is a constant; an event assigns states");
    wrong("event e when x>1 : d=0", 20, "`d` is a derived parameter");
    wrong("event e when x>1 : w=0", 20, "`w` is a temporary");
    wrong("event e when x>1 : x=0, x=1", 25, "`x` is there twice in one event");
    wrong("event e when x==1 : x=0", 15, "`==` cannot be the condition of an event");
    wrong("event e when x>0 & not(y!=1) : x=0", 25, "`!=` cannot be the condition");
    wrong("event e when q>0 : x=0", 14, "`q` is not defined");
    wrong("event e when x>0 : x=q", 22, "`q` is not defined");
    wrong("event e[1..2] when x>0 : x[1..2]=0", 27, "two ranges in one line; use [j]");
    wrong("event e when x>0 : z[1..4]=0", 20, "there is no state or parameter `z4`");
    wrong("event e when x>0 : z[1..3]=0, z2=1", 31, "`z2` is there twice in one event");
    wrong("event e when x>0 : x=0 : y=1", 24, "`:` without a `?` before it");
    struct report r = {0};
    CHECK(!parse("x'=1\nevent e at 1 : x=0\nevent e at 2 : x=0\n", &r));
    CHECK_HAS(r.messages.items[0].text, "m:3:7: error: there is already an event `e`");
    report_free(&r);
}

// Where a comparison is one of numbers that a name hides, the message is at the event.
TEST(event_hidden_comparison) {
    struct report r = {0};
    struct model *m = parse("x'=1\ninit x=0\nh=x==1\nevent e when h : x=0\n", &r);
    REQUIRE(m);
    CHECK(!system_new(m, &r));
    CHECK_HAS(r.messages.items[0].text, "m:4:7: error: the condition of this event compares with");
    model_free(m);
    report_free(&r);
}

// A derived parameter of initial values cannot follow what an event assigns.
TEST(event_derived_of_initial_values) {
    static const struct {
        const char *derived;
        bool good;
    } cases[] = {{"!d=a*x", false}, {"!d=x*2", true}, {"!d=a*2", true}, {"!e=x\n!d=e*a", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report r = {0};
        char text[128];
        snprintf(text, sizeof text, "%s\nx'=d\ninit x=1\npar a=1\nevent e at 1 : a=2\n",
                 cases[i].derived);
        struct model *m = parse(text, &r);
        REQUIRE(m);
        struct system *s = system_new(m, &r);
        CHECK_MSG(!s != cases[i].good, "%s", text);
        system_free(s);
        model_free(m);
        report_free(&r);
    }
}

// Texts made of the words of an event, in any order.
TEST(event_fuzz) {
    static const char *const words[] = {
        "event ", "e ",   "when ", "at ",  "every ", "from ",   "until ", ": ", "x",
        "=",      "0",    ",",     "stop", ">",      "global ", "-1 ",    "{",  "}",
        ";",      "?",    "(",     ")",    "rising", "[1..2]",  "[j]",    "t",  "\n",
        "==",     "and ", "not",   "%",    "a=1",    "x'=1\n"};
    uint64_t seed = 1;
    for (int n = 0; n < 20000; n++) {
        struct buf text = {0};
        buf_puts(&text, n % 3 ? "x'=1\nevent e " : "x'=1\nglobal ");
        for (int i = 0; i < 12; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            buf_puts(&text, words[(seed >> 33) % (sizeof words / sizeof *words)]);
        }
        struct report r = {0};
        struct model *m = model_parse("m", text.data, text.length, &r);
        CHECK_MSG(m || r.errors, "no message about\n%s", text.data);
        system_free(m ? system_new(m, &r) : NULL);
        model_free(m);
        report_free(&r);
        buf_free(&text);
    }
}
