// SPDX-License-Identifier: MIT
// shoal cache: look after the kernels on disk. Exit codes: 0 fine, 1 a problem was found, 2 usage.
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct visit {
    struct args *args;
    shoal_log *log;
    shoal_cache *cache;
    struct talk talk;
    bool json;
    uint64_t count;     // shown so far
    uint64_t read_only; // of these in read-only caches
};

static bool open_visit(struct visit *v, struct args *a) {
    *v = (struct visit){
        .args = a, .log = shoal_log_new(), .talk = talk_new(a), .json = args_flag(a, "json")};
    return args_check(a, v->log) == SHOAL_OK &&
           shoal_cache_open(args_value(a, "cache"), &v->cache, v->log) == SHOAL_OK;
}

// The exit code: a call that failed is a problem too.
static int close_visit(struct visit *v, bool fine) {
    talk_messages(&v->talk, v->log);
    shoal_cache_close(v->cache);
    shoal_log_free(v->log);
    return fine ? 0 : 1;
}

// A cache that is off has nothing to show, which is no problem, but is said.
static void say_off(const struct visit *v) {
    const char *why = shoal_cache_off(v->cache);
    if (why)
        talk_say(&v->talk, "note: the cache is off: %s\n", why);
}

static const char *date(int64_t seconds, char text[32]) {
    time_t t = (time_t)seconds;
    struct tm local;
    if (!localtime_r(&t, &local) || !strftime(text, 32, "%Y-%m-%d %H:%M", &local))
        snprintf(text, 32, "?");
    return text;
}

// ---- JSON ---------------------------------------------------------------------------------------

static void json_text(const char *comma, const char *name, const char *text) {
    printf("%s\"%s\": ", comma, name);
    show_json_string(stdout, text);
}

static void json_entry(const shoal_cache_entry *e) {
    json_text("{", "key", e->key);
    json_text(", ", "kind", e->kind);
    json_text(", ", "backend", e->backend);
    json_text(", ", "target", e->target);
    json_text(", ", "model", e->model);
    json_text(", ", "method", e->method);
    json_text(", ", "precision", e->precision);
    json_text(", ", "file", e->file);
    if (e->defect)
        json_text(", ", "defect", e->defect);
    printf(", \"states\": %u, \"tier\": %u, \"bytes\": %" PRIu64
           ", \"compile_s\": %.3f, \"created\": %" PRId64 ", \"used\": %" PRId64,
           e->states, e->tier, e->bytes, e->compile_s, e->created, e->used);
}

// ---- list, show ---------------------------------------------------------------------------------

static bool list_one(const shoal_cache_entry *e, void *user) {
    struct visit *v = user;
    char used[32], size[32];
    if (v->json) {
        fputs(v->count++ ? ",\n" : "[\n", stdout);
        json_entry(e);
        putchar('}');
        return true;
    }
    v->read_only += e->tier > 0;
    if (!v->count++)
        printf("%-8s %-5s %-10s %-20s %6s %9s %9s  %-16s\n", "key", "kind", "target", "model",
               "states", "size", "compile s", "last use");
    if (e->defect)
        printf("%-8s %s: %s\n", "-", e->file, e->defect);
    else
        printf("%.8s %-5s %-10s %-20s %6u %9s %9.3f  %-16s%s\n", e->key, e->kind, e->target,
               e->model, e->states, show_bytes(e->bytes, size), e->compile_s, date(e->used, used),
               e->tier ? " (read-only)" : "");
    return true;
}

static void say_count(const struct visit *v) {
    char others[64] = "";
    uint64_t own = v->count - v->read_only;
    if (v->read_only)
        snprintf(others, sizeof others, ", %" PRIu64 " in read-only caches", v->read_only);
    talk_say(&v->talk, "%" PRIu64 " kernel%s in %s%s\n", own, own == 1 ? "" : "s",
             shoal_cache_place(v->cache), others);
}

static int list(struct args *a) {
    struct visit v;
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    say_off(&v);
    shoal_cache_list(v.cache, args_value(a, "model"), list_one, &v);
    if (v.json)
        puts(v.count ? "\n]" : "[]");
    else
        say_count(&v);
    return close_visit(&v, true);
}

