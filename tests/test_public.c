// SPDX-License-Identifier: MIT
// The public header as a whole: every call of it without the handles it needs, and each of them in
// some test; version numbers.
#include "check.h"

#include "shoal/shoal.h"

#include <ctype.h>
#include <dirent.h>

// ---- Without a handle ---------------------------------------------------------------------------

// One call each: false when it did not answer as the header says. A name is the public call's.
struct nothing {
    const char *name;
    bool (*call)(void);
};

#define CODE(name, ...)                                                                            \
    static bool none_##name(void) { return name(__VA_ARGS__) == SHOAL_USAGE; }
#define GIVES(name, value, ...)                                                                    \
    static bool none_##name(void) { return name(__VA_ARGS__) == (value); }
#define NAN_OF(name, ...)                                                                          \
    static bool none_##name(void) { return isnan(name(__VA_ARGS__)); }
#define DOES(name, ...)                                                                            \
    static bool none_##name(void) {                                                                \
        name(__VA_ARGS__);                                                                         \
        return true;                                                                               \
    }
#define HOLDS(name, condition, ...)                                                                \
    static bool none_##name(void) {                                                                \
        const __typeof__(name(__VA_ARGS__)) got = name(__VA_ARGS__);                               \
        return condition;                                                                          \
    }

static char room[64];
static double number;
static uint64_t ns[SHOAL_CATEGORY_COUNT], count64, other64;
static uint32_t count32;
static const char *parts[2];

