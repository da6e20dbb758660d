// SPDX-License-Identifier: MIT
// What there is: devices and what they take, methods, options, words of statuses, kernels kept.
#include "core.h"

static PyObject *devices(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    uint32_t count;
    Py_BEGIN_ALLOW_THREADS;
    count = shoal_device_count();
    Py_END_ALLOW_THREADS;
    for (uint32_t i = 0; list && i < count; i++) {
        shoal_device_info d = shoal_device_at(i);
        core_append(&list,
                    Py_BuildValue("(ssN)", d.name, d.description, PyBool_FromLong(d.usable)));
    }
    return list;
}

static PyObject *methods(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    for (uint32_t i = 0; list && i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        core_append(&list, Py_BuildValue("(ssIIss)", m.name, m.aliases, m.order, m.embedded_order,
                                         m.stability, m.good_for));
    }
    return list;
}

static PyObject *options(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    for (uint32_t i = 0; list && i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        core_append(&list, Py_BuildValue("(szssNNN)", o.name, o.metavar, o.default_text, o.help,
                                         PyBool_FromLong(o.field), PyBool_FromLong(o.in_batch),
                                         PyBool_FromLong(o.repeatable)));
    }
    return list;
}

static PyObject *statuses(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    (void)module, (void)unused;
    for (int i = 0; list && i < SHOAL_STATUS_COUNT; i++)
        core_append(&list, Py_BuildValue("(sss)", shoal_status_word(i), shoal_status_text(i),
                                         shoal_status_hint(i)));
    return list;
}

static bool list_entry(const shoal_cache_entry *e, void *user) {
    PyObject **list = user;
    core_append(list, Py_BuildValue("(sssssKd)", e->key, e->target, e->model, e->method,
                                    e->precision, (unsigned long long)e->bytes, e->compile_s));
    return *list;
}

static PyObject *cache_list(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    shoal_cache *cache = NULL;
    (void)module, (void)unused;
    if (list && shoal_cache_open(NULL, &cache, NULL) == SHOAL_OK)
        shoal_cache_list(cache, NULL, list_entry, &list);
    shoal_cache_close(cache);
    return list;
}

static PyObject *cache_clear(PyObject *module, PyObject *args) {
    shoal_cache_filter filter = {0};
    uint64_t removed = 0;
    shoal_cache *cache = NULL;
    int stale = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "|zdp:cache_clear", &filter.model, &filter.unused_s, &stale))
        return NULL;
    filter.stale = stale;
    shoal_log *log = shoal_log_new();
    shoal_code code = shoal_cache_open(NULL, &cache, log);
    if (code == SHOAL_OK)
        code = shoal_cache_clear(cache, &filter, &removed, log);
    shoal_cache_close(cache);
    PyObject *result =
        code == SHOAL_OK ? PyLong_FromUnsignedLongLong(removed) : core_raise(code, log);
    shoal_log_free(log);
    return result;
}

static PyObject *cache_place(PyObject *module, PyObject *unused) {
    shoal_cache *cache = NULL;
    (void)module, (void)unused;
    shoal_cache_open(NULL, &cache, NULL);
    PyObject *place = PyUnicode_FromString(cache ? shoal_cache_place(cache) : "");
    shoal_cache_close(cache);
    return place;
}

struct calibration {
    PyObject *rows;
    struct core_watch watch;
};

static void add_calibration(const shoal_calibration *c, void *user) {
    struct calibration *to = user;
    PyGILState_STATE state = PyGILState_Ensure();
    core_append(&to->rows, Py_BuildValue("(ssKddds)", c->workload, c->device ? c->device : "",
                                         (unsigned long long)c->runs, c->cpu_s, c->cold_s,
                                         c->warm_s, c->choice));
    PyGILState_Release(state);
    core_on_compile(NULL, &to->watch);
}

// calibrate(model or None, options, seconds)
static PyObject *calibrate(PyObject *module, PyObject *args) {
    struct calibration c = {0};
    PyObject *given, *pairs;
    double seconds;
    shoal_options options;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!d:calibrate", &given, &PyTuple_Type, &pairs, &seconds))
        return NULL;
    if (given != Py_None && !PyObject_TypeCheck(given, core_model_type))
        return PyErr_Format(PyExc_TypeError, "a model is needed");
    struct core_model *model = given == Py_None ? NULL : (struct core_model *)given;
    shoal_log *log = shoal_log_new();
    if (core_options(&options, model ? model->model : NULL, pairs, log) &&
        (c.rows = PyList_New(0))) {
        shoal_code code;
        options.stop = &c.watch.stop;
        options.on_compile = core_on_compile;
        options.on_compile_user = &c.watch;
        if (model)
            core_lock(model->lock);
        Py_BEGIN_ALLOW_THREADS;
        code = shoal_calibrate(model ? model->model : NULL, &options, seconds, add_calibration, &c,
                               log);
        Py_END_ALLOW_THREADS;
        if (model)
            PyThread_release_lock(model->lock);
        if (code != SHOAL_OK && !PyErr_Occurred())
            core_raise(code, log);
        if (PyErr_Occurred())
            Py_CLEAR(c.rows);
    }
    shoal_log_free(log);
    return c.rows;
}

static PyMethodDef functions[] = {
    {"devices", devices, METH_NOARGS, "devices(): (name, description, usable)"},
    {"methods", methods, METH_NOARGS, "methods(): (name, aliases, order, ...)"},
    {"options", options, METH_NOARGS, "options(): (name, metavar, default, help, ...)"},
    {"statuses", statuses, METH_NOARGS, "statuses(): (word, text, hint)"},
    {"calibrate", calibrate, METH_VARARGS, "calibrate(model, options, seconds): rows"},
    {"cache_list", cache_list, METH_NOARGS, "cache_list(): kernels"},
    {"cache_clear", cache_clear, METH_VARARGS, "cache_clear(model, unused, stale): how many"},
    {"cache_place", cache_place, METH_NOARGS, "cache_place(): its directory"},
    {0}};

int core_add_machine(PyObject *module) { return PyModule_AddFunctions(module, functions); }
