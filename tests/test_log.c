// SPDX-License-Identifier: MIT
// The time log: spans, sums, metadata, events of programs, who is told what.
#include "check.h"

#include "log/log.h"

#include <time.h>

#define LABEL(name) log_label_find(#name)

// Until the clock has moved by that much.
static void spin(const shoal_log *log, uint64_t ns) {
    for (uint64_t until = log_now_ns(log) + ns; log_now_ns(log) < until;)
        ;
}

static shoal_span_sum sum_of(const shoal_log *log, const char *label, shoal_span_kind kind) {
    for (size_t i = 0; i < shoal_log_sum_count(log); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        if (!strcmp(s.label, label) && s.kind == kind)
            return s;
    }
    return (shoal_span_sum){.label = NULL};
}

static uint64_t total_of(const shoal_log *log) {
    uint64_t ns[SHOAL_CATEGORY_COUNT], other, total = 0;
    shoal_log_totals(log, ns, &other);
    for (int i = 0; i < SHOAL_CATEGORY_COUNT; i++)
        total += ns[i];
    return total + other;
}

// ---- Sums ---------------------------------------------------------------------------------------

TEST(log_innermost_span_owns_the_time) {
    shoal_log *log = shoal_log_new();
    spin(log, 20000);
    int32_t outer = log_begin(log, LABEL(solve_ivp_execution));
    spin(log, 30000);
    int32_t inner = log_begin(log, LABEL(compile_kernel));
    spin(log, 50000);
    log_end(log, inner);
    log_end(log, outer);
    shoal_span o = shoal_log_span(log, 0), i = shoal_log_span(log, 1);
    CHECK_INT(i.parent, 0);
    CHECK_INT(o.parent, -1);
    CHECK(i.t0_ns >= o.t0_ns && i.t0_ns + i.dur_ns <= o.t0_ns + o.dur_ns);
    uint64_t ns[SHOAL_CATEGORY_COUNT], other;
    uint64_t before = shoal_log_elapsed_ns(log);
    shoal_log_totals(log, ns, &other);
    uint64_t after = shoal_log_elapsed_ns(log);
    CHECK_INT(ns[SHOAL_COMPILE], i.dur_ns);
    CHECK_INT(ns[SHOAL_RUNTIME], o.dur_ns - i.dur_ns);
    CHECK_INT(ns[SHOAL_CODEGEN], 0);
    CHECK(other >= 20000);
    uint64_t total = ns[SHOAL_COMPILE] + ns[SHOAL_RUNTIME] + other;
    CHECK(total >= before && total <= after);
    CHECK_INT(sum_of(log, "solve_ivp_execution", SHOAL_SPAN).own_ns, o.dur_ns - i.dur_ns);
    CHECK_INT(sum_of(log, "solve_ivp_execution", SHOAL_SPAN).ns, o.dur_ns);
    shoal_log_free(log);
}

TEST(log_totals_count_open_spans) {
    shoal_log *log = shoal_log_new();
    log_begin(log, LABEL(parse));
    spin(log, 40000);
    uint64_t ns[SHOAL_CATEGORY_COUNT], other;
    shoal_log_totals(log, ns, &other);
    CHECK(ns[SHOAL_CODEGEN] >= 40000);
    CHECK(shoal_log_span(log, 0).open);
    CHECK_INT(shoal_log_span(log, 0).dur_ns, 0);
    shoal_log_free(log);
}

TEST(log_repeated_events_are_summed) {
    shoal_log *log = shoal_log_new();
    uint64_t ns = 0;
    for (int i = 0; i < 100; i++) {
        int32_t span = log_begin(log, LABEL(kernel_launch));
        log_nbytes(log, span, 10);
        log_end(log, span);
        ns += shoal_log_span(log, (size_t)i).dur_ns;
    }
    shoal_span_sum s = sum_of(log, "kernel_launch", SHOAL_SPAN);
    CHECK_INT(s.count, 100);
    CHECK_INT(s.ns, ns);
    CHECK_INT(s.own_ns, ns);
    CHECK_INT(s.bytes, 1000);
    CHECK_STR(s.track, "main");
    shoal_log_free(log);
}

