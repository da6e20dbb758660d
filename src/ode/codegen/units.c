// SPDX-License-Identifier: MIT
// The texts that tell what each function of a kernel costs to compile.
//
// Each is the whole kernel, in which the bodies of some functions are stubs (kernels/dialect/
// stub.h). Functions come back from the outside in: the loop first, what it calls later. So the
// loop is timed without what it calls, and a function with every copy of it that is inlined.
#include "ode/codegen/codegen.h"

#include "kernel/files.h"

#include <string.h>

LOG_LABEL(compile_dxdt, COMPILE, 20, "right-hand side, compiled alone");
LOG_LABEL(compile_jacobian, COMPILE, 30, "Jacobian, compiled alone");
LOG_LABEL(compile_linear_solve, COMPILE, 40, "linear solver, compiled alone");
LOG_LABEL(compile_step, COMPILE, 50, "step of the method, compiled alone");
LOG_LABEL(compile_controller, COMPILE, 60, "step size controller, compiled alone");
LOG_LABEL(compile_loop, COMPILE, 70, "trajectory loop, compiled alone");
LOG_LABEL(compile_save_state, COMPILE, 80, "saving of states, compiled alone");
LOG_LABEL(compile_update_summaries, COMPILE, 82, "what summaries do with a step, compiled alone");
LOG_LABEL(compile_save_summaries, COMPILE, 84,
          "windows of summaries and their results, compiled alone");
LOG_LABEL(compile_observables, COMPILE, 90, "observables, compiled alone");

// What is timed together, callers first. Components that are in none of them are always whole.
static const struct group {
    const struct log_label *label;
    const char *component[8];
} groups[] = {
    {LOG_compile_loop, {"start", "begin", "stiffness", "judge", "refill", "loop", "batch_kernel"}},
    {LOG_compile_save_state, {"save_state", "watchers"}},
    {LOG_compile_update_summaries, {"summaries", "take_summaries"}},
    {LOG_compile_save_summaries, {"save_summaries"}},
    {LOG_compile_controller, {"controller"}},
    {LOG_compile_step, {"step"}},
    {LOG_compile_linear_solve, {"linear_solve"}},
    {LOG_compile_jacobian, {"jacobian"}},
    {LOG_compile_observables, {"observables"}},
    {LOG_compile_dxdt, {"dxdt"}},
};
enum { GROUPS = sizeof groups / sizeof *groups };

struct span {
    const char *text;
    size_t length;
};

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool has(struct span s, const char *word) {
    return memmem(s.text, s.length, word, strlen(word)) != NULL;
}

// ---- Stubs --------------------------------------------------------------------------------------

// The last name in it, or the one behind "(*".
static struct span name_in(struct span s) {
    const char *pointer = memmem(s.text, s.length, "(*", 2);
    size_t end = s.length;
    if (pointer) {
        end = (size_t)(pointer + 2 - s.text);
        while (end < s.length && is_word(s.text[end]))
            end++;
    }
    while (end && !is_word(s.text[end - 1]))
        end--;
    size_t from = end;
    while (from && is_word(s.text[from - 1]))
        from--;
    return (struct span){s.text + from, end - from};
}

static void put_changes(struct buf *out, struct span parameter) {
    if (!has(parameter, "*") || has(parameter, "const"))
        return;
    struct span name = name_in(parameter);
    const char *space = has(parameter, "GLOBAL")  ? "GLOBAL"
                        : has(parameter, "SPACE") ? "SPACE"
                                                  : "";
    buf_printf(out, "    STUB_CHANGES(%s, %.*s);\n", space, (int)name.length, name.text);
}

static void put_all_changes(struct buf *out, struct span parameters) {
    int depth = 0;
    size_t from = 0;
    for (size_t i = 0; i <= parameters.length; i++) {
        char c = i < parameters.length ? parameters.text[i] : ',';
        depth += (c == '(') - (c == ')');
        if (c != ',' || depth)
            continue;
        put_changes(out, (struct span){parameters.text + from, i - from});
        from = i + 1;
    }
}