static bool show_entry(const shoal_cache_entry *e, void *user) {
    struct visit *v = user;
    char text[32];
    if (v->json) {
        json_entry(e);
        fputs(", \"fields\": [", stdout);
        return true;
    }
    printf("%-24s %s\n%-24s %s\n%-24s %s\n", "entry", e->key, "file", e->file, "size",
           show_bytes(e->bytes, text));
    printf("%-24s %.3f s\n", "compile time", e->compile_s);
    printf("%-24s %s\n", "created", date(e->created, text));
    printf("%-24s %s\n", "last use", date(e->used, text));
    return true;
}

static void show_field(const shoal_cache_field *f, void *user) {
    struct visit *v = user;
    if (v->json) {
        json_text(v->count++ ? ", {" : "{", "label", f->label);
        json_text(", ", "text", f->text);
        printf(", \"in_key\": %s}", f->in_key ? "true" : "false");
    } else if (strchr(f->text, '\n'))
        printf("%s\n%s\n", f->label, f->text);
    else
        printf("%s%-22s %s\n", f->in_key ? "k " : "  ", f->label, f->text);
}

static int show(struct args *a) {
    struct visit v;
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    shoal_code code = shoal_cache_show(v.cache, a->model, show_entry, show_field, &v, v.log);
    if (!code && v.json)
        puts("]}");
    return close_visit(&v, code == SHOAL_OK);
}

// ---- stat ---------------------------------------------------------------------------------------

static void stat_json(const struct visit *v, const shoal_cache_counts *c) {
    json_text("{", "place", shoal_cache_place(v->cache));
    json_text(", ", "off", shoal_cache_off(v->cache) ? shoal_cache_off(v->cache) : "");
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"entries", c->entries},     {"bytes", c->bytes},
                {"cap_bytes", c->cap_bytes}, {"cap_entries", c->cap_entries},
                {"hits", c->hits},           {"hits_read_only", c->hits_read_only},
                {"misses", c->misses},       {"corrupt", c->corrupt},
                {"refused", c->refused},     {"evicted", c->evicted},
                {"stored", c->stored}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf(", \"%s\": %" PRIu64, rows[i].name, rows[i].value);
    printf(", \"saved_s\": %.3f, \"missed\": {", c->saved_s);
    for (int i = 0; i < SHOAL_CACHE_REASONS && c->missed[i].count; i++) {
        fputs(i ? ", " : "", stdout);
        show_json_string(stdout, c->missed[i].reason);
        printf(": %" PRIu64, c->missed[i].count);
    }
    puts("}}");
}

static void stat_text(const struct visit *v, const shoal_cache_counts *c) {
    char size[32], cap[32];
    printf("place          %s\n", shoal_cache_place(v->cache));
    printf("kernels        %" PRIu64 " of up to %" PRIu64 "\n", c->entries, c->cap_entries);
    printf("size           %s of up to %s\n", show_bytes(c->bytes, size),
           show_bytes(c->cap_bytes, cap));
    printf("hits           %" PRIu64, c->hits);
    if (c->hits_read_only)
        printf(", and %" PRIu64 " in read-only caches", c->hits_read_only);
    printf("\nmisses         %" PRIu64 "\n", c->misses);
    for (int i = 0; i < SHOAL_CACHE_REASONS && c->missed[i].count; i++)
        printf("  %-20s %" PRIu64 "\n", c->missed[i].reason, c->missed[i].count);
    printf("stored         %" PRIu64 "\nevicted        %" PRIu64 "\n", c->stored, c->evicted);
    if (c->corrupt || c->refused)
        printf("corrupt        %" PRIu64 "\nnot loadable   %" PRIu64 "\n", c->corrupt, c->refused);
    printf("compile time   %.1f s saved\n", c->saved_s);
}

static int stat(struct args *a) {
    struct visit v;
    shoal_cache_counts counts;
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    say_off(&v);
    shoal_cache_stat(v.cache, &counts);
    (v.json ? stat_json : stat_text)(&v, &counts);
    return close_visit(&v, true);
}

// ---- explain ------------------------------------------------------------------------------------