// More than are kept: memory is bounded, sums and times stay exact.
TEST(log_many_events) {
    enum { MANY = 3 * LOG_KEEP };
    shoal_log *log = shoal_log_new();
    int32_t outer = log_begin(log, LABEL(kernel_run_execution));
    for (int i = 0; i < MANY; i++) {
        int32_t span = log_begin(log, LABEL(kernel_launch));
        int32_t inner = log_begin(log, LABEL(d2h_transfer_state));
        log_text(log, inner, "chunk_slice", "0:1");
        log_end(log, inner);
        log_u64(log, span, "chunk_index", (uint64_t)i);
        log_end(log, span);
    }
    log_u64(log, outer, "num_chunks", MANY);
    log_end(log, outer);
    CHECK_INT(shoal_log_span_count(log), LOG_KEEP);
    CHECK_STR(shoal_log_span(log, 0).meta, "{\"num_chunks\":196608}");
    CHECK_STR(shoal_log_span(log, LOG_KEEP - 1).meta, "{\"chunk_index\":32767}");
    CHECK_INT(sum_of(log, "kernel_launch", SHOAL_SPAN).count, MANY);
    CHECK_INT(sum_of(log, "d2h_transfer_state", SHOAL_SPAN).count, MANY);
    CHECK(log->texts.length <= 4 * LOG_KEEP && log->meta_count <= LOG_KEEP + 1);
    uint64_t own = sum_of(log, "kernel_launch", SHOAL_SPAN).own_ns +
                   sum_of(log, "d2h_transfer_state", SHOAL_SPAN).own_ns +
                   sum_of(log, "kernel_run_execution", SHOAL_SPAN).own_ns;
    CHECK_INT(own, shoal_log_span(log, 0).dur_ns);
    shoal_log_free(log);
}

// What happened elsewhere is listed, and counted in nothing.
TEST(log_other_tracks_are_apart) {
    shoal_log *log = shoal_log_new();
    int32_t span = log_begin(log, LABEL(kernel_launch));
    int32_t device =
        log_device(log, "cuda:0 stream 1", LABEL(kernel_launch), span, 5, 1000000000000);
    log_f64(log, device, "gpu_time_ms", 1e6);
    log_end(log, device);
    log_end(log, span);
    int32_t apart = log_measure(log, LABEL(compile_dxdt), -1, 7, 2000000000000);
    log_end(log, apart);
    log_end(log, log_device(log, "cuda:0 stream 1", LABEL(kernel_launch), -1, 9, 1));
    log_end(log, log_device(log, "cuda:0 stream 2", LABEL(kernel_launch), -1, 9, 1));
    CHECK(total_of(log) < 1000000000000);
    shoal_span e = shoal_log_span(log, 1);
    CHECK_INT(e.kind, SHOAL_ON_TRACK);
    CHECK_STR(e.track, "cuda:0 stream 1");
    CHECK_INT(e.parent, 0);
    CHECK_INT(e.t0_ns, 5);
    CHECK_STR(e.meta, "{\"gpu_time_ms\":1000000.000000}");
    e = shoal_log_span(log, 2);
    CHECK_INT(e.kind, SHOAL_APART);
    CHECK_STR(e.track, "separate");
    shoal_span_sum s = sum_of(log, "kernel_launch", SHOAL_ON_TRACK);
    CHECK_INT(s.count, 2);
    CHECK_INT(s.ns, 1000000000001);
    CHECK_INT(s.own_ns, 0);
    CHECK_INT(sum_of(log, "kernel_launch", SHOAL_SPAN).count, 1);
    CHECK_INT(sum_of(log, "compile_dxdt", SHOAL_APART).ns, 2000000000000);
    shoal_log_free(log);
}

// ---- Harmless -----------------------------------------------------------------------------------

TEST(log_null_is_harmless) {
    uint64_t ns[SHOAL_CATEGORY_COUNT], other;
    char text[8];
    int32_t span = log_begin(NULL, LABEL(parse));
    CHECK_INT(span, -1);
    log_u64(NULL, span, "n", 1);
    log_text(NULL, span, "n", "x");
    log_end(NULL, span);
    CHECK_INT(log_device(NULL, "x", LABEL(parse), -1, 0, 0), -1);
    CHECK_INT(log_measure(NULL, LABEL(parse), -1, 0, 0), -1);
    shoal_log_set_timing(NULL, SHOAL_TIMING_DEBUG);
    CHECK_INT(shoal_log_timing(NULL), SHOAL_TIMING_NONE);
    CHECK_INT(shoal_log_register(NULL, "x", SHOAL_BUILD, "x"), SHOAL_USAGE);
    CHECK(!shoal_log_start(NULL, "parse"));
    CHECK(!shoal_log_stop(NULL, "parse"));
    shoal_log_on_span(NULL, NULL, NULL);
    CHECK_INT(shoal_log_json(NULL, check_path("x")), SHOAL_USAGE);
    CHECK_INT(shoal_log_trace(NULL, check_path("x")), SHOAL_USAGE);
    CHECK_INT(shoal_log_close(NULL), SHOAL_USAGE);
    CHECK_INT(shoal_log_span_count(NULL), 0);
    CHECK_INT(shoal_log_sum_count(NULL), 0);
    CHECK(!shoal_log_meta(NULL, 0, "x", text, sizeof text));
    shoal_log_totals(NULL, ns, &other);
    CHECK_INT(other, 0);
    shoal_log_free(NULL);
}