// What needs none.
HOLDS(shoal_code_text, got[0], SHOAL_OK)
GIVES(shoal_code_exit, 2, SHOAL_USAGE)
HOLDS(shoal_version, got[0])
HOLDS(shoal_status_word, got[0], -1)
HOLDS(shoal_status_text, got[0], -1)
HOLDS(shoal_status_hint, !got[0], -1)
HOLDS(shoal_category_name, got[0], SHOAL_BUILD)
GIVES(shoal_option_count, shoal_option_count())
HOLDS(shoal_option_at, !got.name, UINT32_MAX)
GIVES(shoal_method_count, shoal_method_count())
HOLDS(shoal_method_at, got.name && !got.name[0], UINT32_MAX)
GIVES(shoal_device_count, shoal_device_count())
HOLDS(shoal_device_at, !got.usable, UINT32_MAX)
GIVES(shoal_options_few, false, NULL, 1)
GIVES(shoal_devices_leave, false)
CODE(shoal_alloc, 1, "cpu", NULL, NULL)
DOES(shoal_free, NULL)
DOES(shoal_cache_forget)
GIVES(shoal_plot_name, NULL, -1)
GIVES(shoal_plot_about, NULL, SHOAL_PLOT_AUTO)
static bool none_shoal_log_new(void) {
    shoal_log *log = shoal_log_new();
    shoal_log_free(log);
    return log != NULL;
}
// Log.
DOES(shoal_log_free, NULL)
GIVES(shoal_log_message_count, 0, NULL)
HOLDS(shoal_log_message, !got.text[0], NULL, 0)
GIVES(shoal_log_message_gone, 0, NULL)
CODE(shoal_log_clear, NULL)
DOES(shoal_log_set_timing, NULL, SHOAL_TIMING_DEBUG)
GIVES(shoal_log_timing, SHOAL_TIMING_NONE, NULL)
GIVES(shoal_log_span_count, 0, NULL)
HOLDS(shoal_log_span, !got.label[0] && got.parent == -1, NULL, 0)
GIVES(shoal_log_meta, false, NULL, 0, "x", room, sizeof room)
GIVES(shoal_log_elapsed_ns, 0, NULL)
DOES(shoal_log_totals, NULL, ns, &other64)
GIVES(shoal_log_summary, 0, NULL, SHOAL_CATEGORY_COUNT, room, sizeof room)
GIVES(shoal_log_sum_count, 0, NULL)
HOLDS(shoal_log_sum, !got.label[0], NULL, 0)
CODE(shoal_log_register, NULL, "x", SHOAL_BUILD, "x")
GIVES(shoal_log_start, false, NULL, "x")
GIVES(shoal_log_stop, false, NULL, "x")
DOES(shoal_log_on_span, NULL, NULL, NULL)
CODE(shoal_log_json, NULL, "x")
CODE(shoal_log_trace, NULL, "x")
CODE(shoal_log_close, NULL)
// Model.
CODE(shoal_model_load, NULL, NULL, NULL)
CODE(shoal_model_parse, NULL, NULL, 0, NULL, NULL)
DOES(shoal_model_free, NULL)
CODE(shoal_model_set, NULL, "a=1", NULL)
CODE(shoal_model_driver, NULL, NULL, NULL)
CODE(shoal_model_driver_file, NULL, "u=u.csv", NULL)
GIVES(shoal_model_driver_at, false, NULL, 0, NULL)
CODE(shoal_model_doses, NULL, "d.csv", 0, NULL, NULL)
GIVES(shoal_model_name, NULL, NULL)
GIVES(shoal_model_text, NULL, NULL)
CODE(shoal_model_add_event, NULL, "e at 1 : x=0", NULL)
GIVES(shoal_model_event, NULL, NULL, 0)
GIVES(shoal_model_count, 0, NULL, SHOAL_STATE)
GIVES(shoal_model_symbol, NULL, NULL, SHOAL_STATE, 0)
NAN_OF(shoal_model_value, NULL, SHOAL_STATE, 0)
GIVES(shoal_model_algebraic, false, NULL, 0)
DOES(shoal_model_rhs, NULL, 0, &number, &number)
GIVES(shoal_model_sparsity, 0, NULL, NULL, NULL)
GIVES(shoal_model_switch, 0, NULL, 0, NULL, 0, NULL)
DOES(shoal_model_values, NULL, SHOAL_STATE, 0, &number)
GIVES(shoal_model_find, false, NULL, "x", NULL, NULL)
CODE(shoal_model_failure, NULL, NULL, NULL, 0, NULL, NULL)
CODE(shoal_model_use, NULL, "x", NULL, NULL)
CODE(shoal_model_cost, NULL, "rk4", NULL, NULL)
CODE(shoal_model_source, NULL, NULL, NULL, NULL)
CODE(shoal_model_warm, NULL, NULL, NULL, NULL, &count32, NULL)
CODE(shoal_calibrate, NULL, NULL, 0, NULL, NULL, NULL)
CODE(shoal_compare_methods, NULL, NULL, NULL, NULL, NULL)
// Options and jobs.
CODE(shoal_options_init_sized, NULL, 0, NULL, NULL)
CODE(shoal_options_init, NULL, NULL, NULL)
CODE(shoal_options_set, NULL, "t1", "1", NULL)
GIVES(shoal_options_get, false, NULL, "t1", room, sizeof room)
GIVES(shoal_option_read, SHOAL_INPUT, NULL, NULL, NULL, NULL)
GIVES(shoal_nearest, NULL, NULL, NULL, 0)
CODE(shoal_job_load, NULL, NULL, NULL)
DOES(shoal_job_free, NULL)
GIVES(shoal_job_count, 0, NULL)
GIVES(shoal_job_name, NULL, NULL, 0)
GIVES(shoal_job_value, NULL, NULL, 0)
GIVES(shoal_job_model_text, NULL, NULL)
CODE(shoal_job_doses, NULL, NULL)
GIVES(shoal_method_parts, 0, NULL, parts)
// Batch.
CODE(shoal_batch_new, NULL, NULL, NULL)
DOES(shoal_batch_free, NULL)
CODE(shoal_batch_sweep, NULL, "a=1", NULL)
CODE(shoal_batch_zip, NULL, "a,b", NULL)
CODE(shoal_batch_sample, NULL, "a=uniform:0:1", NULL)
CODE(shoal_batch_sampler, NULL, "lhs", 1, 0, NULL)
CODE(shoal_batch_from, NULL, "f", NULL)
CODE(shoal_batch_t0, NULL, NULL, NULL)
CODE(shoal_batch_job_from, NULL, NULL, NULL)
CODE(shoal_batch_file, NULL, "x.csv", NULL)
CODE(shoal_batch_job, NULL, NULL, NULL)
CODE(shoal_batch_values, NULL, "a", &number, 1, NULL)
CODE(shoal_batch_lend, NULL, "a", &number, SHOAL_F64, 1, NULL)
CODE(shoal_batch_texts, NULL, "_a", NULL, 0, NULL)
CODE(shoal_batch_only, NULL, "0", NULL)
CODE(shoal_batch_shard, NULL, "0/2", NULL)
CODE(shoal_batch_option, NULL, "runs", "1", NULL)
CODE(shoal_batch_check, NULL, NULL)
GIVES(shoal_batch_runs, 0, NULL)
GIVES(shoal_batch_rows, 0, NULL)
GIVES(shoal_batch_run, UINT64_MAX, NULL, 0)
GIVES(shoal_batch_input_count, 0, NULL)
GIVES(shoal_batch_input_name, NULL, NULL, 0)
NAN_OF(shoal_batch_value, NULL, 0, 0)
GIVES(shoal_batch_column_count, 0, NULL)
GIVES(shoal_batch_column_name, NULL, NULL, 0)
NAN_OF(shoal_batch_column_value, NULL, 0, 0)
GIVES(shoal_batch_column_text, NULL, NULL, 0, 0)
CODE(shoal_batch_group_texts, NULL, "_a", "_a", NULL, 0, NULL)
// Solver and result.
CODE(shoal_solver_new, NULL, NULL, NULL, NULL)
CODE(shoal_solver_new_plan, NULL, NULL, NULL, NULL)
DOES(shoal_solver_free, NULL)
CODE(shoal_solver_set, NULL, "t1", "1", NULL, NULL)
CODE(shoal_solver_set_values, NULL, "a=1", NULL, NULL)
CODE(shoal_solver_options, NULL, NULL, NULL)
CODE(shoal_solver_options_sized, NULL, NULL, 0, NULL)
CODE(shoal_solver_set_options, NULL, NULL, NULL, NULL)
GIVES(shoal_solver_key, NULL, NULL)
GIVES(shoal_solver_cached, false, NULL)
GIVES(shoal_solver_device, NULL, NULL)
GIVES(shoal_solver_reason, NULL, NULL)
GIVES(shoal_solver_variant, NULL, NULL, NULL)
GIVES(shoal_solver_array_count, 0, NULL)
HOLDS(shoal_solver_array_at, !got.name, NULL, 0)
GIVES(shoal_solver_var_count, 0, NULL)
GIVES(shoal_solver_var_name, NULL, NULL, 0)
GIVES(shoal_solver_save_count, 0, NULL)
NAN_OF(shoal_solver_save_time, NULL, 0)
DOES(shoal_solver_on_progress, NULL, NULL, NULL)
DOES(shoal_solver_stop, NULL)
CODE(shoal_solver_plan, NULL, NULL, NULL, NULL, NULL)
CODE(shoal_solver_run_ranges, NULL, NULL, NULL, NULL)
CODE(shoal_gather_new, NULL, NULL, NULL, NULL, NULL)
GIVES(shoal_gather_take, SHOAL_TAKE_NONE, NULL, NULL, NULL, NULL)
CODE(shoal_gather_give_back, NULL, 0, 1, NULL)
CODE(shoal_gather_put, NULL, NULL, 0, NULL)
GIVES(shoal_gather_done, 0, NULL)
CODE(shoal_gather_end, NULL, NULL, NULL)
DOES(shoal_gather_free, NULL)
GIVES(shoal_gather_mark, 0, NULL)
CODE(shoal_direct_new, NULL, NULL, NULL, NULL, NULL)
GIVES(shoal_direct_open, false, NULL, 0)
CODE(shoal_direct_put, NULL, NULL, 0, NULL, NULL, NULL)
DOES(shoal_direct_free, NULL)
CODE(shoal_solver_warm, NULL, NULL, NULL)
CODE(shoal_output_check, NULL, NULL, false, NULL)
CODE(shoal_solver_run_file, NULL, NULL, NULL, NULL, NULL)
CODE(shoal_solver_merge, NULL, NULL, NULL, NULL, 0, false, NULL, NULL)
CODE(shoal_journal_read, NULL, NULL, NULL)
CODE(shoal_solver_write_arrays, NULL, NULL, NULL, 0, NULL, NULL)
CODE(shoal_result_write, NULL, NULL, NULL, NULL, NULL)
CODE(shoal_solver_run_arrays, NULL, NULL, NULL, 0, NULL, NULL)
CODE(shoal_solve, NULL, NULL, NULL, NULL, NULL)
CODE(shoal_plot_options_init, NULL)
CODE(shoal_plot, NULL, NULL, NULL, NULL, NULL)
CODE(shoal_report, NULL, NULL, NULL, NULL)
CODE(shoal_solver_run, NULL, NULL, NULL, NULL)
DOES(shoal_result_free, NULL)
GIVES(shoal_result_rows, 0, NULL)
GIVES(shoal_result_samples, 0, NULL, 0)
NAN_OF(shoal_result_value, NULL, 0, 0, 0)
NAN_OF(shoal_result_t, NULL, 0, 0)
NAN_OF(shoal_result_summary, NULL, 0, 0, 0)
GIVES(shoal_result_status, -1, NULL, 0)
HOLDS(shoal_result_tally, got.runs == 0 && !got.complete, NULL)
// Cache.
CODE(shoal_cache_open, NULL, NULL, NULL)
DOES(shoal_cache_close, NULL)
GIVES(shoal_cache_place, NULL, NULL)
HOLDS(shoal_cache_off, got[0], NULL)
DOES(shoal_cache_list, NULL, NULL, NULL, NULL)
CODE(shoal_cache_show, NULL, NULL, NULL, NULL, NULL, NULL)
DOES(shoal_cache_stat, NULL, NULL)
CODE(shoal_cache_explain, NULL, NULL, NULL, NULL, NULL)
CODE(shoal_cache_verify, NULL, false, NULL, NULL, NULL, NULL)
CODE(shoal_cache_clear, NULL, NULL, &count64, NULL)
CODE(shoal_cache_export, NULL, NULL, NULL, NULL)
CODE(shoal_cache_import, NULL, NULL, NULL, NULL, NULL)
CODE(shoal_cache_doctor, NULL, NULL, NULL, NULL)
CODE(shoal_grid_new, NULL, NULL, NULL, NULL)
DOES(shoal_grid_free, NULL)
CODE(shoal_grid_shapes, NULL, NULL, NULL, NULL)
CODE(shoal_grid_run, NULL, NULL, NULL, NULL)
CODE(shoal_grid_keep, NULL, NULL, NULL, NULL, NULL)
HOLDS(shoal_kept_grids, got.count == 0, NULL)
CODE(shoal_kept_fetch, NULL, NULL, 0, NULL)
DOES(shoal_kept_free, NULL)
DOES(shoal_grid_on_progress, NULL, NULL, NULL)
CODE(shoal_grid_plan, NULL, NULL, SHOAL_U8, NULL)
CODE(shoal_grid_ready, NULL, NULL, SHOAL_U8, NULL)
HOLDS(shoal_grid_device, !*got, NULL)
HOLDS(shoal_grid_reason, !*got, NULL)
GIVES(shoal_grid_break_even, 0, NULL)
GIVES(shoal_grid_status_word, NULL, -1)
GIVES(shoal_grid_status_text, NULL, -1)
CODE(shoal_grid_warm, NULL, NULL, SHOAL_U8, SHOAL_U8, NULL, NULL, NULL)
CODE(shoal_grid_source, NULL, NULL, SHOAL_U8, SHOAL_U8, NULL, NULL)
CODE(shoal_grid_file_read, NULL, NULL, NULL, NULL)
DOES(shoal_grid_file_free, NULL)
HOLDS(shoal_grid_file_grids, got.count == 0, NULL)
GIVES(shoal_grid_file_exact, false, NULL)
GIVES(shoal_grid_file_single, false, NULL)
CODE(shoal_grid_file_write, NULL, NULL, NULL, false, NULL)