// A function of which only the head is left: "INLINE type name(parameters)".
static void put_stub(struct buf *out, struct span head) {
    const char *open = memchr(head.text, '(', head.length);
    struct span before = {head.text, (size_t)(open - head.text)}, name = name_in(before);
    struct span parameters = {open + 1, 0};
    size_t how = 0, length = head.length;
    while (length && head.text[length - 1] != ')')
        length--;
    parameters.length = (size_t)(head.text + length - 1 - parameters.text);
    while (how < before.length && is_word(head.text[how]))
        how++;
    struct span type = {head.text + how, (size_t)(name.text - head.text) - how};
    bool entry = has((struct span){head.text, how}, "KERNEL");
    buf_puts(out, entry ? "KERNEL" : "STUB");
    buf_put(out, head.text + how, length - how);
    buf_puts(out, " {\n");
    if (!entry)
        put_all_changes(out, parameters);
    if (has(type, "void") && !has(type, "*"))
        buf_puts(out, entry ? "" : "    STUB_ENDS;\n");
    else
        buf_printf(out, "    STUB_RETURNS(%.*s);\n", (int)type.length, type.text);
    buf_puts(out, "}\n");
}

// ---- Text ---------------------------------------------------------------------------------------

// The end of a comment or directive that begins there; else the same place.
static const char *skip_aside(const char *at, const char *end) {
    bool directive = *at == '#';
    if (!directive && !(end - at > 1 && at[0] == '/' && at[1] == '/'))
        return at;
    for (; at < end; at++)
        if (*at == '\n' && !(directive && at[-1] == '\\'))
            break;
    return at;
}

static const char *closing_brace(const char *at, const char *end) {
    int depth = 0;
    for (; at < end; at++) {
        at = skip_aside(at, end);
        if (at == end)
            break;
        depth += (*at == '{') - (*at == '}');
        if (!depth && *at == '}')
            return at;
    }
    return end;
}

// The text with a stub in the place of each function.
static void put_stubs(struct buf *out, const char *at, const char *end) {
    const char *from = at; // of what is not in `out` yet
    char last = 0;         // of what is neither blank nor aside
    for (; at < end; at++) {
        const char *aside = skip_aside(at, end);
        bool brace = aside == at && *at == '{';
        if (brace && last == ')') {
            put_stub(out, (struct span){from, (size_t)(at - from)});
            at = closing_brace(at, end);
            from = at + 1;
            last = 0;
            continue;
        }
        at = brace ? closing_brace(at, end) : aside;
        if (at >= end)
            break;
        if ((aside != at && !last) || *at == ';' || (*at == '\n' && !last)) {
            buf_put(out, from, (size_t)(at + 1 - from));
            from = at + 1;
            last = 0;
        } else if (*at != ' ' && *at != '\n')
            last = *at;
    }
    if (from < end)
        buf_put(out, from, (size_t)(end - from));
}

// ---- Units --------------------------------------------------------------------------------------

static int group_of(const char *component) {
    for (int i = 0; i < GROUPS; i++)
        for (const char *const *c = groups[i].component; *c; c++)
            if (!strcmp(*c, component))
                return i;
    return -1;
}

static bool is_there(const struct kernel_source *s, int group) {
    for (const char *const *c = groups[group].component; *c; c++)
        if (kernel_component(s, *c))
            return true;
    return false;
}

// The text in which the functions of the groups from `first` on are stubs.
static void put_unit(struct buf *out, const struct kernel_source *s, int first) {
    for (uint32_t i = 0; i < s->components; i++) {
        const struct kernel_component *c = &s->component[i];
        const char *text = s->text.data + c->offset;
        if (group_of(c->name) >= first)
            put_stubs(out, text, text + c->length);
        else
            buf_put(out, text, c->length);
        if (!strcmp(c->name, "dialect"))
            buf_puts(out, kernel_file_find("ode", "stub.h")->text);
    }
}

uint32_t codegen_units(const struct kernel_source *s, struct kernel_unit units[CODEGEN_UNITS]) {
    _Static_assert((int)GROUPS < (int)CODEGEN_UNITS, "there is room for all");
    uint32_t count = 0;
    units[count] = (struct kernel_unit){0};
    put_unit(&units[count++].text, s, 0);
    for (int i = 0; i < GROUPS; i++) {
        if (!is_there(s, i))
            continue;
        units[count] = (struct kernel_unit){.label = groups[i].label};
        put_unit(&units[count++].text, s, i + 1);
    }
    return count;
}