TEST(log_none_records_nothing) {
    shoal_log *log = shoal_log_new();
    shoal_log_set_timing(log, SHOAL_TIMING_NONE);
    CHECK_INT(log_begin(log, LABEL(parse)), -1);
    CHECK_INT(log_device(log, "x", LABEL(parse), -1, 0, 0), -1);
    CHECK(!shoal_log_start(log, "parse"));
    CHECK_INT(shoal_log_span_count(log), 0);
    CHECK(!log->spans); // not even memory
    REQUIRE(shoal_log_json(log, check_path("x.json")) == SHOAL_OK);
    log_end(log, log_begin(log, LABEL(parse))); // a file wants all of them
    CHECK_INT(shoal_log_span_count(log), 1);
    CHECK_INT(shoal_log_close(log), SHOAL_OK);
    CHECK_INT(log_begin(log, LABEL(parse)), -1);
    CHECK_HAS(check_read(check_path("x.json")), "\"label\":\"parse\"");
    shoal_log_free(log);
}

TEST(log_stops_that_match_nothing) {
    shoal_log *log = shoal_log_new();
    log_end(log, 0);
    log_end(log, 12345);
    int32_t outer = log_begin(log, LABEL(assemble_source)),
            inner = log_begin(log, LABEL(emit_dxdt));
    log_end(log, outer); // and what is open inside
    CHECK(!shoal_log_span(log, 0).open && !shoal_log_span(log, 1).open);
    uint64_t dur = shoal_log_span(log, 1).dur_ns;
    log_end(log, inner); // again
    log_end(log, outer);
    log_u64(log, inner, "late", 1);
    CHECK_INT(shoal_log_span(log, 1).dur_ns, dur);
    CHECK(!shoal_log_span(log, 1).meta);
    CHECK_INT(sum_of(log, "emit_dxdt", SHOAL_SPAN).count, 1);
    CHECK_INT(log->open, -1);
    shoal_log_free(log);
}

// ---- Events of programs -------------------------------------------------------------------------

TEST(log_program_events) {
    shoal_log *log = shoal_log_new();
    CHECK_INT(shoal_log_register(log, "my fit", SHOAL_RUNTIME, "all of it"), SHOAL_OK);
    CHECK_INT(shoal_log_register(log, "my fit", SHOAL_RUNTIME, "again"), SHOAL_OK);
    CHECK_INT(shoal_log_register(log, "my fit", SHOAL_BUILD, "another"), SHOAL_USAGE);
    CHECK_INT(shoal_log_register(log, "parse", SHOAL_CODEGEN, "ours"), SHOAL_OK);
    CHECK(shoal_log_start(log, "my fit"));
    log_end(log, log_begin(log, LABEL(parse)));
    CHECK(shoal_log_stop(log, "my fit"));
    CHECK_STR(shoal_log_span(log, 0).label, "my fit");
    CHECK_INT(shoal_log_span(log, 1).parent, 0);
    CHECK_STR(sum_of(log, "my fit", SHOAL_SPAN).description, "all of it");
    CHECK(!shoal_log_stop(log, "my fit"));  // not open
    CHECK(!shoal_log_start(log, "my fti")); // not known
    CHECK(!shoal_log_stop(log, "my fti"));
    CHECK(!shoal_log_start(log, NULL));
    CHECK(!shoal_log_stop(log, NULL));
    CHECK(!shoal_log_start(log, ""));
    CHECK_INT(shoal_log_span_count(log), 2);
    CHECK_INT(shoal_log_message_count(log), 1);
    shoal_log_free(log);
}