static void explain_text(const char *model, const shoal_cache_explanation *e) {
    printf("%s: kernel %.16s is %s\n", model, e->key, e->cached ? "cached" : "not cached");
    if (e->cached)
        return;
    if (!e->nearest[0]) {
        puts("  the cache has no other kernel");
        return;
    }
    printf("  the nearest is %.16s (%s): %u fields are the same, %u differ\n", e->nearest,
           e->nearest_model, e->same, e->differences);
    for (uint32_t i = 0; i < e->words; i++)
        printf("  %-24s %s, there %s\n", e->word[i].label, e->word[i].here,
               e->word[i].there[0] ? e->word[i].there : "none");
    for (uint32_t i = 0; i < e->differences && i < SHOAL_CACHE_DIFFERENCES; i++)
        printf("  %-24s %s, there %s\n", e->difference[i].label,
               e->difference[i].here[0] ? e->difference[i].here : "none",
               e->difference[i].there[0] ? e->difference[i].there : "none");
    if (e->differences > SHOAL_CACHE_DIFFERENCES)
        printf("  and %u more\n", e->differences - SHOAL_CACHE_DIFFERENCES);
}

static void explain_json(const char *model, const shoal_cache_explanation *e) {
    json_text("{", "model", model);
    json_text(", ", "key", e->key);
    json_text(", ", "nearest", e->nearest);
    json_text(", ", "nearest_model", e->nearest_model);
    printf(", \"cached\": %s, \"same\": %u, \"differences\": [", e->cached ? "true" : "false",
           e->same);
    for (uint32_t i = 0; i < e->differences && i < SHOAL_CACHE_DIFFERENCES; i++) {
        json_text(i ? ", {" : "{", "field", e->difference[i].label);
        json_text(", ", "here", e->difference[i].here);
        json_text(", ", "there", e->difference[i].there);
        putchar('}');
    }
    fputs("], \"words\": [", stdout);
    for (uint32_t i = 0; i < e->words; i++) {
        json_text(i ? ", {" : "{", "field", e->word[i].label);
        json_text(", ", "here", e->word[i].here);
        json_text(", ", "there", e->word[i].there);
        putchar('}');
    }
    puts("]}");
}

static int explain_model(struct args *a, const char *model) {
    struct subject s = {.log = shoal_log_new(), .talk = talk_new(a)};
    shoal_cache *cache = NULL;
    shoal_cache_explanation e;
    shoal_code code = subject_load(&s, a, model);
    if (!code)
        code = shoal_cache_open(s.options.cache, &cache, s.log);
    if (!code)
        code = shoal_cache_explain(cache, s.model, &s.options, &e, s.log);
    if (!code)
        (args_flag(a, "json") ? explain_json : explain_text)(model, &e);
    shoal_cache_close(cache);
    return subject_close(&s, code) ? 1 : 0;
}

static int explain(struct args *a) {
    int status = 0;
    for (size_t i = 0; i < a->word_count; i++)
        status |= explain_model(a, a->words[i]);
    return status;
}

// ---- verify, clear ------------------------------------------------------------------------------

static bool verify_one(const shoal_cache_entry *e, void *user) {
    struct visit *v = user;
    if (!v->json) {
        printf("%s: %s\n", e->file, e->defect);
        return true;
    }
    fputs(v->count++ ? ",\n" : "", stdout);
    json_entry(e);
    putchar('}');
    return true;
}

static int verify(struct args *a) {
    struct visit v;
    shoal_cache_check c = {0};
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    say_off(&v);
    if (v.json)
        fputs("{\"problems\": [", stdout);
    shoal_code code =
        shoal_cache_verify(v.cache, args_flag(a, "recompile"), verify_one, &v, &c, v.log);
    if (v.json)
        printf("], \"good\": %" PRIu64 ", \"bad\": %" PRIu64 ", \"recompiled\": %" PRIu64
               ", \"differ\": %" PRIu64 ", \"stale\": %" PRIu64 "}\n",
               c.good, c.bad, c.recompiled, c.differ, c.stale);
    else {
        printf("%" PRIu64 " good, %" PRIu64 " bad", c.good, c.bad);
        if (args_flag(a, "recompile"))
            printf("; %" PRIu64 " compiled again, %" PRIu64 " differ, %" PRIu64
                   " of a compiler that is not here now",
                   c.recompiled, c.differ, c.stale);
        putchar('\n');
    }
    return close_visit(&v, code == SHOAL_OK && !c.bad && !c.differ);
}