#define ROW(name)                                                                                  \
    { #name, none_##name }
static const struct nothing calls[] = {
    ROW(shoal_code_text),
    ROW(shoal_code_exit),
    ROW(shoal_version),
    ROW(shoal_status_word),
    ROW(shoal_status_text),
    ROW(shoal_status_hint),
    ROW(shoal_category_name),
    ROW(shoal_option_count),
    ROW(shoal_option_at),
    ROW(shoal_method_count),
    ROW(shoal_method_at),
    ROW(shoal_device_count),
    ROW(shoal_device_at),
    ROW(shoal_options_few),
    ROW(shoal_devices_leave),
    ROW(shoal_alloc),
    ROW(shoal_free),
    ROW(shoal_log_free),
    ROW(shoal_log_message_count),
    ROW(shoal_log_message),
    ROW(shoal_log_message_gone),
    ROW(shoal_log_clear),
    ROW(shoal_log_set_timing),
    ROW(shoal_log_timing),
    ROW(shoal_log_span_count),
    ROW(shoal_log_span),
    ROW(shoal_log_meta),
    ROW(shoal_log_elapsed_ns),
    ROW(shoal_log_totals),
    ROW(shoal_log_summary),
    ROW(shoal_log_sum_count),
    ROW(shoal_log_sum),
    ROW(shoal_log_register),
    ROW(shoal_log_start),
    ROW(shoal_log_stop),
    ROW(shoal_log_on_span),
    ROW(shoal_log_json),
    ROW(shoal_log_trace),
    ROW(shoal_log_close),
    ROW(shoal_model_load),
    ROW(shoal_model_parse),
    ROW(shoal_model_free),
    ROW(shoal_model_set),
    ROW(shoal_model_name),
    ROW(shoal_model_text),
    ROW(shoal_model_add_event),
    ROW(shoal_model_event),
    ROW(shoal_model_count),
    ROW(shoal_model_symbol),
    ROW(shoal_model_value),
    ROW(shoal_model_algebraic),
    ROW(shoal_model_rhs),
    ROW(shoal_model_sparsity),
    ROW(shoal_model_switch),
    ROW(shoal_model_driver),
    ROW(shoal_model_driver_file),
    ROW(shoal_model_driver_at),
    ROW(shoal_model_doses),
    ROW(shoal_model_values),
    ROW(shoal_model_find),
    ROW(shoal_model_failure),
    ROW(shoal_model_use),
    ROW(shoal_model_cost),
    ROW(shoal_model_source),
    ROW(shoal_model_warm),
    ROW(shoal_calibrate),
    ROW(shoal_compare_methods),
    ROW(shoal_options_init_sized),
    ROW(shoal_options_init),
    ROW(shoal_options_set),
    ROW(shoal_options_get),
    ROW(shoal_option_read),
    ROW(shoal_nearest),
    ROW(shoal_job_load),
    ROW(shoal_job_free),
    ROW(shoal_job_count),
    ROW(shoal_job_name),
    ROW(shoal_job_value),
    ROW(shoal_job_model_text),
    ROW(shoal_job_doses),
    ROW(shoal_method_parts),
    ROW(shoal_batch_new),
    ROW(shoal_batch_free),
    ROW(shoal_batch_sweep),
    ROW(shoal_batch_zip),
    ROW(shoal_batch_sample),
    ROW(shoal_batch_sampler),
    ROW(shoal_batch_from),
    ROW(shoal_batch_t0),
    ROW(shoal_batch_job_from),
    ROW(shoal_batch_file),
    ROW(shoal_batch_job),
    ROW(shoal_batch_values),
    ROW(shoal_batch_lend),
    ROW(shoal_batch_texts),
    ROW(shoal_batch_only),
    ROW(shoal_batch_shard),
    ROW(shoal_batch_option),
    ROW(shoal_batch_check),
    ROW(shoal_batch_runs),
    ROW(shoal_batch_rows),
    ROW(shoal_batch_run),
    ROW(shoal_batch_input_count),
    ROW(shoal_batch_input_name),
    ROW(shoal_batch_value),
    ROW(shoal_batch_column_count),
    ROW(shoal_batch_column_name),
    ROW(shoal_batch_column_value),
    ROW(shoal_batch_column_text),
    ROW(shoal_batch_group_texts),
    ROW(shoal_solver_new),
    ROW(shoal_solver_new_plan),
    ROW(shoal_solver_free),
    ROW(shoal_solver_set),
    ROW(shoal_solver_set_values),
    ROW(shoal_solver_options),
    ROW(shoal_solver_options_sized),
    ROW(shoal_solver_set_options),
    ROW(shoal_solver_key),
    ROW(shoal_solver_cached),
    ROW(shoal_solver_device),
    ROW(shoal_solver_reason),
    ROW(shoal_solver_variant),
    ROW(shoal_solver_array_count),
    ROW(shoal_solver_array_at),
    ROW(shoal_solver_var_count),
    ROW(shoal_solver_var_name),
    ROW(shoal_solver_save_count),
    ROW(shoal_solver_save_time),
    ROW(shoal_solver_on_progress),
    ROW(shoal_solver_stop),
    ROW(shoal_solver_plan),
    ROW(shoal_solver_run_ranges),
    ROW(shoal_gather_new),
    ROW(shoal_gather_take),
    ROW(shoal_gather_give_back),
    ROW(shoal_gather_put),
    ROW(shoal_gather_done),
    ROW(shoal_gather_end),
    ROW(shoal_gather_free),
    ROW(shoal_gather_mark),
    ROW(shoal_direct_new),
    ROW(shoal_direct_open),
    ROW(shoal_direct_put),
    ROW(shoal_direct_free),
    ROW(shoal_solver_warm),
    ROW(shoal_output_check),
    ROW(shoal_solver_run_file),
    ROW(shoal_solver_merge),
    ROW(shoal_journal_read),
    ROW(shoal_solver_write_arrays),
    ROW(shoal_result_write),
    ROW(shoal_solver_run_arrays),
    ROW(shoal_solve),
    ROW(shoal_plot_name),
    ROW(shoal_plot_about),
    ROW(shoal_plot_options_init),
    ROW(shoal_plot),
    ROW(shoal_report),
    ROW(shoal_solver_run),
    ROW(shoal_result_free),
    ROW(shoal_result_rows),
    ROW(shoal_result_samples),
    ROW(shoal_result_summary),
    ROW(shoal_result_value),
    ROW(shoal_result_t),
    ROW(shoal_result_status),
    ROW(shoal_result_tally),
    ROW(shoal_cache_open),
    ROW(shoal_cache_close),
    ROW(shoal_cache_place),
    ROW(shoal_cache_off),
    ROW(shoal_cache_list),
    ROW(shoal_cache_show),
    ROW(shoal_cache_stat),
    ROW(shoal_cache_explain),
    ROW(shoal_cache_verify),
    ROW(shoal_cache_clear),
    ROW(shoal_cache_forget),
    ROW(shoal_cache_export),
    ROW(shoal_cache_import),
    ROW(shoal_cache_doctor),
    ROW(shoal_grid_new),
    ROW(shoal_grid_free),
    ROW(shoal_grid_shapes),
    ROW(shoal_grid_run),
    ROW(shoal_grid_keep),
    ROW(shoal_kept_grids),
    ROW(shoal_kept_fetch),
    ROW(shoal_kept_free),
    ROW(shoal_grid_on_progress),
    ROW(shoal_grid_plan),
    ROW(shoal_grid_ready),
    ROW(shoal_grid_device),
    ROW(shoal_grid_reason),
    ROW(shoal_grid_break_even),
    ROW(shoal_grid_status_word),
    ROW(shoal_grid_status_text),
    ROW(shoal_grid_warm),
    ROW(shoal_grid_source),
    ROW(shoal_grid_file_read),
    ROW(shoal_grid_file_free),
    ROW(shoal_grid_file_grids),
    ROW(shoal_grid_file_exact),
    ROW(shoal_grid_file_single),
    ROW(shoal_grid_file_write),
    ROW(shoal_log_new),
};
enum { CALLS = sizeof calls / sizeof *calls };

// Also with every handle but one, of those that take several.
static void check_some_missing(void) {
    static const char text[] = "par a=1\nx'=-a*x\n@ t1=1\n";
    shoal_model *m = NULL;
    shoal_options o;
    shoal_batch *b = NULL;
    shoal_solver *s = NULL;
    shoal_array arrays = {0};
    shoal_result *result = NULL;
    REQUIRE(!shoal_model_parse("m", text, sizeof text - 1, &m, NULL));
    REQUIRE(!shoal_options_init(&o, m, NULL));
    REQUIRE(!shoal_batch_new(m, &b, NULL));
    CHECK_INT(shoal_solver_new(m, NULL, &s, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_new(NULL, &o, &s, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_new(m, &o, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_model_set(m, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_batch_sweep(b, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_batch_values(b, "a", NULL, 1, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_batch_lend(b, "a", NULL, SHOAL_F64, 1, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_batch_texts(b, "_a", NULL, 1, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_batch_lend(b, "a", &number, (shoal_precision)7, 1, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_batch_sampler(b, NULL, 1, 0, NULL), SHOAL_USAGE);
    REQUIRE(!shoal_solver_new(m, &o, &s, NULL));
    CHECK_INT(shoal_solver_run(s, NULL, &result, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_run(NULL, b, &result, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_run(s, b, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_run_arrays(s, NULL, &arrays, 1, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_run_arrays(s, b, NULL, 1, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_run_file(s, b, NULL, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_plan(s, b, NULL, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_set(s, NULL, "1", NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_set(s, "t1", NULL, NULL, NULL), SHOAL_INPUT);
    CHECK_INT(shoal_solver_set_values(s, NULL, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_set_options(s, NULL, NULL, NULL), SHOAL_USAGE);
    CHECK_INT(shoal_solver_run_arrays(s, b, &arrays, 1, NULL, NULL), SHOAL_OK); // it still runs
    shoal_solver_free(s);
    shoal_batch_free(b);
    shoal_model_free(m);
}

TEST(public_calls_without_a_handle) {
    for (int i = 0; i < CALLS; i++)
        CHECK_MSG(calls[i].call(), "%s without a handle", calls[i].name);
    check_some_missing();
}

// ---- The header ---------------------------------------------------------------------------------

// The public calls of the header: names before a parenthesis behind SHOAL_API, and inline ones.
static uint32_t read_calls(char names[256][64]) {
    char *header = check_read("include/shoal/shoal.h");
    uint32_t n = 0;
    REQUIRE(header);
    for (char *p = header; (p = strstr(p, "shoal_")); p += 6) {
        size_t length = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
        char *line = p;
        while (line > header && line[-1] != '\n')
            line--;
        bool ours = !strncmp(line, "SHOAL_API", 9) || !strncmp(line, "static inline", 13);
        if (p[length] != '(' || !ours)
            continue;
        REQUIRE(n < 256 && length < 64);
        memcpy(names[n], p, length);
        names[n++][length] = 0;
    }
    free(header);
    return n;
}

TEST(public_calls_are_all_tested_without_a_handle) {
    static char names[256][64];
    uint32_t n = read_calls(names);
    CHECK_MSG(n > 100, "only %u calls found", n);
    for (uint32_t i = 0; i < n; i++) {
        bool there = false;
        for (int k = 0; k < CALLS; k++)
            there = there || !strcmp(calls[k].name, names[i]);
        CHECK_MSG(there, "%s is not among the calls above", names[i]);
    }
}

static bool calls_it(const char *source, const char *name) {
    size_t length = strlen(name);
    for (const char *p = source; (p = strstr(p, name)); p += length)
        if (!isalnum((unsigned char)p[length]) && p[length] != '_')
            return true;
    return false;
}

// Each is used for what it is for in a test that is not this one.
TEST(public_calls_are_all_used) {
    static char names[256][64];
    uint32_t n = read_calls(names);
    bool used[256] = {0};
    DIR *d = opendir("tests");
    REQUIRE(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        size_t length = strlen(e->d_name);
        if (length < 3 || strcmp(e->d_name + length - 2, ".c") ||
            !strcmp(e->d_name, "test_public.c"))
            continue;
        snprintf(path, sizeof path, "tests/%s", e->d_name);
        char *source = check_read(path);
        for (uint32_t i = 0; source && i < n; i++)
            used[i] = used[i] || calls_it(source, names[i]);
        free(source);
    }
    closedir(d);
    for (uint32_t i = 0; i < n; i++)
        CHECK_MSG(used[i], "no test uses %s", names[i]);
}

TEST(public_version_numbers) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SHOAL_VERSION_MAJOR, SHOAL_VERSION_MINOR,
             SHOAL_VERSION_PATCH);
    CHECK_STR(SHOAL_VERSION, text);
    CHECK_STR(shoal_version(), text);
    CHECK_INT(SHOAL_VERSION_NUMBER,
              SHOAL_VERSION_MAJOR * 10000 + SHOAL_VERSION_MINOR * 100 + SHOAL_VERSION_PATCH);
}

// ---- One call -----------------------------------------------------------------------------------

// The same file as by the parts, all of it in one span.
TEST(public_solve_in_one_call) {
    const char *model = check_path("m.ode"), *one = check_path("one.npz");
    check_write(model, "par a=1\nconst c=1\ninit x=1\nx'=-a*c*x\nset s {a=3,t1=2}\n");
    const char *words[] = {"use=s",
                           "set=c=2",
                           "rtol=1e-3",
                           "rtol=1e-8",
                           "sweep=x(0)=1,2",
                           "sample=a=uniform:1:2",
                           "runs=4",
                           "seed=7",
                           "keep-failed",
                           "save=n=3",
                           NULL};
    shoal_log *log = shoal_log_new();
    shoal_tally tally;
    CHECK_INT(shoal_solve(model, words, one, &tally, log), SHOAL_OK);
    CHECK_INT(tally.done, 8);
    CHECK_INT(tally.by_status[SHOAL_STATUS_ok], 8);
    uint64_t outer = 0;
    for (size_t i = 0; i < shoal_log_span_count(log); i++) {
        shoal_span e = shoal_log_span(log, i);
        outer += !strcmp(e.label, "solve_ivp_execution");
        CHECK_MSG(e.kind != SHOAL_SPAN || (e.parent < 0) == !i, "%s is outside", e.label);
    }
    CHECK_INT(outer, 1);
    CHECK_STR(shoal_log_span(log, 0).label, "solve_ivp_execution");
    // The result can be replayed by the command line, into the same numbers.
    const char *a = check_path("a.csv"), *b = check_path("b.csv");
    CHECK_INT(shoal_solve(model, words, a, NULL, log), SHOAL_OK);
    struct check_output o = RUN(check_shoal(), "run", "--job", one, "-q", "-o", b);
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_STR(check_read(b), check_read(a));
    CHECK_HAS(check_read(a), "run,t,x\n0,0,1\n");
    shoal_log_free(log);
}

TEST(public_solve_refuses) {
    const char *model = check_path("m.ode"), *out = check_path("o.csv");
    check_write(model, "par a=1\nx'=-a*x\n@ t1=1\n");
    static const struct {
        const char *word, *part;
    } cases[] = {{"t2=1", "unknown option 't2'"},
                 {"t1=x", "is not a number"},
                 {"output=y.csv", "is not for"},
                 {"timing=none", "is not for"},
                 {"sweep=q=1", "q"},
                 {"runs=5", "--sample"},
                 {"vars=q", "is no state"},
                 {"set=a", "name=value"},
                 {"use=q", "no set"},
                 {"t1", "needs a value"},
                 {"batch=nowhere.csv", "nowhere.csv"},
                 {"set=a=1\nt1 = 2", "one line"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_log *log = shoal_log_new();
        const char *words[] = {cases[i].word, NULL};
        CHECK_MSG(shoal_solve(model, words, out, NULL, log) != SHOAL_OK, "%s", cases[i].word);
        REQUIRE(shoal_log_message_count(log));
        CHECK_HAS(shoal_log_message(log, shoal_log_message_count(log) - 1).text, cases[i].part);
        shoal_log_free(log);
    }
    CHECK(check_read(out) == NULL);
    CHECK(shoal_solve("nowhere.ode", NULL, out, NULL, NULL) == SHOAL_IO);
    CHECK(shoal_solve(model, NULL, check_path("o.xyz"), NULL, NULL) != SHOAL_OK);
    CHECK_INT(shoal_solve(model, NULL, out, NULL, NULL), SHOAL_OK);
}