TEST(log_labels_that_are_none) {
    shoal_log *log = shoal_log_new();
    char longest[66];
    memset(longest, 'x', sizeof longest);
    longest[64] = 0;
    static const char *const bad[] = {"", "a\"b", "a\\b", "a\nb", "\x1b[2J", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(shoal_log_register(log, bad[i], SHOAL_BUILD, ""), SHOAL_USAGE);
    CHECK_INT(shoal_log_register(log, NULL, SHOAL_BUILD, ""), SHOAL_USAGE);
    CHECK_INT(shoal_log_register(log, longest, SHOAL_BUILD, ""), SHOAL_USAGE);
    CHECK_INT(shoal_log_register(log, "x", SHOAL_CATEGORY_COUNT, ""), SHOAL_USAGE);
    longest[63] = 0;
    CHECK_INT(shoal_log_register(log, longest, SHOAL_BUILD, NULL), SHOAL_OK);
    shoal_code code = SHOAL_OK;
    for (int i = 0; i < 10000 && code == SHOAL_OK; i++) { // there is an end to it
        snprintf(longest, sizeof longest, "label %d", i);
        code = shoal_log_register(log, longest, SHOAL_BUILD, "");
    }
    CHECK_INT(code, SHOAL_MEMORY);
    CHECK(shoal_log_start(log, "label 7") && shoal_log_stop(log, "label 7"));
    CHECK_STR(shoal_log_span(log, 0).label, "label 7");
    shoal_log_free(log);
}

// A program can end what it began, and nothing of the library's.
TEST(log_stop_is_no_way_out) {
    shoal_log *log = shoal_log_new();
    REQUIRE(shoal_log_register(log, "mine", SHOAL_RUNTIME, "") == SHOAL_OK);
    CHECK(shoal_log_start(log, "mine"));
    int32_t span = log_begin(log, LABEL(kernel_launch));
    CHECK(!shoal_log_stop(log, "mine"));          // as a callback would
    CHECK(!shoal_log_stop(log, "kernel_launch")); // it was not started by the program
    CHECK(shoal_log_span(log, 1).open);
    CHECK(shoal_log_start(log, "mine") && shoal_log_start(log, "parse"));
    CHECK(shoal_log_stop(log, "mine")); // the inner one, and parse with it
    CHECK_INT(log->open, span);
    CHECK(shoal_log_start(log, "mine"));
    log_end(log, span); // ends what the callback left open
    CHECK_INT(log->open, 0);
    CHECK(shoal_log_stop(log, "mine"));
    CHECK_INT(log->open, -1);
    shoal_log_free(log);
}

static void note_event(const shoal_log *log, size_t event, bool ended, void *user) {
    shoal_span e = shoal_log_span(log, event);
    CHECK(e.kind != SHOAL_SPAN || e.open == !ended);
    buf_printf(user, "%s%s%s ", ended ? "-" : "+", e.label, e.meta ? e.meta : "");
}

TEST(log_told_as_it_happens) {
    shoal_log *log = shoal_log_new();
    struct buf told = {0};
    shoal_log_on_span(log, note_event, &told);
    shoal_log_set_timing(log, SHOAL_TIMING_NONE); // a listener wants events all the same
    int32_t outer = log_begin(log, LABEL(assemble_source)),
            inner = log_begin(log, LABEL(emit_dxdt));
    CHECK_STR(told.data, "+assemble_source +emit_dxdt ");
    log_u64(log, inner, "n", 1);
    log_end(log, inner);
    log_end(log, log_measure(log, LABEL(compile_step), -1, 1, 2));
    log_begin(log, LABEL(parse));
    log_end(log, outer);
    CHECK_STR(told.data, "+assemble_source +emit_dxdt -emit_dxdt{\"n\":1} -compile_step +parse "
                         "-parse -assemble_source ");
    shoal_log_on_span(log, NULL, NULL);
    log_end(log, log_begin(log, LABEL(parse)));
    CHECK_INT(shoal_log_span_count(log), 4);
    buf_free(&told);
    shoal_log_free(log);
}

static void meddle(const shoal_log *log, size_t event, bool ended, void *user) {
    (void)log, (void)event, (void)ended;
    CHECK(!shoal_log_start(user, "parse"));
    CHECK(!shoal_log_stop(user, "parse"));
}

TEST(log_callback_cannot_meddle) {
    shoal_log *log = shoal_log_new();
    CHECK(shoal_log_start(log, "parse"));
    shoal_log_on_span(log, meddle, log);
    log_end(log, log_begin(log, LABEL(kernel_launch)));
    CHECK_INT(shoal_log_span_count(log), 2);
    CHECK(shoal_log_span(log, 0).open);
    shoal_log_free(log);
}

// ---- Metadata -----------------------------------------------------------------------------------

TEST(log_metadata) {
    shoal_log *log = shoal_log_new();
    int32_t span = log_begin(log, LABEL(cache_lookup));
    log_text(log, span, "result", "miss");
    int32_t inner = log_begin(log, LABEL(parse));
    log_u64(log, span, "n", UINT64_MAX); // to the outer one, out of turn
    log_u64(log, inner, "bytes", 0);
    log_end(log, inner);
    log_text(log, span, "reason",
             "a \"b\" \\ \n\x1b \xff\xc3\xa4\xe2\x82\xac\xed\xa0\x80\xf0\x9f\x90\x9f \xc0\xaf\xc3");
    log_text(log, span, "nothing", NULL);
    log_f64(log, span, "ms", -1.5);
    log_f64(log, span, "nan", (double)NAN);
    log_f64(log, span, "big", 1e12);
    CHECK(!shoal_log_span(log, 0).meta); // open
    log_end(log, span);
    CHECK_STR(shoal_log_span(log, 0).meta,
              "{\"result\":\"miss\",\"n\":18446744073709551615,\"reason\":\"a \\\"b\\\" \\\\ ?? "
              "?\xc3\xa4\xe2\x82\xac???\xf0\x9f\x90\x9f ???\",\"ms\":-1.500000,\"nan\":null,"
              "\"big\":1000000000000}");
    CHECK_STR(shoal_log_span(log, 1).meta, "{\"bytes\":0}");
    char text[8];
    CHECK(shoal_log_meta(log, 0, "result", text, sizeof text));
    CHECK_STR(text, "miss");
    CHECK(shoal_log_meta(log, 0, "n", text, sizeof text));
    CHECK_STR(text, "1844674"); // cut
    CHECK(!shoal_log_meta(log, 0, "key", text, sizeof text));
    CHECK_STR(text, "");
    CHECK(!shoal_log_meta(log, 2, "key", text, sizeof text));
    shoal_log_free(log);
}

TEST(log_metadata_in_a_comma_locale) {
    check_comma_locale();
    shoal_log *log = shoal_log_new();
    int32_t span = log_begin(log, LABEL(kernel_launch));
    log_f64(log, span, "gpu_time_ms", 0.25);
    log_end(log, span);
    CHECK_STR(shoal_log_span(log, 0).meta, "{\"gpu_time_ms\":0.250000}");
    shoal_log_free(log);
}

// ---- Messages -----------------------------------------------------------------------------------

// The newest hundred are kept, and it is told how many were before.
TEST(log_keeps_the_newest_messages) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    REQUIRE(!shoal_model_parse("m", "par a=1\nx'=a\n", 13, &m, log));
    shoal_log_clear(log);
    char text[32], want[32];
    for (int i = 0; i < 1000; i++) { // each in the same buffer, with a place in it
        snprintf(text, sizeof text, "a=q%d", i);
        CHECK_INT(shoal_model_set(m, text, log), SHOAL_INPUT);
    }
    size_t n = shoal_log_message_count(log);
    CHECK_INT(n, 100);
    CHECK_INT(shoal_log_message_gone(log) + n, 1000);
    for (size_t i = 0; i < n; i++) {
        snprintf(want, sizeof want, "q%d", (int)(i + 900));
        CHECK_HAS(shoal_log_message(log, i).text, want);
        CHECK_STR(shoal_log_message(log, i).file, "--set");
    }
    shoal_model_free(m);
    shoal_log_free(log);
}

