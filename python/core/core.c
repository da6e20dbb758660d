// SPDX-License-Identifier: MIT
// The module shoal._core: exceptions, signals, and what its types have in common.
#include "core.h"

#include <string.h>

// ---- Exceptions ---------------------------------------------------------------------------------

static PyObject *base_error;

// One for each code of shoal.h; bases are Python's own where it has one for that.
static struct error_row {
    shoal_code code;
    const char *name, *doc;
    PyObject **base;
    PyObject *type;
} errors[] = {
    {SHOAL_INPUT, "shoal.ModelError", "Something is wrong with a model, a batch or an option.",
     &PyExc_ValueError, NULL},
    {SHOAL_USAGE, "shoal.UsageError", "A call is wrong.", &PyExc_TypeError, NULL},
    {SHOAL_DEVICE, "shoal.DeviceError", "A device or a compiler failed.", &PyExc_RuntimeError,
     NULL},
    {SHOAL_IO, "shoal.FileError", "A file could not be read or written.", &PyExc_OSError, NULL},
    {SHOAL_MEMORY, "shoal.OutOfMemory", "There is not enough memory.", &PyExc_MemoryError, NULL},
    {SHOAL_STOPPED, "shoal.Stopped", "A run was stopped.", &PyExc_RuntimeError, NULL}};
enum { ERRORS = sizeof errors / sizeof *errors };

static int add_errors(PyObject *module) {
    base_error = PyErr_NewExceptionWithDoc(
        "shoal.Error", "Base of all errors of Shoal; `messages` has what was said.", NULL, NULL);
    if (!base_error || PyModule_AddObjectRef(module, "Error", base_error) < 0)
        return -1;
    for (int i = 0; i < ERRORS; i++) {
        struct error_row *e = &errors[i];
        PyObject *bases = PyTuple_Pack(2, base_error, *e->base);
        e->type = bases ? PyErr_NewExceptionWithDoc(e->name, e->doc, bases, NULL) : NULL;
        Py_XDECREF(bases);
        if (!e->type || PyModule_AddObjectRef(module, strchr(e->name, '.') + 1, e->type) < 0)
            return -1;
    }
    return 0;
}

void core_append(PyObject **list, PyObject *row) {
    if (*list && (!row || PyList_Append(*list, row) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(row);
}

PyObject *core_messages(const shoal_log *log) {
    PyObject *list = PyList_New(0);
    size_t count = log ? shoal_log_message_count(log) : 0;
    for (size_t i = 0; list && i < count; i++) {
        shoal_message m = shoal_log_message(log, i);
        static const char *const severities[] = {"note", "warning", "error"};
        PyObject *row =
            Py_BuildValue("(sszII)", severities[m.severity], m.text, m.file, m.line, m.column);
        core_append(&list, row);
    }
    return list;
}

// The texts of all errors, one below the other.
static PyObject *error_text(PyObject *messages, shoal_code code) {
    PyObject *text = NULL;
    for (Py_ssize_t i = 0; i < PyList_Size(messages); i++) {
        PyObject *row = PyList_GetItem(messages, i);
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(row, 0), "error"))
            continue;
        PyObject *one = PyTuple_GetItem(row, 1);
        PyObject *all = text ? PyUnicode_FromFormat("%U\n%U", text, one) : Py_NewRef(one);
        Py_XDECREF(text);
        if (!(text = all))
            return NULL;
    }
    return text ? text : PyUnicode_FromString(shoal_code_text(code));
}

PyObject *core_raise(shoal_code code, const shoal_log *log) {
    PyObject *type = base_error, *messages = core_messages(log);
    PyObject *text = messages ? error_text(messages, code) : NULL;
    for (int i = 0; i < ERRORS; i++)
        type = errors[i].code == code ? errors[i].type : type;
    PyObject *error = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    if (error && PyObject_SetAttrString(error, "messages", messages) == 0)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    Py_XDECREF(messages);
    return NULL;
}

// ---- Signals, locks -----------------------------------------------------------------------------

void core_lock(PyThread_type_lock lock) {
    if (PyThread_acquire_lock(lock, NOWAIT_LOCK))
        return;
    Py_BEGIN_ALLOW_THREADS;
    PyThread_acquire_lock(lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS;
}

// An exception is set: the call has to end.
static void give_up(struct core_watch *watch) {
    watch->stop = watch->raised = true;
    if (watch->solver)
        shoal_solver_stop(watch->solver);
}

static void look_for_signals(struct core_watch *watch) {
    if (!watch->stop && PyErr_CheckSignals() < 0)
        give_up(watch);
}

void core_on_compile(const shoal_compile *now, void *watch) {
    (void)now;
    PyGILState_STATE state = PyGILState_Ensure();
    look_for_signals(watch);
    PyGILState_Release(state);
}

void core_on_progress(const shoal_progress *now, void *user) {
    struct core_watch *watch = user;
    PyGILState_STATE state = PyGILState_Ensure();
    look_for_signals(watch);
    if (watch->progress && !watch->stop) {
        PyObject *said =
            PyObject_CallFunction(watch->progress, "KKd", (unsigned long long)now->done,
                                  (unsigned long long)now->total, now->seconds);
        if (!said)
            give_up(watch);
        Py_XDECREF(said);
    }
    PyGILState_Release(state);
}

bool core_watch_raised(const struct core_watch *watch) { return watch->raised && PyErr_Occurred(); }

// ---- Module -------------------------------------------------------------------------------------

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "shoal._core",
                                        .m_doc = "The library, thinly.", .m_size = -1};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module &&
        (add_errors(module) < 0 || core_add_model(module) < 0 || core_add_solver(module) < 0 ||
         core_add_grid(module) < 0 || core_add_machine(module) < 0 || core_add_memory(module) < 0 ||
         PyModule_AddStringConstant(module, "version", shoal_version()) < 0))
        Py_CLEAR(module);
    return module;
}