static int clear(struct args *a) {
    struct visit v;
    uint64_t removed = 0;
    const char *age = args_value(a, "older-than");
    shoal_cache_filter filter = {.model = args_value(a, "model"), .stale = args_flag(a, "stale")};
    shoal_option_value value = {0};
    if (age && shoal_option_read("older-than", age, &value, NULL)) {
        fprintf(stderr, "error: --older-than: '%s' is no age such as 30d\n", age);
        return EXIT_USAGE;
    }
    filter.unused_s = value.number;
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    say_off(&v);
    shoal_code code = shoal_cache_clear(v.cache, &filter, &removed, v.log);
    if (v.json)
        printf("{\"removed\": %" PRIu64 "}\n", removed);
    else
        talk_say(&v.talk, "%" PRIu64 " kernel%s removed\n", removed, removed == 1 ? "" : "s");
    return close_visit(&v, code == SHOAL_OK);
}

// ---- doctor, export, import ---------------------------------------------------------------------

struct facts {
    struct visit *visit;
    bool fine;
};

static void show_fact(const char *name, const char *text, bool good, void *user) {
    struct facts *f = user;
    f->fine = f->fine && good;
    if (f->visit->json) {
        json_text(f->visit->count++ ? ",\n{" : "[\n{", "name", name);
        json_text(", ", "text", text);
        printf(", \"good\": %s}", good ? "true" : "false");
    } else
        printf("%s %-32s %s\n", good ? " " : "!", name, text);
}

static int doctor(struct args *a) {
    struct visit v;
    struct facts f = {.visit = &v, .fine = true};
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    shoal_code code = shoal_cache_doctor(v.cache, show_fact, &f, v.log);
    if (v.json)
        puts("\n]");
    return close_visit(&v, code == SHOAL_OK && f.fine);
}

static int export(struct args *a) {
    struct visit v;
    uint64_t count = 0;
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    say_off(&v);
    shoal_code code = shoal_cache_export(v.cache, a->model, &count, v.log);
    if (v.json)
        printf("{\"exported\": %" PRIu64 "}\n", count);
    else if (!code)
        talk_say(&v.talk, "%" PRIu64 " kernel%s in %s\n", count, count == 1 ? "" : "s", a->model);
    return close_visit(&v, code == SHOAL_OK);
}

static int import(struct args *a) {
    struct visit v;
    uint64_t count = 0, refused = 0;
    if (!open_visit(&v, a))
        return close_visit(&v, false);
    say_off(&v);
    shoal_code code = shoal_cache_import(v.cache, a->model, &count, &refused, v.log);
    if (v.json)
        printf("{\"imported\": %" PRIu64 ", \"refused\": %" PRIu64 "}\n", count, refused);
    else if (!code)
        talk_say(&v.talk, "%" PRIu64 " kernel%s imported, %" PRIu64 " refused\n", count,
                 count == 1 ? "" : "s", refused);
    return close_visit(&v, code == SHOAL_OK && !refused);
}

#define PART .part_of = "cache"
const struct command cache_parts[] = {
    {"list", "[--model NAME]", "the kernels", list, PART},
    {"show", "KEY", "all about one, by the first digits of its key", show, true, PART},
    {"stat", "", "hits, misses and why, compile time saved", stat, PART},
    {"explain", "MODEL... [options]", "what sets a kernel apart from the nearest one", explain,
     true, MANY_WORDS, PART},
    {"verify", "[--recompile]", "check every entry", verify, PART},
    {"clear", "[--older-than 30d] [...]", "remove kernels", clear, PART},
    {"doctor", "", "place, permissions, compilers", doctor, PART},
    {"export", "FILE", "all kernels as a tar archive", export, true, PART},
    {"import", "FILE", "kernels from an archive, each checked", import, true, PART},
    {0},
};