// Of one call that has too much to say the first and their number, beside what others say.
TEST(log_counts_messages_of_one_call) {
    struct buf text = {0};
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "nothing%d = 1\n", i);
    check_write(check_path("many.job"), text.data);
    shoal_log *log = shoal_log_new();
    shoal_job *job = NULL;
    shoal_model *m = NULL;
    for (int k = 0; k < 3; k++)
        CHECK_INT(shoal_job_load(check_path("many.job"), &job, log), SHOAL_INPUT);
    size_t n = shoal_log_message_count(log);
    CHECK_INT(n, 100);
    CHECK_HAS(shoal_log_message(log, 0).text, "nothing0");
    CHECK_HAS(shoal_log_message(log, 98).text, "nothing98");
    CHECK_STR(shoal_log_message(log, 99).text, "4901 more messages like these");
    CHECK_INT(shoal_log_message(log, 99).severity, SHOAL_ERROR);
    CHECK_INT(shoal_model_load("nowhere.ode", &m, log), SHOAL_IO);
    CHECK_INT(shoal_log_message_count(log), 100);
    CHECK_HAS(shoal_log_message(log, 99).text, "nowhere.ode");
    CHECK_HAS(shoal_log_message(log, 98).text, "4901 more");
    buf_free(&text);
    shoal_log_free(log);
}

// Then it is as if it were new, but for labels, files and listeners.
TEST(log_clear) {
    const char *json = check_path("t.json");
    shoal_log *log = shoal_log_new();
    uint64_t ns[SHOAL_CATEGORY_COUNT], other;
    REQUIRE(!shoal_log_register(log, "mine", SHOAL_RUNTIME, "own"));
    REQUIRE(!shoal_log_json(log, json));
    for (int i = 0; i < 3; i++) {
        CHECK(shoal_log_start(log, "mine"));
        CHECK_INT(shoal_log_clear(log), SHOAL_USAGE); // it is open
        CHECK(shoal_log_stop(log, "mine"));
        CHECK(shoal_log_message_count(log) && shoal_log_span_count(log));
        CHECK_INT(sum_of(log, "mine", SHOAL_SPAN).count, 1);
        CHECK_INT(shoal_log_clear(log), SHOAL_OK);
        CHECK_INT(shoal_log_message_count(log), 0);
        CHECK_INT(shoal_log_message_gone(log), 0);
        CHECK_INT(shoal_log_span_count(log), 0);
        CHECK_INT(sum_of(log, "mine", SHOAL_SPAN).count, 0);
        shoal_log_totals(log, ns, &other);
        CHECK_INT(ns[SHOAL_RUNTIME], 0);
        CHECK(other <= shoal_log_elapsed_ns(log));
    }
    CHECK_INT(shoal_log_close(log), SHOAL_OK);
    CHECK_HAS(check_read(json), "{\"id\":2,\"parent\":null,\"label\":\"mine\"");
    shoal_log_free(log);
}

// ---- In words -----------------------------------------------------------------------------------

static void nap(shoal_log *log, const char *label) {
    struct timespec t = {.tv_nsec = 3000000};
    CHECK(shoal_log_start(log, label));
    nanosleep(&t, NULL);
    CHECK(shoal_log_stop(log, label));
}

// Parts add up as they are printed; a category has its own lines; text is cut to the room.
TEST(log_summary_in_words) {
    shoal_log *log = shoal_log_new();
    char text[4096], one[1024], cut[16];
    REQUIRE(!shoal_log_register(log, "thinking", SHOAL_RUNTIME, "own"));
    REQUIRE(!shoal_log_register(log, "writing", SHOAL_BUILD, "own"));
    nap(log, "thinking");
    nap(log, "writing");
    size_t length = shoal_log_summary(log, SHOAL_CATEGORY_COUNT, text, sizeof text);
    CHECK_INT(length, strlen(text));
    CHECK(!strstr(text, "thinking"));
    double sum = 0, total = 0;
    const char *line = strchr(text, '\n');
    for (char name[16]; line && sscanf(line, " %15s %lf ms", name, &total) == 2;
         line = strchr(line + 1, '\n'))
        sum += strcmp(name, "total") ? total : 0;
    CHECK_NEAR(sum, total, 1e-9);
    CHECK(total > 6);
    shoal_log_set_timing(log, SHOAL_TIMING_VERBOSE);
    shoal_log_summary(log, SHOAL_CATEGORY_COUNT, text, sizeof text);
    CHECK_HAS(text, "thinking");
    CHECK_HAS(text, "writing");
    length = shoal_log_summary(log, SHOAL_RUNTIME, one, sizeof one);
    CHECK_HAS(one, "  thinking ");
    CHECK_HAS(one, "  runtime ");
    CHECK(!strstr(one, "writing"));
    CHECK_INT(shoal_log_summary(log, SHOAL_RUNTIME, cut, sizeof cut), length);
    CHECK(strlen(cut) == 15 && !strncmp(cut, one, 15));
    CHECK_INT(shoal_log_summary(log, SHOAL_RUNTIME, NULL, 0), length);
    CHECK_INT(shoal_log_summary(log, (shoal_category)77, one, sizeof one), 0);
    shoal_log_free(log);
}
